# SPDX-License-Identifier: GPL-2.0
# Builds for elsewhere: STATIC=1 for a machine with only a shell, CROSS_COMPILE= for another
# architecture. `make static` builds the static programs of every architecture that this machine can
# build for.

CROSS_ARM64 := aarch64-linux-gnu-
ARM64_LIBS   = $(foreach lib,libbpf libdw libprotobuf-c,$(filter /%,$(shell $(CROSS_ARM64)gcc -print-file-name=$(lib).a 2>/dev/null)))
HAVE_ARM64   = $(filter 3,$(words $(ARM64_LIBS)))

static: #:build jankbpf-x86_64 and jankbpf-aarch64, each one file without dependencies
	$(Q)$(MAKE) $(JOBS) STATIC=1 SANITIZE= CROSS_COMPILE=
ifneq ($(MACHINE),aarch64)
	$(Q)$(if $(HAVE_ARM64),$(MAKE) $(JOBS) STATIC=1 SANITIZE= CROSS_COMPILE=$(CROSS_ARM64),echo \
		'  SKIP     jankbpf-aarch64: no $(CROSS_ARM64)gcc, or a library of arm64 is missing (make deps-cross)')
endif

live: static

# Compiled tests for a virtual machine, below .output/…/static/tests: with STATIC=1. Left out: tests
# that compile programs, read a libc beside them, or take minutes there (record_memory).
NOT_STATIC := tests/unit/test_record_memory.c \
              tests/unit/test_symbol_% tests/unit/test_unwind% $(patsubst %,tests/unit/test_%.c,mark_sites targets elffunc script_elf)
static-tests: $(patsubst %.c,$(VARIANT)/%,$(filter-out $(NOT_STATIC),$(wildcard tests/bpf/test_*.c tests/unit/test_*.c)))

# Programs of another architecture do not run here.
ifneq ($(CROSS_COMPILE),)
RUN_HERE := check unit bpf replay live fuzz bench demo verifier
$(if $(filter $(RUN_HERE),$(MAKECMDGOALS)),$(error what is built for $(MACHINE) cannot \
	run here: $(filter $(RUN_HERE),$(MAKECMDGOALS)) is for a build without CROSS_COMPILE))
endif

.PHONY: static static-tests
