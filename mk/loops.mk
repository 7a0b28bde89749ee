# SPDX-License-Identifier: GPL-2.0
# The catalogue of loop kinds: the files of loops/ become a table in the program (docs/loops.md).

LOOPS_INC   := $(OUT)/loops_embedded.inc
LOOPS_FILES := $(sort $(wildcard loops/*.loop))

# The folder too: a file that went away is a change as well.
$(LOOPS_INC): tools/loops/table $(LOOPS_FILES) loops
	@mkdir -p $(@D)
	$(call msg,GEN,$@)
	$(Q)tools/loops/table $(LOOPS_FILES) > $@

$(VARIANT)/user/catalogue/catalogue_file.o: $(LOOPS_INC)
