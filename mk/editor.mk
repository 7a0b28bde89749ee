# SPDX-License-Identifier: GPL-2.0
# For editors: the compile line of each source, as clangd and others read it.

# What make would run, without running it. Tests are built with the sanitizers.
compile_commands.json: FORCE #:build the compile lines of the program and its tests, for clangd
	$(call msg,GEN,$@)
	$(Q){ $(MAKE) -nB V=1 all && $(MAKE) -nB V=1 SANITIZE=$(TEST_SANITIZE) unit-bin bpf-bin fuzz-bin; } >$(OUT)/compile_lines
	$(Q)tools/compile_commands <$(OUT)/compile_lines >$@

FORCE:

.PHONY: FORCE
