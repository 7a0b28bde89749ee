# SPDX-License-Identifier: GPL-2.0
# Which lines of user/ the unit tests and the replays run, by gcov: a table by room, and one by file
# in .output/coverage/report. Not counted: what only a traced machine shows, and confined processes,
# which cannot write their counts. Tests that read their messages fail here, since gcov says so.

COVER       := $(OUT)/coverage
COVER_UNIT   = $(patsubst $(SAN)/%,$(COVER)/rel/%,$(filter $(SAN)/%,$(UNIT_BIN)))
COVER_FLAGS := -g -O0 --coverage -fprofile-update=atomic

coverage: all #:tests which lines of user/ the unit and replay tests run, by room (as root)
	$(Q)deps/install coverage
	$(Q)$(MAKE) $(JOBS) SANITIZE= OUT=$(COVER) CFLAGS='$(COVER_FLAGS)' $(COVER)/rel/jankbpf $(COVER_UNIT)
	$(Q)find $(COVER) -name '*.gcda' -delete
	$(Q)JANKBPF=$(CURDIR)/$(COVER)/rel/jankbpf $(call RUN_TESTS,-j2 $(COVER_UNIT) $(REPLAY_T)) >$(COVER)/tests 2>&1 || true
	$(Q)gcovr --root . --filter user/ --exclude-unreachable-branches --object-directory $(COVER) \
		--txt $(COVER)/report --json-summary $(COVER)/summary.json
	$(Q)tools/coverage $(COVER)/summary.json

.PHONY: coverage
