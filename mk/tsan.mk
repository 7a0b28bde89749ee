# SPDX-License-Identifier: GPL-2.0
# The modules that two threads share, built once more with ThreadSanitizer: their unit tests, with
# only the files that they need. `make unit` and `make check` run them.

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
