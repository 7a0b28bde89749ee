# SPDX-License-Identifier: GPL-2.0
# Other kernels, in virtual machines (tools/vm): Debian's packages, fetched once into a cache
# outside of the checkout. What is not available is skipped with the reason.
#
#   make check-vm                                all of the matrix, x86-64 and arm64
#   make check-vm VM="x86_64/5.10 arm64/newest"  some of it
#   make check-vm VM_FORM=probes                 without the unit tests: 8 minutes for a kernel
#   make vm-table                                the last results, into docs/kernels.md

VM      ?= $(shell tools/vm/kernel list)
VM_CI   := x86_64/5.10 arm64/newest
VM_CI_COMPAT32 := arm64/newest
VM_FORM ?= whole
VM_TEST  = $(patsubst %,$(OUT)/vm/%.t,$(subst /,-,$(VM)))

# Other tests in guests: the longest first.
VM_MORE := $(patsubst %,tests/vm/%.t,languages compat32 stacks display binder art pauth)

check-vm: vm-parts compat32 android-parts #:machines the tests on kernels from 5.10 to the newest, in virtual machines
	$(Q)$(MAKE) vm-tests VM='$(VM)' VM_FORM=$(VM_FORM)

# First the static programs: they decide what there is to test. A guest takes one CPU, whatever it
# has; as many as there are CPUs run at a time, others wait. Each guest ends by its own limit
# (tools/vm/qemu.py), of the time that it could run. The limit here is for tests that hang, and
# includes the time that they wait for their turn.
vm-tests: TEST_TIMEOUT = 3600
vm-tests: $(VM_TEST)
	$(Q)PERL5LIB=tests/lib JANK_VM_FORM=$(VM_FORM) RUN="$(PROVE_TESTS)" tests/stages -j$(shell nproc) $(VM_TEST) $(VM_MORE)

vm-pauth: static #:machines a walk of signed return addresses, in a virtual machine of arm64
	$(Q)$(call RUN_TESTS,tests/vm/pauth.t)

vm-display: static #:machines frames of a display that blocks missed, in a virtual machine
	$(Q)$(call RUN_TESTS,tests/vm/display.t)

vm-art: static #:machines a stand-in for Android's runtime, in a virtual machine of arm64
	$(Q)$(call RUN_TESTS,tests/vm/art.t)

vm-languages: static #:machines functions of node and Java on arm64, in a virtual machine
	$(Q)$(call RUN_TESTS,tests/vm/languages.t)

vm-binder: static #:machines the servers of Android's binder calls, in a virtual machine
	$(Q)$(call RUN_TESTS,tests/vm/binder.t)

vm-stacks: static android-parts #:machines whole stacks of arm64's programs, in a virtual machine
	$(Q)$(call RUN_TESTS,tests/vm/stacks.t)

# Builds all that check-vm needs. One run of a 32-bit program also on arm64: its probes have
# requirements of their own.
check-vm-ci: vm-parts compat32 android-parts #:machines without the unit tests on two of them, and 32-bit programs on arm64
	$(Q)JANK_VM=$(VM_CI_COMPAT32) $(MAKE) vm-tests VM='$(VM_CI)' VM_FORM=ci VM_MORE=tests/vm/compat32.t

vm-parts: static
	$(Q)$(MAKE) $(JOBS) STATIC=1 SANITIZE= CROSS_COMPILE= static-tests
ifneq ($(MACHINE),aarch64)
	$(Q)$(if $(HAVE_ARM64),$(MAKE) $(JOBS) STATIC=1 SANITIZE= CROSS_COMPILE=$(CROSS_ARM64) static-tests)
endif

# A test for each kernel, because `prove` gives a test no arguments of its own.
$(OUT)/vm/%.t: mk/vm.mk
	@mkdir -p $(@D)
	$(Q)printf '#!/bin/sh\nexec tests/vm/kernel.py %s\n' '$(subst x86_64-,x86_64/,$(subst arm64-,arm64/,$*))' >$@
	$(Q)chmod +x $@

vm-table: #:machines the table of docs/kernels.md, from the last make check-vm
	$(Q)tools/vm/table docs/kernels.md $(OUT)/vm

.PHONY: check-vm check-vm-ci vm-pauth vm-art vm-display vm-languages vm-binder vm-stacks vm-parts vm-tests vm-table
