# SPDX-License-Identifier: GPL-2.0
# ThreadSanitizer. The modules that two threads share, built once more with it: their unit tests,
# with only the files that they need. `make unit` and `make check` run them. `make tsan` builds the
# whole program with it and makes short traces: a minute, after a build of its own.

TSAN      := $(OUT)/tsan
TSAN_BIN  := $(call ONLY,$(TSAN)/test_queue $(TSAN)/test_loss)

$(TSAN)/test_queue: tests/unit/test_queue.c user/session/queue.c user/session/queue.h user/base/clock.c user/base/strbuf.c
$(TSAN)/test_loss: tests/unit/test_loss.c user/model/loss.c user/model/loss.h user/base/alloc.c
$(TSAN)/%: tests/tap.h
	@mkdir -p $(@D)
	$(call msg,TEST,$@)
	$(Q)$(CC) $(CPPFLAGS) -std=gnu11 $(WARN) $(CFLAGS) -fsanitize=thread -pthread -o $@ $(filter %.c,$^)

unit-bin: $(TSAN_BIN)
UNIT_BIN += $(TSAN_BIN)

TSAN_PROGRAM := $(TSAN)/san/jankbpf

tsan: all #:tests ThreadSanitizer on the whole program, in short traces (as root)
	$(Q)$(MAKE) $(JOBS) SANITIZE=thread OUT=$(TSAN) $(TSAN_PROGRAM)
	$(Q)JANKBPF=$(CURDIR)/$(TSAN_PROGRAM) tests/live/tsan.py

.PHONY: tsan
