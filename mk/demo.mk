# SPDX-License-Identifier: GPL-2.0
# From a fresh machine to blocks on the terminal: packages, build, ten seconds of known jank.

DEMO_TIME ?= 10s

demo: #: packages, build, and ten seconds of simjank under jankbpf (as root)
	$(Q)if [ "$$(id -u)" != 0 ]; then echo 'demo: tracing needs root: sudo make demo' >&2; exit 77; fi
	$(Q)deps/install build
	$(Q)$(MAKE) $(JOBS) all
	@echo '  RUN      ./jankbpf -t 25ms -d $(DEMO_TIME) -- ./simjank'
	$(Q)./jankbpf -t 25ms -d $(DEMO_TIME) -- ./simjank

.PHONY: demo
