# SPDX-License-Identifier: GPL-2.0
# What jankbpf costs, beside its peers in the same run; only .output/bench.json is kept.
#
#   make bench                all of it, about five minutes
#   make bench-readme         what the README shows, into it: 20 pairs of redis, half an hour
#   make bench-events         instructions of each probe at an event, typed and plain
#   make bench BENCH=micro    a part of it: micro, redis, own or encoding
#   make bench ROUNDS=3       quicker, less exact
#   make bench BENCH=micro BEFORE=../before/jankbpf   beside another build of jankbpf

BENCH_BIN := $(addprefix $(VARIANT)/bench_,epoll empty)
BENCH_ENV  = BENCH_EPOLL=$(VARIANT)/bench_epoll BENCH_EMPTY=$(VARIANT)/bench_empty
BENCH  ?=
ROUNDS ?=
BEFORE ?=

bench: all $(BENCH_BIN) $(VARIANT)/bench_encoding #:measure the cost of tracing, beside its peers (as root)
	$(Q)$(BENCH_ENV) BENCH_ENCODING=$(VARIANT)/bench_encoding \
		BEFORE=$(BEFORE) tools/bench/bench.py $(if $(ROUNDS),--rounds $(ROUNDS)) --json $(OUT)/bench.json $(BENCH)

bench-readme: all $(BENCH_BIN) $(VARIANT)/bench_encoding #:measure what the README says of the cost, and write it there (as root)
	$(Q)$(BENCH_ENV) tools/bench/bench.py --readme $(if $(ROUNDS),--rounds $(ROUNDS)) \
		--json $(OUT)/bench-readme.json
	$(Q)tools/bench/readme.py $(OUT)/bench-readme.json

# The guest's clock counts instructions, so each machine has the same figures. arm64 takes more than 15
# minutes: EVENTS_VM=arm64/6.12.
EVENTS_VM ?= x86_64/6.12
bench-events: #:measure the instructions of each probe at an event, in a virtual machine
	$(Q)$(MAKE) $(JOBS) STATIC=1 SANITIZE= CROSS_COMPILE=$(if $(filter arm64/%,$(EVENTS_VM)),$(CROSS_ARM64)) bench-events-program
	$(Q)tools/bench/events.py $(EVENTS_VM)
bench-events-program: $(VARIANT)/bench_events

$(VARIANT)/bench_events: $(VARIANT)/tools/bench_events.o $(SKEL_SRC:%.c=$(VARIANT)/%.o) $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) $(STRIP_ALL) -o $@ $^ $(LDLIBS)

-include $(VARIANT)/tools/bench_events.d

.PHONY: bench-events bench-events-program

bench-governor: all $(VARIANT)/bench_rate #:measure the budget of an agent at 1,000 to 500,000 dispatches a second (as root)
	$(Q)BENCH_RATE=$(VARIANT)/bench_rate tools/bench/governor.py

bench-agent: all $(VARIANT)/bench_rate #:measure an agent with 500 processes and 50,000 dispatches a second, AGENT_S=600 seconds (as root)
	$(Q)BENCH_RATE=$(VARIANT)/bench_rate tools/bench/agent.py $(AGENT_S)

$(VARIANT)/bench_rate: $(VARIANT)/tools/bench_rate.o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^

$(VARIANT)/bench_epoll $(VARIANT)/bench_empty: $(VARIANT)/bench_%: $(VARIANT)/tools/bench_%.o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -lbpf

$(VARIANT)/bench_encoding: $(VARIANT)/tools/bench_encoding.o $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lzstd

-include $(VARIANT)/tools/bench_epoll.d $(VARIANT)/tools/bench_empty.d $(VARIANT)/tools/bench_rate.d $(VARIANT)/tools/bench_encoding.d

.PHONY: bench bench-agent bench-governor bench-readme
