# SPDX-License-Identifier: GPL-2.0
# Stacks of real devices, which others recorded; each folder has maps.txt, regs.txt, stack data, the
# mapped files and the expected frames. None belongs to the project: CORPUS names their folder, for
# example libunwindstack/offline_files of the public repository cinit/libunwindstack.

CORPUS ?=

$(VARIANT)/tests/unwind/walk_snapshot: tests/unwind/walk_snapshot.c $(VARIANT)/libapp.a $(LIB)
	@mkdir -p $(@D)
	$(call msg,TEST,$@)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -o $@ $< $(VARIANT)/libapp.a $(LIB) $(LDFLAGS) $(LDLIBS)

-include $(VARIANT)/tests/unwind/walk_snapshot.d

check-unwind: $(VARIANT)/tests/unwind/walk_snapshot #:tests walk the stack snapshots below CORPUS, print a table
	$(Q)tests/unwind/check.py $< $(CORPUS)

.PHONY: check-unwind
