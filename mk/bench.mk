# SPDX-License-Identifier: GPL-2.0
# What jankbpf costs, beside its peers and in one run; nothing is kept but .output/bench.json.
#
#   make bench                all of it, about five minutes
#   make bench BENCH=micro    a part of it: micro, redis or own
#   make bench ROUNDS=3       quicker, less exact

BENCH  ?=
ROUNDS ?=

bench: all $(VARIANT)/bench_epoll #: what it costs, beside its peers (as root)
	$(Q)BENCH_EPOLL=$(VARIANT)/bench_epoll \
		tools/bench/bench.py $(if $(ROUNDS),--rounds $(ROUNDS)) --json $(OUT)/bench.json $(BENCH)

$(VARIANT)/bench_epoll: $(VARIANT)/tools/bench_epoll.o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^

-include $(VARIANT)/tools/bench_epoll.d

.PHONY: bench
