# SPDX-License-Identifier: GPL-2.0
# The target programs for the tests of hostile conditions: tests/live/bad/target.c, with frame
# pointers.

BAD_TARGET := $(OUT)/bad/target

bad-target: $(BAD_TARGET)

$(BAD_TARGET): tests/live/bad/target.c
	@mkdir -p $(@D)
	$(call msg,TEST,$@)
	$(Q)$(CC) $(CPPFLAGS) -std=gnu11 $(WARN) -O2 -g -pthread $(TOOL_FLAGS) -o $@ $<

.PHONY: bad-target
