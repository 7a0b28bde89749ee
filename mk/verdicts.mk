# SPDX-License-Identifier: GPL-2.0
# How right jankbpf is: the tables of docs/verdicts.md, of stalls with known kind, time and culprit.
# Installs what it needs (1.7 GB). Each table has a variable; without any of them all tables are
# made, in some 85 minutes.
#
#   make verdicts                         all
#   make verdicts KINDS=all               42 kinds of fault that simjank makes, KIND_COUNT incidents of each
#   make verdicts SERVERS="haproxy mpd"   servers and interpreters, VERDICT_ROUNDS stalls of each kind
#   make verdicts DESKTOP=chromium        browsers, desktop programs, servers with threads, likewise
#   make verdicts LATE=Looper             late starts: LATE_COUNT of each case, of programs that get no CPU
#   make verdicts IDLE="started busy"     all side by side for IDLE_S seconds: attached, started, busy
#
# A run replaces its own rows. VERDICT_FLAGS=-n only prints.

KIND_COUNT ?= 30
VERDICT_ROUNDS ?= 5
LATE_COUNT ?= 40
IDLE_S ?= 600
VERDICT_FLAGS ?=

ifeq ($(strip $(KINDS)$(SERVERS)$(DESKTOP)$(LATE)$(IDLE)),)
verdicts: KINDS = all
verdicts: SERVERS = all
verdicts: DESKTOP = all
verdicts: LATE = all
verdicts: IDLE = all
endif

# verdict-run SCRIPT, VALUE, OPTIONS
verdict-run = $(if $(strip $(2)),tests/verdicts/$(1) $(3) $(VERDICT_FLAGS) $(filter-out all,$(2)))

$(OUT)/verdicts/libmvec-1.so: tests/verdicts/stall.c
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -shared -fPIC -o $@ $< -ldl -lpthread

$(OUT)/verdicts/late_client: tests/verdicts/late_client.c
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -o $@ $<

verdicts: all $(OUT)/verdicts/libmvec-1.so $(OUT)/verdicts/late_client #:measure verdicts on known stalls, into docs/verdicts.md (as root)
	$(Q)deps/install build verdicts
	$(Q)$(call verdict-run,run_kinds,$(KINDS),--count $(KIND_COUNT))
	$(Q)$(call verdict-run,run,$(SERVERS),--rounds $(VERDICT_ROUNDS))
	$(Q)$(call verdict-run,run_desktop,$(DESKTOP),--rounds $(VERDICT_ROUNDS))
	$(Q)$(call verdict-run,run_late,$(LATE),--count $(LATE_COUNT))
	$(Q)$(call verdict-run,run_idle,$(IDLE),--seconds $(IDLE_S))

.PHONY: verdicts
