# SPDX-License-Identifier: GPL-2.0
# The catalogue of loop kinds: the files of loops/ become a table in the program (docs/loops.md).

LOOPS_INC   := $(OUT)/loops_embedded.inc
LOOPS_FILES := $(sort $(wildcard loops/*.loop))

# The folder is a dependency, too: a removed file is a change.
$(LOOPS_INC): tools/loops/table $(LOOPS_FILES) loops
	@mkdir -p $(@D)
	$(call msg,GEN,$@)
	$(Q)tools/loops/table $(LOOPS_FILES) > $@

$(VARIANT)/user/catalogue/catalogue_embedded.o: $(LOOPS_INC)
