# SPDX-License-Identifier: GPL-2.0
# 32-bit programs on 64-bit kernels: the names of their system calls, and a 32-bit simjank for the
# tests. jankbpf itself needs none of these compilers.

# The column of the 32-bit architecture in the list; no names without one.
COMPAT_COLUMN := $(if $(filter x86,$(ARCH)),2,$(if $(filter arm64,$(ARCH)),3,4))

$(VARIANT)/user/base/names.o: $(OUT)/syscall_names_32.h

$(OUT)/syscall_names_32.h: user/base/syscalls_32.tbl mk/compat32.mk
	@mkdir -p $(@D)
	$(call msg,GEN,$@)
	$(Q)awk '!/^#/ && $$$(COMPAT_COLUMN) ~ /^[0-9]+$$/ { \
		printf "[%s] = \"%s\",\n", $$$(COMPAT_COLUMN), $$1 }' $< > $@

CROSS_I386 := i686-linux-gnu-
CROSS_ARM  := arm-linux-gnueabihf-
HAVE_LIBC   = $(filter /%,$(shell $(1)gcc -print-file-name=libc.a 2>/dev/null))
NO_COMPAT   = echo '  SKIP     32-bit simjank: no $(1)gcc, or no static C library for it (make deps-cross)'
# With frames of arm's first procedure call standard, the kernel can walk user stacks.
ARM_FRAMES := -marm -mapcs-frame

compat32: #:machines simjank as a 32-bit program: .output/i686/static/simjank, .output/arm/static/simjank
	$(Q)$(if $(call HAVE_LIBC,$(CROSS_I386)),$(MAKE) STATIC=1 SANITIZE= CROSS_COMPILE=$(CROSS_I386) \
		.output/i686/static/simjank,$(call NO_COMPAT,$(CROSS_I386)))
	$(Q)$(if $(call HAVE_LIBC,$(CROSS_ARM)),$(MAKE) STATIC=1 SANITIZE= CROSS_COMPILE=$(CROSS_ARM) \
		CFLAGS='$(CFLAGS) $(ARM_FRAMES)' .output/arm/static/simjank,$(call NO_COMPAT,$(CROSS_ARM)))

live: compat32

compat32-vm: static compat32 #:machines tests of 32-bit programs on other kernels, in virtual machines
	$(Q)$(call RUN_TESTS,tests/vm/compat32.t)

.PHONY: compat32 compat32-vm
