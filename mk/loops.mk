# SPDX-License-Identifier: GPL-2.0
# The files of loops/ become tables in the program: the catalogue of loop kinds (docs/loops.md), the
# functions that give the reason of a wait, and the names of Android's messages.

LOOPS_INC   := $(OUT)/loops_embedded.inc
LOOPS_FILES := $(sort $(wildcard loops/*.loop))

# The folder is a dependency, too: a removed file is a change.
$(LOOPS_INC): tools/loops/table $(LOOPS_FILES) loops
	@mkdir -p $(@D)
	$(call msg,GEN,$@)
	$(Q)tools/loops/table $(LOOPS_FILES) > $@

$(VARIANT)/user/catalogue/catalogue_file.o: $(LOOPS_INC)

REASONS_INC := $(OUT)/wait_reasons.inc

$(REASONS_INC): tools/loops/reasons loops/wait_reasons.tbl
	@mkdir -p $(@D)
	$(call msg,GEN,$@)
	$(Q)tools/loops/reasons loops/wait_reasons.tbl > $@.new && mv $@.new $@

$(VARIANT)/user/model/chain/wait_reason.o: $(REASONS_INC)

MESSAGES_INC := $(OUT)/android_messages.inc

$(MESSAGES_INC): tools/loops/messages loops/android_messages.tbl
	@mkdir -p $(@D)
	$(call msg,GEN,$@)
	$(Q)tools/loops/messages loops/android_messages.tbl > $@.new && mv $@.new $@

$(VARIANT)/user/verdict/java_message.o: $(MESSAGES_INC)
