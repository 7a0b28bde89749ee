# SPDX-License-Identifier: GPL-2.0
# Damaged input for what reads records and journals, with the sanitizers: three seconds each within
# `make check`, longer here. Seed and time decide all: make fuzz FUZZ_SECONDS=600 FUZZ_SEED=7

FUZZ_SECONDS ?= 60
FUZZ_SEED    ?= 1

$(VARIANT)/tests/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(VARIANT)/libapp.a $(LIB)
	@mkdir -p $(@D)
	$(call msg,TEST,$@)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -o $@ $< $(VARIANT)/libapp.a $(LIB) $(LDFLAGS) $(LDLIBS)

fuzz: TEST_TIMEOUT = $(shell echo $$(($(FUZZ_SECONDS) + 60)))
fuzz: #: damaged records and journals, for FUZZ_SECONDS each
	$(Q)$(WITH_SAN) fuzz-bin
	$(Q)FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_SEED=$(FUZZ_SEED) $(call RUN_TESTS,-v $(FUZZ_BIN))

.PHONY: fuzz
