# SPDX-License-Identifier: GPL-2.0
# Damaged input for every parser, with the sanitizers: three seconds each within `make check`,
# longer here. Here it is also guided by the code that an input reached (tests/fuzz/cover.h), for
# which everything is compiled once more. FUZZ_KEEP, a directory: new inputs are left there. make
# fuzz FUZZ_SECONDS=600 FUZZ_SEED=7 T=elf

FUZZ_SECONDS ?= 60
FUZZ_SEED    ?= 1
COVER_OUT    := $(OUT)/cover

$(VARIANT)/tests/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(VARIANT)/libapp.a $(LIB)
	@mkdir -p $(@D)
	$(call msg,TEST,$@)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -o $@ $< $(VARIANT)/libapp.a $(LIB) $(LDFLAGS) $(LDLIBS)

fuzz: TEST_TIMEOUT = $(shell echo $$((4 * $(FUZZ_SECONDS) + 60)))
fuzz: FUZZ_GUIDED = $(FUZZ_BIN:$(OUT)/%=$(COVER_OUT)/%)
fuzz: #:tests damaged files, records and journals, for FUZZ_SECONDS of CPU each
	$(Q)$(MAKE) fuzz-guided
	$(Q)FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_SEED=$(FUZZ_SEED) $(call RUN_TESTS,-v $(FUZZ_GUIDED))

fuzz-guided:
	$(Q)$(MAKE) $(JOBS) SANITIZE=$(TEST_SANITIZE) OUT=$(COVER_OUT) CFLAGS='$(CFLAGS) -fsanitize-coverage=trace-pc' fuzz-bin

.PHONY: fuzz fuzz-guided
