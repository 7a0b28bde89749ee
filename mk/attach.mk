# SPDX-License-Identifier: GPL-2.0
# Attaching to programs that hang: twelve real ones, four kinds of hang; and to what rests.

ATTACH_LIB := $(OUT)/attach/stall_preload.so

$(ATTACH_LIB): tests/attach/stall_preload.c
	@mkdir -p $(@D)
	$(call msg,TEST,$@)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -fno-optimize-sibling-calls -shared -fPIC -o $@ $< -pthread

check-attach: TEST_TIMEOUT = 1200
check-attach: all stallers $(ATTACH_LIB) #:tests attach to 12 programs that hang and to 30 that rest (as root)
	$(Q)$(call RUN_TESTS,tests/attach/attach.t)

.PHONY: check-attach
