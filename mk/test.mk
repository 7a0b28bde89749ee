# SPDX-License-Identifier: GPL-2.0
# The tests. All print TAP and run under one `prove`; its formatter adds a closing line with the
# counts. Compiled tests have the sanitizers, with or without them in the program itself.
#
#   make check           deps (as root), build, the tests that CI runs: within 15 minutes on two cores
#   make check-full      the same and the slow tests
#   make unit            tests/unit only; likewise replay, live, bpf, style
#   make unit T=parse    only tests with "parse" in their names; likewise for the others

TEST_SANITIZE ?= address,undefined
TEST_TIMEOUT  ?= 300
T             ?=
TEST_LDLIBS   := -ljansson -lm # to read our JSON, and to draw random numbers

SAN         := $(OUT)/san
ONLY         = $(if $(T),$(foreach f,$(1),$(if $(findstring $(T),$(notdir $(f))),$(f))),$(1))
UNIT_BIN    := $(call ONLY,$(patsubst %.c,$(SAN)/%,$(sort $(wildcard tests/unit/test_*.c))))
BPF_BIN     := $(call ONLY,$(patsubst %.c,$(SAN)/%,$(sort $(wildcard tests/bpf/test_*.c))))
BPF_T       := $(call ONLY,$(sort $(wildcard tests/bpf/*.t)))
FUZZ_BIN    := $(call ONLY,$(patsubst %.c,$(SAN)/%,$(sort $(wildcard tests/fuzz/fuzz_*.c))))
STYLE_T     := $(call ONLY,$(sort $(wildcard tests/style/*.t)))
REPLAY_T    := $(call ONLY,$(sort $(wildcard tests/replay/*.t)))
LIVE_T      := $(call ONLY,$(sort $(wildcard tests/live/*.t)))

# A test that hangs fails, and the processes that it started are killed.
PROVE       ?= prove
PROVE_TESTS  = $(PROVE) --formatter Closing --failures --comments --timer -e 'timeout -k 10 $(TEST_TIMEOUT)'
RUN_TESTS    = PERL5LIB=tests/lib $(PROVE_TESTS) $(1) </dev/null
WITH_SAN     = $(JOBS) SANITIZE=$(TEST_SANITIZE)

# Options are in app/, so tests may link all of app/ except main; an archive links only what is
# used.
APPLIB      := $(VARIANT)/libapp.a

$(APPLIB): $(patsubst %.c,$(VARIANT)/%.o,$(filter-out user/cli/main.c,$(APP_SRC)))
	$(call msg,AR,$@)
	$(Q)rm -f $@; $(AR) rcs $@ $^

$(VARIANT)/tests/unit/test_%: tests/unit/test_%.c $(APPLIB) $(LIB)
	@mkdir -p $(@D)
	$(call msg,TEST,$@)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -o $@ $< $(APPLIB) $(LIB) $(LDFLAGS) $(TEST_LDLIBS) $(LDLIBS)

# These tests make malloc fail on demand.
$(VARIANT)/tests/unit/test_attempt: override LDFLAGS += $(addprefix -Wl$(comma)--wrap=,malloc calloc pthread_create)
$(VARIANT)/tests/unit/test_record_memory $(VARIANT)/tests/unit/test_otlp_memory $(VARIANT)/tests/unit/test_alloc: override LDFLAGS += $(addprefix -Wl$(comma)--wrap=,malloc calloc realloc strdup)

# Only these tests may include the skeleton, after bpf/jank_abi.h, whose types it uses.
$(VARIANT)/tests/bpf/test_%: tests/bpf/test_%.c $(SKEL) $(LIB)
	@mkdir -p $(@D)
	$(call msg,TEST,$@)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -o $@ $< $(LIB) $(LDFLAGS) $(TEST_LDLIBS) $(LDLIBS)

-include $(UNIT_BIN:=.d) $(BPF_BIN:=.d) $(FUZZ_BIN:=.d)

unit-bin: $(UNIT_BIN)
bpf-bin: $(BPF_BIN) $(if $(BPF_T),$(SKEL))
fuzz-bin: $(FUZZ_BIN)

unit: #:tests unit tests, with the sanitizers
	$(Q)$(MAKE) $(WITH_SAN) unit-bin
	$(Q)$(call RUN_TESTS,$(UNIT_BIN))

bpf: #:tests tests of the BPF programs (as root)
	$(Q)$(MAKE) $(WITH_SAN) bpf-bin
	$(Q)$(call RUN_TESTS,$(BPF_T) $(BPF_BIN))

replay live: all

style: #:tests layers, format, lengths, licences
	$(Q)$(call RUN_TESTS,$(STYLE_T))

replay: #:tests tests of recorded journals
	$(Q)$(call RUN_TESTS,$(REPLAY_T))

live: #:tests tests against running programs (as root)
	$(Q)$(call RUN_TESTS,$(LIVE_T))

partners: all #:measure accounts of threads that a dispatch waits for, of all kinds (as root): 45 minutes
	$(Q)JANK_PARTNERS=all $(call RUN_TESTS,tests/live/partners.t)

# Live tests mostly wait, so they run three at a time, but for these, which measure times or losses.
LIVE_ALONE := behind histogram history late_start losses rests sink_nice truth
# Seconds by the clock on two cores: symbol_gopclntab 70; features 212, loops 131, send 120, kill 109, pids 101,
# hostile 81, compat32 70, stopped 55, jit 53, sites 46, targets 42; alone: watched 94, overload 91, upsets 75, shares 70,
# truth_forms 66, all 59, places 57, hang 57, workers 50, degraded 47, memory 42, marks 39, busy_loop 36, simjank 33,
# crowd 28, python_chain 23, longmaps 15; apart: make check-attach 700.
SLOW_UNIT          := symbol_gopclntab
SLOW_LIVE_PARALLEL := art_hostile compat32 features hostile hostile_runtime jit kill loops pids send sites stopped targets
SLOW_LIVE          := all busy_loop crowd degraded hang longmaps marks memory overload places python_chain shares \
                      simjank truth_forms upsets watched workers

LIVE_NAMED      = $(filter $(1:%=tests/live/%.t),$(LIVE_T))
LIVE_PARALLEL_T = $(filter-out $(call LIVE_NAMED,$(LIVE_ALONE) $(SLOW_LIVE_PARALLEL) $(SLOW_LIVE)),$(LIVE_T))
SLOW_UNIT_BIN  := $(filter $(SLOW_UNIT:%=$(SAN)/tests/unit/test_%),$(UNIT_BIN))
# The quickest stage comes first. Tests that measure time run alone.
STAGES          = -j2 $(STYLE_T) $(filter-out $(SLOW_UNIT_BIN),$(UNIT_BIN)) $(FUZZ_BIN) $(REPLAY_T) $(BPF_T) $(BPF_BIN) \
                  -j3 $(LIVE_PARALLEL_T) $(FIELD_SHORT_T) -j1 $(call LIVE_NAMED,$(LIVE_ALONE))
SLOW_STAGES     = -j2 $(SLOW_UNIT_BIN) $(call LIVE_NAMED,$(SLOW_LIVE_PARALLEL)) -j1 $(call LIVE_NAMED,$(SLOW_LIVE))
RUN_STAGES      = FIELD=short PERL5LIB=tests/lib RUN="$(PROVE_TESTS)" tests/stages

check: check-bin #:tests deps (as root), build, the tests that CI runs: within 15 minutes
	$(Q)$(RUN_STAGES) $(STAGES)

check-full: check-bin #:tests the same, and the slow tests: 40 minutes
	$(Q)$(RUN_STAGES) $(STAGES) $(SLOW_STAGES)

check-bin:
	$(Q)[ "$$(id -u)" != 0 ] || $(MAKE) deps-test
	$(Q)$(MAKE) $(JOBS) all
	$(Q)$(MAKE) $(JOBS) static
	$(Q)$(MAKE) $(JOBS) compat32
	$(Q)$(MAKE) $(WITH_SAN) unit-bin bpf-bin fuzz-bin

# After an edit: without the sanitizers, so that only changed files are compiled; without tests that
# take seconds, and without replay/live.t, which traces.
FAST_NOT     := symbol_costly symbol_dwarf_costly symbol_dwarf_memory symbol_gopclntab symbol_java record_memory unwind_java \
                unwind_programs
FAST_UNIT     = $(filter-out $(FAST_NOT:%=$(VARIANT)/tests/unit/test_%),$(patsubst %.c,$(VARIANT)/%,\
                $(call ONLY,$(sort $(wildcard tests/unit/test_*.c)))))

fast-bin: $(FAST_UNIT)

check-fast: #:tests the style, the quick unit tests without sanitizers, replay: within two minutes
	$(Q)$(MAKE) $(JOBS) all
	$(Q)$(MAKE) $(JOBS) fast-bin
	$(Q)$(call RUN_TESTS,-j2 $(STYLE_T) $(BPF_T) $(FAST_UNIT) $(filter-out tests/replay/live.t,$(REPLAY_T)))

CLANG_FORMAT ?= clang-format
FORMATTED     = $(shell find bpf user tools tests -name '*.[ch]' -o -name '*.cc')

check-format: #:tests check that clang-format changes no file
	$(Q)$(CLANG_FORMAT) --dry-run -Werror $(FORMATTED)

format: #:build format every file by clang-format
	$(Q)$(CLANG_FORMAT) -i $(FORMATTED)

-include $(FAST_UNIT:=.d)

.PHONY: fast-bin check-fast check-bin check-full unit-bin bpf-bin fuzz-bin unit bpf style replay live partners check check-format format
