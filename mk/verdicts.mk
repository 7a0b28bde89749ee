# SPDX-License-Identifier: GPL-2.0
# Stalls of known kind in servers that no other test uses: how many are found, and how right their verdicts are. Installs the servers
# (500 MB); some 20 minutes.
#   make verdicts                         the table, into docs/verdicts.md
#   make verdicts VERDICTS="haproxy mpd"  some of them, on the terminal only

VERDICT_ROUNDS ?= 5

$(OUT)/verdicts/libmvec-1.so: tests/verdicts/stall.c
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -shared -fPIC -o $@ $< -ldl -lpthread

verdicts: all $(OUT)/verdicts/libmvec-1.so #: stalls in real servers, and what is said of them (as root)
	$(Q)deps/install build verdicts
	$(Q)tests/verdicts/run --rounds $(VERDICT_ROUNDS) $(if $(VERDICTS),$(VERDICTS),-o docs/verdicts.md)

.PHONY: verdicts
