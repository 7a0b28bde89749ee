# SPDX-License-Identifier: GPL-2.0
# jankbpf -a for a long time: what it uses stays flat, no stall is missing. make soak SOAK=8h

SOAK ?= 2m

soak: all #:tests hours under load, 2 minutes by default; SOAK=8h (as root)
	$(Q)tests/live/soak.py $(SOAK)

.PHONY: soak
