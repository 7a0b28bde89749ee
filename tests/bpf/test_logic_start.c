/* SPDX-License-Identifier: GPL-2.0 */
/* The start delay of a dispatch: from the wake-up in the loop's wait until the wait returns. */
#include <pthread.h>
#include <sched.h>

#include "tests/bpf/logic_run.h"

#define T  1000000000000000ull
#define MS 1000000ull

#define DUE(at)	   STEP(DUE, .now_ns = (at))
#define ASLEEP(at) STEP(WAIT_LEAVE, .now_ns = (at))
#define LOST(at)   STEP(WAIT_LEAVE, .now_ns = (at), .preempted = 1)
#define GETS(at)   STEP(WAIT_ARRIVE, .now_ns = (at))
#define OPEN(at)   STEP(OPEN, .now_ns = (at))
#define CLOSE(at)  STEP(CLOSE, .now_ns = (at))

/* A thread in its loop's wait. */
static void begin_with(uint64_t threshold_ns)
{
	struct jank_conf conf = logic__conf();
	struct event event;

	conf.threshold_ns = threshold_ns;
	conf.span_min_ns = 1 * MS;
	logic__load(&conf);
	STEP(RESET);
	BEGIN(one, 1000);
	logic__received(0, &event);
}

static void begin(void)
{
	begin_with(5 * MS);
}

static void test_prompt(void)
{
	struct logic_step s;

	begin();
	s = OPEN(T);
	ok(!s.start_delay_ns, "a wait that does not sleep has no start delay");
	CLOSE(T + 1000);
	BEGIN(one, 1000);
	ASLEEP(T + 1 * MS);
	is_uint(DUE(T + 9 * MS).due, 1, "a woken thread waits for a CPU");
	is_uint(GETS(T + 9 * MS + 5000).due, 0, "until it gets one");
	s = OPEN(T + 9 * MS + 7000);
	is_uint(s.start_delay_ns, 7000, "the delay lasts until the wait has returned");
	ok(!s.woken_ns && !s.due, "and ends then");
	s = CLOSE(T + 9 * MS + 8000);
	ok(!s.start_delay_ns && !s.block_cnt, "the next dispatch has its own");
}

/* In a thread of its own, so that slices of the process's first thread are another task's. */
static void *test_late(void *arg)
{
	struct logic_step open, s;
	struct event event;

	begin();
	ASLEEP(T);
	DUE(T + 10 * MS);
	STEP(SLICE, .now_ns = T + 12 * MS, .arg = 70001);
	STEP(SLICE, .now_ns = T + 30 * MS);
	GETS(T + 30 * MS);
	open = OPEN(T + 30 * MS + 1000);
	is_uint(logic__received(JANK_REC_STACK, &event), 1, "a long start delay is a span");
	ok(event.stack.rec.hdr.flags & JANK_STACK_START &&
		   event.stack.rec.dispatch_ns == open.start_ns &&
		   event.stack.rec.t_ns == T + 10 * MS && event.stack.rec.ns == 20 * MS &&
		   event.stack.rec.state == JANK_STATE_RUNNABLE && !event.stack.rec.user_cnt,
	   "of the dispatch that begins with it");
	ok(event.stack.rec.slice_cnt == 2 && event.stack.slices[0].ns == 18 * MS &&
		   event.stack.slices[1].ns == 2 * MS,
	   "with the tasks that ran instead");
	s = CLOSE(T + 30 * MS + 2000);
	is_uint(s.block_cnt, 1, "a dispatch of 1 us that starts 20 ms late is a block");
	is_uint(s.over_cnt, 0, "but not a long dispatch");
	is_uint(logic__received(JANK_REC_BLOCK, &event), 1, "which is sent");
	ok(event.block.start_delay_ns == 20 * MS + 1000 && event.block.duration_ns == 1000,
	   "with both times");
	BEGIN(one, 1000);
	OPEN(T + 40 * MS);
	is_uint(CLOSE(T + 41 * MS).block_cnt, 1, "the next dispatch is no block");
	return NULL;
}

/* What ran instead is sent for delays of a tenth of the threshold and more. */
static void test_little_late(void)
{
	struct event event;

	begin_with(50 * MS);
	ASLEEP(T);
	DUE(T + 10 * MS);
	GETS(T + 15 * MS - 1);
	is_uint(OPEN(T + 15 * MS - 1).start_delay_ns, 5 * MS - 1, "a short delay is counted");
	is_uint(logic__received(JANK_REC_STACK, &event), 0, "and not sent");
	CLOSE(T + 16 * MS);
	BEGIN(one, 1000);
	ASLEEP(T + 20 * MS);
	DUE(T + 30 * MS);
	GETS(T + 35 * MS);
	is_uint(OPEN(T + 35 * MS).start_delay_ns, 5 * MS, "a tenth of the threshold is counted");
	is_uint(logic__received(JANK_REC_STACK, &event), 1, "and sent");
	CLOSE(T + 36 * MS);
}

/* The threshold applies to the sum. */
static void test_sum(void)
{
	begin();
	ASLEEP(T);
	DUE(T + 10 * MS);
	GETS(T + 13 * MS);
	OPEN(T + 13 * MS);
	is_uint(CLOSE(T + 15 * MS).block_cnt, 0, "3 ms late and 2 ms long: not over 5 ms");
	BEGIN(one, 1000);
	ASLEEP(T + 16 * MS);
	DUE(T + 20 * MS);
	GETS(T + 23 * MS);
	OPEN(T + 23 * MS);
	is_uint(CLOSE(T + 25 * MS + 1).block_cnt, 1, "a nanosecond more is a block");
}

static void test_sleeps_again(void)
{
	struct logic_step s;

	begin();
	ASLEEP(T);
	DUE(T + 10 * MS);
	GETS(T + 20 * MS);
	s = ASLEEP(T + 20 * MS + 5000);
	ok(!s.woken_ns, "a thread that was woken in vain sleeps again");
	DUE(T + 90 * MS);
	GETS(T + 90 * MS + 3000);
	is_uint(OPEN(T + 90 * MS + 4000).start_delay_ns, 4000, "the last wake-up counts");
}

static void test_preempted(void)
{
	begin();
	ASLEEP(T);
	DUE(T + 10 * MS);
	GETS(T + 10 * MS + 4000);
	LOST(T + 10 * MS + 5000);
	is_uint(GETS(T + 30 * MS).due, 0, "a thread that loses the CPU in its wait gets it back");
	is_uint(OPEN(T + 30 * MS).start_delay_ns, 20 * MS, "its delay continues from the wake-up");
	CLOSE(T + 30 * MS + 1000);
	BEGIN(one, 1000);
	LOST(T + 40 * MS);
	GETS(T + 60 * MS);
	is_uint(OPEN(T + 60 * MS).start_delay_ns, 20 * MS,
		"for a thread that never slept, the delay begins there");
}

/* The waker's event may come before the sleeper's own, while it is still on its way off the CPU. */
static void test_early_wake(void)
{
	struct logic_step s;

	begin();
	DUE(T);
	s = ASLEEP(T + 3000);
	ok(s.woken_ns == T && s.due == 1, "a wake-up on the way to sleep counts");
	GETS(T + 20 * MS);
	is_uint(OPEN(T + 20 * MS).start_delay_ns, 20 * MS, "with its own time");
	CLOSE(T + 20 * MS + 1000);
	BEGIN(one, 1000);
	DUE(T + 30 * MS);
	s = ASLEEP(T + 40 * MS);
	ok(!s.woken_ns && !s.due, "one of long ago, which ended no sleep, does not");
}

static void test_frozen(void)
{
	struct event event;
	struct logic_step s;

	begin();
	STEP(READY, .ret = 1);
	STEP(FREEZE, .now_ns = T);
	DUE(T + 30 * MS);
	GETS(T + 31 * MS);
	is_uint(OPEN(T + 31 * MS).start_delay_ns, 31 * MS,
		"what is ready after a freeze may have been since its begin");
	is_uint(logic__received(JANK_REC_STACK, &event), 1, "which is a span");
	ok(event.stack.rec.hdr.flags & JANK_STACK_FROZEN && event.stack.rec.t_ns == T &&
		   event.stack.rec.ns == 31 * MS && event.stack.rec.runnable_ns == 1 * MS,
	   "frozen, and then runnable");

	begin();
	STEP(READY, .ret = 0);
	STEP(FREEZE, .now_ns = T);
	DUE(T + 30 * MS);
	GETS(T + 31 * MS);
	is_uint(OPEN(T + 31 * MS).start_delay_ns, 1 * MS, "unless nothing is");

	begin();
	STEP(READY, .ret = 1);
	STEP(FREEZE, .now_ns = T);
	DUE(T + 30 * MS);
	GETS(T + 31 * MS);
	ASLEEP(T + 32 * MS);
	DUE(T + 50 * MS);
	GETS(T + 50 * MS);
	s = OPEN(T + 50 * MS + 1000);
	is_uint(s.start_delay_ns, 1000, "or it sleeps again: frozen while idle");
	is_uint(CLOSE(T + 51 * MS).block_cnt, 0, "is no block");
}

static void test_hist(void)
{
	struct event event;
	struct logic_step s;

	begin();
	for (int i = 0; i < 3; i++) {
		ASLEEP(T);
		DUE(T + 10 * MS);
		GETS(T + 10 * MS + 1000);
		OPEN(T + 10 * MS + 700000);
		s = CLOSE(T + 11 * MS);
		BEGIN(one, 1000);
	}
	OPEN(T + 20 * MS);
	CLOSE(T + 21 * MS);
	is_uint(s.dispatch_cnt, 3, "three dispatches after a sleep, and one without");
	STEP(FILL, .arg = JANK_HIST_FULL - 1,
	     .ret = jank_hist__bucket(300000, jank_hist__log2(300000)));
	OPEN(T);
	CLOSE(T + 300000);
	is_uint(logic__received(JANK_REC_THREAD, &event), 1, "the counts are sent");
	is_uint(event.thread.starts.cnt[jank_hist__bucket(700000, jank_hist__log2(700000))], 3,
		"start delays have buckets of their own");
	is_uint(event.thread.starts.max_ns, 700000, "and a maximum");
}

int main(void)
{
	pthread_t thread;
	cpu_set_t set;

	LOGIC_START("logic_wait", "logic_sched", "logic_count");
	test_prompt();
	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set); /* each CPU has its own log of what ran */
	sched_setaffinity(0, sizeof(set), &set);
	if (pthread_create(&thread, NULL, test_late, NULL) || pthread_join(thread, NULL))
		ok(false, "a thread is started");
	test_little_late();
	test_sum();
	test_sleeps_again();
	test_preempted();
	test_early_wake();
	test_frozen();
	test_hist();
	return logic__done();
}
