# SPDX-License-Identifier: GPL-2.0
# Other kernels, in virtual machines (tools/vm): Debian's packages, fetched once into a cache outside of the
# checkout. What cannot be had is skipped with its reason.
#
#   make check-vm                                all of the matrix, x86-64 and arm64
#   make check-vm VM="x86_64/5.10 arm64/newest"  some of it
#   make vm-table                                what was found last, into README

VM      ?= $(shell tools/vm/kernel list)
VM_CI   := x86_64/5.10 arm64/newest
VM_TEST  = $(patsubst %,$(OUT)/vm/%.t,$(subst /,-,$(VM)))

check-vm: vm-parts #: the tests on kernels from 5.10 to the newest, in virtual machines
	$(Q)$(MAKE) vm-tests VM='$(VM)'

# The static programs first: what they are decides what is there to be tested. A guest takes one CPU, whatever it has.
vm-tests: TEST_TIMEOUT = 900
vm-tests: $(VM_TEST)
	$(Q)rm -f .prove
	$(Q)$(call RUN_TESTS,-j$(shell nproc) --state=save $(VM_TEST)) || { \
		printf '# Those that failed, once more: a guest suffers from a busy machine.\n'; \
		$(call RUN_TESTS,--state=failed); }

vm-pauth: static #: a walk of signed return addresses, in a virtual machine of arm64
	$(Q)$(call RUN_TESTS,tests/vm/pauth.t)

vm-display: static #: frames of a display that blocks missed, in a virtual machine
	$(Q)$(call RUN_TESTS,tests/vm/display.t)

vm-stacks: static android-parts #: whole stacks of arm64's programs, in a virtual machine
	$(Q)$(call RUN_TESTS,tests/vm/stacks.t)

check-vm: vm-pauth vm-display vm-stacks

check-vm-ci: VM = $(VM_CI)
check-vm-ci: vm-parts #: the same on two of them
	$(Q)$(MAKE) vm-tests VM='$(VM_CI)'

vm-parts: static
	$(Q)$(MAKE) $(JOBS) STATIC=1 SANITIZE= CROSS_COMPILE= static-tests
ifneq ($(MACHINE),aarch64)
	$(Q)$(if $(HAVE_ARM64),$(MAKE) $(JOBS) STATIC=1 SANITIZE= CROSS_COMPILE=$(CROSS_ARM64) static-tests)
endif

# A test for each kernel: `prove` gives a test no arguments of its own.
$(OUT)/vm/%.t: mk/vm.mk
	@mkdir -p $(@D)
	$(Q)printf '#!/bin/sh\nexec tests/vm/kernel.py %s\n' '$(subst x86_64-,x86_64/,$(subst arm64-,arm64/,$*))' >$@
	$(Q)chmod +x $@

vm-table: #: README's table of kernels, from the last make check-vm
	$(Q)tools/vm/table README.md $(OUT)/vm

.PHONY: check-vm check-vm-ci vm-pauth vm-display vm-stacks vm-parts vm-tests vm-table
