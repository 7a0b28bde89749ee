# SPDX-License-Identifier: GPL-2.0
# Stalls of known kind in servers that no other test uses: how many are found, and how right their verdicts are; then those of browsers and
# other desktop programs, and blocks of the same while they idle. Installs them all (1.5 GB); some 50 minutes.
#   make verdicts                         the tables, into docs/verdicts.md
#   make verdicts VERDICTS="haproxy mpd"  some of the servers, on the terminal only
#   make verdicts DESKTOP="chromium Swing" IDLE=0  some of the others

VERDICT_ROUNDS ?= 5
IDLE ?= 600

$(OUT)/verdicts/libmvec-1.so: tests/verdicts/stall.c
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -shared -fPIC -o $@ $< -ldl -lpthread

verdicts: all $(OUT)/verdicts/libmvec-1.so #: stalls in real servers, and what is said of them (as root)
	$(Q)deps/install build verdicts
ifeq ($(VERDICTS)$(DESKTOP),)
	$(Q)tests/verdicts/run --rounds $(VERDICT_ROUNDS) -o docs/verdicts.md
	$(Q)tests/verdicts/run_desktop --rounds $(VERDICT_ROUNDS) --idle $(IDLE) -a docs/verdicts.md
else
	$(Q)$(if $(VERDICTS),tests/verdicts/run --rounds $(VERDICT_ROUNDS) $(VERDICTS))
	$(Q)$(if $(DESKTOP),tests/verdicts/run_desktop --rounds $(VERDICT_ROUNDS) --idle $(IDLE) $(DESKTOP))
endif

.PHONY: verdicts
