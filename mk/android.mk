# SPDX-License-Identifier: GPL-2.0
# What tests/vm/android.t pushes to its guest: the static jankbpf and the real android::Looper, for
# arm64.

LOOPER_ARM64 := .output/arm64/rel/simjank-looper

android-parts: static
ifneq ($(MACHINE),aarch64)
	$(Q)$(if $(HAVE_ARM64),$(MAKE) STATIC= SANITIZE= CROSS_COMPILE=$(CROSS_ARM64) $(LOOPER_ARM64),echo \
		'  SKIP     $(LOOPER_ARM64): no $(CROSS_ARM64)gcc, or no libbpf-dev:arm64 (make deps-cross)')
endif

android: all android-parts #:machines tests of tools/android.sh, in a virtual machine with Debian's adbd
	$(Q)$(call RUN_TESTS,tests/live/android.t tests/vm/android.t)

.PHONY: android android-parts
