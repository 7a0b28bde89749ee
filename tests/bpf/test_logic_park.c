/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parks: which futex waits are the loop's own, by user space's decision. This thread's waits are
 * its calls of bpf().
 */
#include "tests/bpf/logic_run.h"
#include <alloca.h>

#define MS 1000000ull

#define LEAVE(ms)  STEP(LEAVE, .task_state = TASK_INTERRUPTIBLE, .now_ns = (ms)*MS)
#define ARRIVE(ms) STEP(ARRIVE, .now_ns = (ms)*MS)
#define PARK(ms)   STEP(PARK, .now_ns = (ms)*MS)

#define PHASE_DISPATCH	2
#define PHASE_CANDIDATE 3
#define PHASE_PARKED	4

static struct jank_conf park_conf(uint8_t class)
{
	struct jank_conf conf = logic__conf();

	conf.threshold_ns = 10 * MS;
	conf.syscall_class[__NR_bpf] = class;
	return conf;
}

static void say(const struct jank_parks *parks)
{
	static __u32 changes;
	__u32 zero = 0, tgid = getpid();

	changes++;
	bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_parkers), &tgid, parks, BPF_ANY);
	bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_park_gen), &zero, &changes, BPF_ANY);
}

static void say_kinds(uint32_t kinds)
{
	const struct jank_parks parks = { .kinds = kinds };

	say(&parks);
}

/* A dispatch that began at 0. */
static void begin_dispatch(uint8_t class)
{
	struct jank_conf conf = park_conf(class);

	logic__begin_with(&conf);
	BEGIN(one, 1ull << 60);
	END(1);
	STEP(OPEN, .now_ns = 1);
}

/* The question to user space: a WAIT record without turns. */
static bool asked(struct event *ret)
{
	return logic__received(JANK_REC_WAIT, ret) && ret->wait.loop == JANK_LOOP_PARK &&
	       !ret->wait.turn_cnt;
}

static void test_elsewhere(void)
{
	struct logic_step s;
	struct event event;

	begin_dispatch(JANK_CLASS_FUTEX);
	s = LEAVE(1);
	ok(s.start_ns && s.state == JANK_STATE_FUTEX && !asked(&event),
	   "a futex wait in a process without parks is its handler's; no question is sent");
	s = ARRIVE(30);
	ok(s.start_ns && s.state_ns[JANK_STATE_FUTEX] == 29 * MS, "its time is blocked");
}

static void test_any(void)
{
	struct logic_step s;
	struct event event;

	begin_dispatch(JANK_CLASS_FUTEX);
	say_kinds(JANK_PARKS_ANY_FUTEX);
	s = STEP(LEAVE, .task_state = TASK_UNINTERRUPTIBLE, .now_ns = 1 * MS);
	ok(s.start_ns, "an uninterruptible sleep in the call is no park");
	ARRIVE(2);
	s = STEP(LEAVE, .preempted = 1, .task_state = TASK_INTERRUPTIBLE, .now_ns = 3 * MS);
	ok(s.start_ns, "nor is losing the CPU in it");
	ARRIVE(4);
	s = LEAVE(5);
	ok(!s.start_ns && s.phase == PHASE_PARKED && s.dispatch_cnt == 1 && !s.block_cnt,
	   "any futex is a park: it ends the dispatch without a question");
	ok(!asked(&event), "no question is sent");
	s = STEP(UNPARK, .now_ns = 90 * MS);
	ok(s.phase == PHASE_DISPATCH && s.start_ns == 90 * MS,
	   "with the CPU a new dispatch begins");
	s = LEAVE(120);
	ok(s.dispatch_cnt == 2 && s.block_cnt == 1, "which is a block if it is long");
	begin_dispatch(JANK_CLASS_SLEEP);
	say_kinds(JANK_PARKS_ANY_FUTEX);
	ok(LEAVE(1).start_ns, "a sleep is no futex wait");
}

static struct jank_park_chain chain_of(const struct event *event, uint16_t verdict)
{
	return (struct jank_park_chain){ .ip = event->wait.ip, .verdict = verdict };
}

static void test_answer(void)
{
	struct jank_parks parks = { .kinds = JANK_PARKS_BY_PLACE };
	struct logic_step s;
	struct event event;

	begin_dispatch(JANK_CLASS_FUTEX);
	say(&parks);
	s = LEAVE(1);
	ok(s.start_ns && asked(&event) && event.wait.sp && event.wait.syscall == __NR_bpf,
	   "an unknown place sends a question, with the address");
	ok(logic__wait_copy(), "and the stack, right before it");
	ARRIVE(2);
	LEAVE(3);
	ok(!asked(&event), "only once for a while");
	s = ARRIVE(20);
	ok(s.start_ns == 1 && s.state_ns[JANK_STATE_FUTEX] == 18 * MS,
	   "no answer: the wait was the handler's");
	LEAVE(40);
	ok(asked(&event), "then again");
	parks.chains[0] = chain_of(&event, JANK_PARK_NO);
	say(&parks);
	s = LEAVE(80);
	ok(s.start_ns && !asked(&event),
	   "a known place without a park is no wait of the loop, and sends no question");
	parks.chains[0].verdict = JANK_PARK_YES;
	parks.chains[1] = parks.chains[0];
	parks.chains[0].ip++;
	begin_dispatch(JANK_CLASS_FUTEX);
	say(&parks);
	s = LEAVE(5);
	ok(s.phase == PHASE_PARKED && s.dispatch_cnt == 1,
	   "a park at another address is another one: here the second");
	begin_dispatch(JANK_CLASS_SLEEP);
	say(&parks);
	ok(LEAVE(5).phase == PHASE_PARKED, "a sleep may be a park, too");
}

static void test_words(void)
{
	struct jank_parks parks = { .kinds = JANK_PARKS_BY_PLACE };
	struct jank_park_chain *chain = &parks.chains[0];
	struct event event;

	begin_dispatch(JANK_CLASS_FUTEX);
	say(&parks);
	LEAVE(1);
	ok(asked(&event), "a question");
	*chain = chain_of(&event, JANK_PARK_YES);
	chain->word_cnt = 1;
	chain->offset[0] = (uint16_t)(8 - event.wait.sp % 8) % 8;
	chain->word[0] = 1; /* no return address */
	ARRIVE(2);
	say(&parks);
	ok(LEAVE(60).start_ns, "another word on the stack: no park");
	ARRIVE(61);
	memcpy(&chain->word[0], (const void *)(uintptr_t)(event.wait.sp + chain->offset[0]), 8);
	say(&parks);
	ok(LEAVE(62).phase == PHASE_PARKED, "the same one: a park");
}

/* The answer comes while the thread sleeps. */
static void test_late_answer(void)
{
	struct jank_park_place place = { .arg0 = BPF_PROG_TEST_RUN,
					 .tid = gettid(),
					 .nr = __NR_bpf };
	__u32 yes = JANK_PARK_YES;
	struct logic_step s;
	struct event event;

	begin_dispatch(JANK_CLASS_FUTEX);
	say_kinds(JANK_PARKS_BY_PLACE);
	LEAVE(3);
	ok(asked(&event), "a question");
	place.sp = event.wait.sp;
	bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_parks), &place, &yes, BPF_ANY);
	STEP(WAKE, .now_ns = 50 * MS);
	s = ARRIVE(51);
	ok(s.dispatch_cnt == 1 && !s.block_cnt && s.start_ns == 51 * MS,
	   "it was a park: the dispatch ended when the thread left the CPU, and a new one begins");
	s = LEAVE(71);
	STEP(WAKE, .now_ns = 72 * MS);
	s = ARRIVE(73);
	ok(s.block_cnt == 1 && logic__received(JANK_REC_BLOCK, &event) == 1 &&
		   event.block.duration_ns == 20 * MS &&
		   event.block.state_ns[JANK_STATE_FUTEX] == 0,
	   "a block's time ends there, too, without the park's");
}

static void test_worker(void)
{
	struct jank_conf conf = park_conf(JANK_CLASS_FUTEX);
	struct logic_step s;
	struct event event;

	logic__begin_with(&conf);
	say_kinds(JANK_PARKS_ANY_FUTEX);
	s = STEP(WORKER, .arg = JANK_PARKS_ANY_FUTEX);
	ok(s.known && s.phase == PHASE_CANDIDATE && !s.start_ns,
	   "a thread beside the main one: a candidate");
	PARK(1);
	s = PARK(2);
	ok(s.phase == PHASE_CANDIDATE && !logic__received(JANK_REC_LOOP, &event),
	   "two parks make no loop");
	s = PARK(3);
	ok(s.phase == PHASE_PARKED && s.loop == JANK_LOOP_PARK && s.loop_sp, "the third does");
	ok(logic__received(JANK_REC_WAIT, &event) == 1 && event.wait.loop == JANK_LOOP_PARK &&
		   event.wait.turn_cnt == 3,
	   "and is sent, with its turns");
	s = STEP(UNPARK, .now_ns = 4 * MS);
	ok(s.start_ns == 4 * MS, "with the CPU a dispatch opens");
	s = BEGIN(one, 1000);
	ok(s.loop == JANK_LOOP_EPOLL && s.loop_fd == one && s.dispatch_cnt == 1,
	   "a worker that waits in epoll is epoll's from then on");
	conf = park_conf(JANK_CLASS_POLL_FDS);
	conf.infer_begin = 1;
	logic__begin_with(&conf);
	STEP(WORKER, .arg = JANK_PARKS_ANY_FUTEX);
	for (int i = 0; i < 8; i++)
		s = STEP(POLL, .sp = 1000, .arg = 1000, .ret = 1);
	ok(s.loop == JANK_LOOP_POLL && s.phase == PHASE_DISPATCH,
	   "a candidate may be a loop that polls as well");
}

/* The answer says that the thread left its idle place before, at an unknown time. */
static void test_left_answer(void)
{
	struct jank_park_place place = { .arg0 = BPF_PROG_TEST_RUN,
					 .tid = gettid(),
					 .nr = __NR_bpf };
	struct jank_parks parks = { .kinds = JANK_PARKS_BY_PLACE };
	__u32 left = JANK_PARK_LEFT;
	struct logic_step s;
	struct event event;

	begin_dispatch(JANK_CLASS_FUTEX);
	say(&parks);
	LEAVE(30);
	ok(asked(&event), "a question");
	parks.chains[0] = chain_of(&event, JANK_PARK_YES);
	place.sp = event.wait.sp;
	bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_parks), &place, &left, BPF_ANY);
	STEP(WAKE, .now_ns = 50 * MS);
	s = ARRIVE(51);
	ok(!s.block_cnt && !s.dispatch_cnt && s.start_ns == 51 * MS &&
		   !logic__received(JANK_REC_BLOCK, &event),
	   "the open dispatch is not reported, and a new one begins");
	is_uint(logic__lost(JANK_LOST_LOOP_CHANGED), 1, "it is counted as lost");
	say(&parks);
	s = LEAVE(71);
	ok(s.block_cnt == 1 && logic__received(JANK_REC_BLOCK, &event) == 1 &&
		   event.block.duration_ns == 20 * MS,
	   "the next one is, if it is long");
}

/* A worker that waits in its handler after each park. */
static void test_named_worker(void)
{
	struct jank_conf conf = park_conf(JANK_CLASS_FUTEX);
	struct jank_parks parks = { .kinds = JANK_PARKS_BY_PLACE };
	struct logic_step s;
	struct event event;

	logic__begin_with(&conf);
	say(&parks);
	STEP(WORKER, .arg = JANK_PARKS_BY_PLACE);
	s = PARK(1);
	ok(s.phase == PHASE_CANDIDATE && asked(&event), "a candidate asks about its first sleep");
	parks.chains[0] = chain_of(&event, JANK_PARK_NO);
	say(&parks);
	s = PARK(2);
	ok(s.phase == PHASE_CANDIDATE, "a handler's sleep makes no loop");
	parks.chains[0].verdict = JANK_PARK_YES;
	say(&parks);
	s = PARK(3);
	ok(s.phase == PHASE_PARKED && s.loop == JANK_LOOP_PARK,
	   "one park that user space knows by its callers does, after any other sleep");
	ok(logic__received(JANK_REC_WAIT, &event) == 1 && event.wait.turn_cnt,
	   "and is sent, with its turns");
}

/* A main thread of which user space knows only that it is one. */
static void test_main(void)
{
	struct jank_conf conf = park_conf(JANK_CLASS_FUTEX);
	struct jank_parks parks = { .kinds = JANK_PARKS_MAIN };
	struct logic_step s;
	struct event event;

	logic__begin_with(&conf);
	say(&parks);
	STEP(WORKER, .arg = JANK_PARKS_MAIN);
	s = PARK(1);
	ok(s.trial == 1 && s.phase == PHASE_PARKED, "its first wait: on probation");
	s = STEP(UNPARK, .now_ns = 2 * MS);
	ok(s.phase == PHASE_DISPATCH && s.trial == 1, "with the CPU a dispatch begins");
	s = LEAVE(32);
	ok(s.phase == PHASE_PARKED && s.block_cnt == 1 &&
		   logic__received(JANK_REC_BLOCK, &event) == 1 && event.hdr.flags == 1,
	   "the next wait there ends it: a block on probation");
	STEP(UNPARK, .now_ns = 80 * MS);
	LEAVE(81);
	ok(asked(&event), "a question is sent");
	parks.chains[0] = chain_of(&event, JANK_PARK_YES);
	say(&parks);
	STEP(UNPARK, .now_ns = 90 * MS);
	s = LEAVE(91);
	ok(!s.trial && s.loop == JANK_LOOP_PARK && s.phase == PHASE_PARKED &&
		   logic__received(JANK_REC_LOOP, &event) == 1 && event.hdr.flags == 1,
	   "the answer makes it the loop, including earlier blocks");
	parks.chains[0].verdict = JANK_PARK_NO;
	say(&parks);
	STEP(UNPARK, .now_ns = 100 * MS);
	s = LEAVE(101);
	ok(!s.trial && s.start_ns == 100 * MS, "a place that is no park is the handler's");
	begin_dispatch(JANK_CLASS_FUTEX);
	parks.chains[0].verdict = 0;
	say(&parks);
	ok(LEAVE(5).start_ns && !asked(&event), "no question for a thread that waits in epoll");
}

/* In which calls a main thread may wait for work. */
static void test_calls(void)
{
	static const struct {
		uint8_t class;
		bool rests;
		const char *name;
	} calls[] = {
		{ JANK_CLASS_ACCEPT, true, "accept" },
		{ JANK_CLASS_QUEUE, true, "a wait for a signal or a message" },
		{ JANK_CLASS_SLEEP, true, "a sleep" },
		{ JANK_CLASS_FD, true, "a read of something other than a socket" },
		{ JANK_CLASS_SOCKET, false, "a reply on a socket" },
		{ JANK_CLASS_POLL_FDS, false, "a poll, unless as Ruby's queues do" },
		{ JANK_CLASS_PLAIN, false, "any other call" },
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct jank_conf conf = park_conf(calls[i].class);
		struct event event;

		logic__begin_with(&conf);
		say_kinds(JANK_PARKS_MAIN | JANK_PARKS_SCRIPT);
		STEP(WORKER, .arg = JANK_PARKS_MAIN);
		PARK(1);
		ok(asked(&event) == calls[i].rests, "%s: the question is %ssent", calls[i].name,
		   calls[i].rests ? "" : "not ");
	}
}

/* A main thread that polls: its callers decide, at any depth. */
static void test_polls(void)
{
	struct jank_conf conf = park_conf(JANK_CLASS_SELECT);
	struct jank_parks parks = { .kinds = JANK_PARKS_MAIN };
	struct logic_step s;
	struct event event;

	logic__begin_with(&conf);
	say(&parks);
	s = STEP(POLL, .sp = 1000, .arg = 1000, .ret = 1, .now_ns = 1 * MS);
	ok(s.trial == 1 && asked(&event), "its poll sends a question");
	s = STEP(POLL, .sp = 2000, .arg = 2000, .ret = 1, .now_ns = 2 * MS);
	ok(s.trial == 1 && s.loop_sp == 1000,
	   "a poll from higher in the stack is not tried for that alone");
	parks.chains[0] = chain_of(&event, JANK_PARK_YES);
	say(&parks);
	s = STEP(POLL, .sp = 2000, .arg = 2000, .ret = 1, .now_ns = 3 * MS);
	ok(!s.trial && s.loop_sp == 2000, "but at once if its callers say so");
	conf.infer_begin = 1;
	logic__begin_with(&conf);
	parks.chains[0].verdict = 0;
	say(&parks);
	STEP(POLL, .sp = 1000, .arg = 1000, .ret = 1);
	STEP(POLL, .sp = 2000, .arg = 2000, .ret = 1);
	s = STEP(POLL, .sp = 2000, .arg = 2000, .ret = 1);
	ok(s.trial == 2 && s.loop_sp == 2000,
	   "a place visited once gives way to a second visit above it");
	logic__begin_with(&conf);
	say(&parks);
	STEP(POLL, .sp = 2000, .arg = 2000, .ret = 1);
	for (int i = 0; i < 8; i++)
		s = STEP(POLL, .sp = 1000, .arg = 1000, .ret = 1);
	ok(s.trial == 1 && s.loop_sp == 2000, "but not to a handler's place below it");
	conf.infer_begin = 0;
	logic__begin_with(&conf);
	parks.chains[0].verdict = JANK_PARK_NO;
	say(&parks);
	for (int i = 0; i < 40; i++)
		s = STEP(POLL, .sp = 1000, .arg = 1000, .ret = 1, .now_ns = i * MS);
	ok(s.trial && !s.loop_sp, "a handler's wait is no loop, however often it comes");
}

/* Its callers were found a handler's, because of an early place further out. */
static void test_left_place(void)
{
	struct jank_conf conf = park_conf(JANK_CLASS_SELECT);
	struct jank_parks parks = { .kinds = JANK_PARKS_MAIN };
	struct logic_step s = { 0 };
	struct event event;

	conf.infer_begin = 1;
	logic__begin_with(&conf);
	say(&parks);
	STEP(POLL, .sp = 2000, .arg = 2000, .ret = 1);
	asked(&event);
	for (int i = 0; i < 11; i++)
		STEP(POLL, .sp = 2000, .arg = 2000, .ret = 1);
	parks.chains[0] = chain_of(&event, JANK_PARK_NO);
	say(&parks);
	for (int i = 0; i < 15; i++)
		s = STEP(POLL, .sp = 1000, .arg = 1000, .ret = 1);
	ok(s.trial == 1 && s.loop_sp == 2000, "a handler's place, after 12 turns further out");
	s = STEP(POLL, .sp = 1000, .arg = 1000, .ret = 1);
	ok(s.trial == 2 && s.loop_sp == 1000, "16 in a row: the thread waits only there now");
	for (int i = 0; i < 15; i++)
		s = STEP(POLL, .sp = 1000, .arg = 1000, .ret = 1);
	ok(!s.trial, "and 32 make it the loop");
	s = STEP(POLL, .sp = 2000, .arg = 2000, .ret = 1);
	ok(s.loop_sp == 1000 && s.start_ns, "a handler's wait of a known loop");
	parks.chains[0].verdict = JANK_PARK_YES;
	say(&parks);
	s = STEP(POLL, .sp = 2000, .arg = 2000, .ret = 1);
	ok(s.loop_sp == 2000 && s.phase == PHASE_DISPATCH,
	   "a place whose callers are the loop's is its place at once");
	parks.chains[0].verdict = 0;
	say(&parks);
	s = STEP(POLL, .sp = 500, .arg = 500, .ret = 1);
	ok(s.loop_sp == 2000 && s.start_ns, "a wait from deeper, its callers unknown");
	parks.chains[0].verdict = JANK_PARK_YES;
	say(&parks);
	is_uint(logic__lost(JANK_LOST_LOOP_CHANGED), 0, "nothing is lost so far");
	s = STEP(POLL, .sp = 500, .arg = 500, .ret = 1);
	ok(s.loop_sp == 500 && logic__lost(JANK_LOST_LOOP_CHANGED) == 1,
	   "when they turn out to be the loop's, the dispatch has no known end");
}

/* Calls STEP(step) from `room` bytes deeper in the stack. */
static struct logic_step from_deeper(size_t room, unsigned step, uint64_t now_ns)
{
	volatile char *below = alloca(room);
	struct logic_step s = { .step = step, .task_state = TASK_INTERRUPTIBLE, .now_ns = now_ns };

	below[0] = 0;
	return logic__step(s);
}

/* A program sleeps at many places while it starts. */
static void test_places(void)
{
	struct jank_conf conf = park_conf(JANK_CLASS_FUTEX);
	struct jank_parks parks = { .kinds = JANK_PARKS_MAIN };
	struct logic_step s;
	struct event event;

	logic__begin_with(&conf);
	say(&parks);
	STEP(WORKER, .arg = JANK_PARKS_MAIN);
	from_deeper(4096, LOGIC_PARK, 1 * MS);
	STEP(UNPARK, .now_ns = 2 * MS);
	s = from_deeper(6144, LOGIC_LEAVE, 3 * MS);
	ok(s.trial == 1 && s.phase == PHASE_DISPATCH, "a wait from deeper is part of its dispatch");
	ARRIVE(4);
	s = from_deeper(64, LOGIC_LEAVE, 5 * MS);
	ok(s.trial == 2 && s.phase == PHASE_PARKED, "one further out takes over at once");
	STEP(UNPARK, .now_ns = 6 * MS);
	asked(&event);
	parks.chains[0] = chain_of(&event, JANK_PARK_NO);
	say(&parks);
	s = from_deeper(128, LOGIC_LEAVE, 7 * MS);
	ok(s.trial == 2 && s.phase == PHASE_DISPATCH,
	   "another call at nearly the same depth, of a handler");
	ARRIVE(8);
	parks.chains[0].verdict = 0;
	say(&parks);
	s = from_deeper(64, LOGIC_LEAVE, 40 * MS);
	ok(s.trial == 2 && s.phase == PHASE_PARKED && s.block_cnt == 1,
	   "does not end the probation: the next wait ends the block");
	STEP(UNPARK, .now_ns = 50 * MS);
	for (int i = 0; i < 16; i++) {
		s = from_deeper(4096, LOGIC_LEAVE, (60 + 2 * i) * MS);
		if (s.phase == PHASE_DISPATCH)
			ARRIVE(61 + 2 * i);
	}
	ok(s.trial == 3 && s.phase == PHASE_PARKED,
	   "a place that is left gives way to a deeper one");
}

int main(void)
{
	LOGIC_START("logic_wait", "logic_sched", "logic_poll", "logic_park");
	test_elsewhere();
	test_any();
	test_answer();
	test_words();
	test_late_answer();
	test_left_answer();
	test_worker();
	test_named_worker();
	test_main();
	test_calls();
	test_polls();
	test_left_place();
	test_places();
	return logic__done();
}
