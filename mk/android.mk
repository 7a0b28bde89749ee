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

# BIONIC: a directory of an Android image for arm64 with system/bin/linker64 and system/lib64 (libc,
# libutils and what they need). No such file is part of this project.
android-bionic: static #:machines a program for bionic with the image's Looper, in a virtual machine: BIONIC=DIR
	$(Q)$(call RUN_TESTS,tests/vm/bionic.t)

# CORPUS: a directory with files .dex, .vdex and archives of others, such as simpleperf's testdata. No
# such file is part of this project.
check-dex: #:machines names and lines of all methods of the DEX files below CORPUS, against dexdump
	$(Q)$(MAKE) $(WITH_SAN) unit-bin T=test_dex
	$(Q)$(if $(CORPUS),DEX_CORPUS='$(CORPUS)' $(call RUN_TESTS,$(SAN)/tests/unit/test_dex),echo \
		'  SKIP     check-dex: give a directory of DEX files and APKs by CORPUS=DIR')

.PHONY: android android-parts android-bionic check-dex
