/* SPDX-License-Identifier: GPL-2.0 */
/* The account of a dispatch's time, and the block record if it was too long. */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include "tests/bpf/logic_run.h"

/* This program's comm. */
static const char *own_comm(void)
{
	static char comm[16];

	prctl(PR_GET_NAME, comm);
	return comm;
}

/* --- histogram and CPU clock */

static void test_bucket(void)
{
	int wrong = 0;

	for (int i = 0; i < 64; i++)
		for (int more = -1; more <= 1; more++) {
			struct logic_bucket b = { .ns = (1ull << i) + more, .bucket = 99 };
			unsigned log2 = b.ns ? 63 - __builtin_clzll(b.ns) : 0;

			logic__call(logic.skel->progs.logic_bucket, &b, sizeof(b));
			wrong += b.bucket != jank_hist__bucket(b.ns, log2);
		}
	for (int i = 1; i < 1000; i++) {
		struct logic_bucket b = { .ns = (1ull << 40) / i / i, .bucket = 9999 };

		logic__call(logic.skel->progs.logic_bucket, &b, sizeof(b));
		wrong += b.bucket != jank_hist__bucket(b.ns, jank_hist__log2(b.ns));
	}
	is_int(wrong, 0, "the kernel's buckets equal user space's");
}

static void test_trust(void)
{
	static const struct {
		const char *what;
		uint64_t running, runnable, cpu, want_running, want_runnable;
	} rows[] = {
		{ "the clocks agree", 9000000, 1000000, 9000000, 9000000, 1000000 },
		{ "the clocks differ by little", 9000000, 1000000, 8900001, 9000000, 1000000 },
		{ "by little, in the other direction", 9000000, 1000000, 9099999, 9000000,
		  1000000 },
		{ "by just enough", 9000000, 1000000, 8900000, 8900000, 1100000 },
		{ "time was stolen", 9000000, 1000000, 4000000, 4000000, 6000000 },
		{ "all of it", 9000000, 0, 0, 0, 9000000 },
		{ "it got the CPU earlier than recorded", 9000000, 3000000, 11000000, 11000000,
		  1000000 },
		{ "by all of its wait", 9000000, 2000000, 11000000, 11000000, 0 },
		{ "by more, which cannot be", 9000000, 1999999, 11000000, 9000000, 1999999 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct jank_rec_block rec = { .cpu_ns = rows[i].cpu };

		rec.state_ns[JANK_STATE_RUNNING] = rows[i].running;
		rec.state_ns[JANK_STATE_RUNNABLE] = rows[i].runnable;
		rec.state_ns[JANK_STATE_POLL] = 7;
		logic__call(logic.skel->progs.logic_trust, &rec, sizeof(rec));
		is_uint(rec.state_ns[JANK_STATE_RUNNING], rows[i].want_running,
			"CPU clock: %s: running", rows[i].what);
		is_uint(rec.state_ns[JANK_STATE_RUNNABLE], rows[i].want_runnable, "  runnable");
		is_uint(rec.state_ns[JANK_STATE_POLL], 7, "  the rest is unchanged");
	}
}

#define T 1000000000000000ull

/* --- blocks */

static void test_block(void)
{
	struct jank_conf conf = logic__conf();
	struct logic_step open, s;
	struct event event;

	conf.threshold_ns = 2000000;
	conf.span_min_ns = 1000000;
	logic__load(&conf);
	STEP(RESET);
	BEGIN(one, 1000);
	END(1);
	s = BEGIN(one, 1000);
	if (s.block_cnt)
		skip(1, "another program took the CPU");
	else
		is_uint(logic__received(JANK_REC_BLOCK, &event), 0, "a short dispatch is not sent");
	open = END(7);
	usleep(3000);
	s = BEGIN(one, 1000);
	is_uint(s.block_cnt, open.block_cnt + 1, "one longer than the threshold is a block");
	is_uint(logic__received(JANK_REC_BLOCK, &event), 1, "and sent");
	ok(event.block.start_ns == open.start_ns && event.block.duration_ns >= 3000000,
	   "with its times");
	ok(event.block.ready_cnt == 7 && event.block.fd == one &&
		   event.block.end == JANK_END_WAIT && event.block.loop == JANK_LOOP_EPOLL &&
		   event.hdr.tid == (uint32_t)gettid(),
	   "and its loop");
	ok(event.block.cpu_ns < event.block.duration_ns && !event.block.stack_cnt,
	   "and its CPU time");
	is_str(event.block.comm, own_comm(), "and name");
}

/* What counts at the threshold's edge, and the longest; times are made up. */
static void test_edge(void)
{
	static const uint64_t ns[] = { 5000000, 4999999, 5000001, 4999000, 5001000, 90000000, 300 };
	struct jank_conf conf = logic__conf();
	struct logic_step s;

	conf.threshold_ns = 5000000;
	logic__load(&conf);
	STEP(RESET);
	BEGIN(one, 1000);
	END(1);
	STEP(FORGET);
	s = STEP(COUNT);
	is_uint(s.counted, s.dispatch_cnt, "nothing is counted except dispatches");
	for (size_t i = 0; i < sizeof(ns) / sizeof(*ns); i++) {
		STEP(OPEN, .now_ns = T);
		s = STEP(CLOSE, .now_ns = T + ns[i]);
	}
	is_uint(s.over_cnt, 3, "longer ones are above the threshold, even by a nanosecond");
	is_uint(s.block_cnt, 3, "as many as there are blocks");
	is_uint(s.max_ns, 90000000, "the longest is known exactly");
	is_uint(s.counted, s.dispatch_cnt, "and all are in buckets");
}

/* A full 32-bit counter is sent to user space and starts again at 0. */
static void test_full(void)
{
	struct jank_conf conf = logic__conf();
	unsigned at = (unsigned)jank_hist__bucket(700000, jank_hist__log2(700000));
	struct event event;
	struct logic_step s;

	conf.threshold_ns = 5000000;
	logic__load(&conf);
	STEP(RESET);
	BEGIN(one, 1000);
	END(1);
	STEP(FORGET);
	STEP(FILL, .arg = JANK_HIST_FULL - 2, .ret = at);
	logic__received(0, &event);
	STEP(OPEN, .now_ns = T);
	s = STEP(CLOSE, .now_ns = T + 700000);
	is_uint(logic__received(JANK_REC_THREAD, &event), 0, "a counter that is nearly full stays");
	ok(s.counted == JANK_HIST_FULL - 1 && s.dispatch_cnt, "with its count");
	STEP(OPEN, .now_ns = T);
	s = STEP(CLOSE, .now_ns = T + 700000);
	is_uint(logic__received(JANK_REC_THREAD, &event), 1, "a full one is sent");
	ok(event.thread.dispatches.cnt[at] == JANK_HIST_FULL &&
		   event.thread.dispatches.max_ns == 700000 &&
		   event.thread.dispatches.edge_ns == 5000000,
	   "with its histogram");
	ok(!s.counted && !s.dispatch_cnt && !s.max_ns, "and starts again");
}

/* The kernel may skip the program at a switch: a departure without an arrival. */
static void test_late_arrival(void)
{
	struct jank_conf conf = logic__conf();
	struct logic_step open, s;
	struct event event;
	uint64_t runnable;

	conf.threshold_ns = 2000000;
	conf.span_min_ns = 1000000;
	conf.syscall_class[__NR_bpf] = JANK_CLASS_SOCKET;
	logic__load(&conf);
	STEP(RESET);
	BEGIN(one, 1000);
	open = END(1);
	STEP(LEAVE, .now_ns = open.start_ns + 10, .task_state = TASK_INTERRUPTIBLE);
	usleep(5000);
	s = BEGIN(one, 1000);
	logic__received(JANK_REC_BLOCK, &event);
	runnable = event.block.state_ns[JANK_STATE_RUNNABLE];
	ok(s.block_cnt == 1 && event.block.wakeup_missed_cnt == 1 &&
		   logic__lost(JANK_LOST_WAKEUP) == 1,
	   "an arrival that was not seen is counted");
	/*
	 * How long it really waited for a CPU depends on the machine; what it ran since is part of
	 * neither.
	 */
	ok(event.block.state_ns[JANK_STATE_SOCKET] >= 2000000 &&
		   event.block.state_ns[JANK_STATE_SOCKET] + runnable >= 4500000,
	   "the time before it counts as the sleep");
	END(1);
	open = STEP(LOOK);
	STEP(LEAVE, .now_ns = open.start_ns + 10, .task_state = TASK_INTERRUPTIBLE, .preempted = 1);
	usleep(5000);
	s = BEGIN(one, 1000);
	logic__received(JANK_REC_BLOCK, &event);
	ok(s.block_cnt == 2 && !s.due && event.block.wakeup_missed_cnt == 1,
	   "and the thread no longer waits for a CPU; its missing span is counted");
}

/* --- the account: with made-up times, so that each is known */

#define AT(name, ns, ...) STEP(name, .now_ns = T + (ns), __VA_ARGS__)

static void begin_account(uint64_t span_min_ns)
{
	struct jank_conf conf = logic__conf();
	struct event event;

	conf.span_min_ns = span_min_ns;
	conf.syscall_class[__NR_bpf] = JANK_CLASS_SOCKET;
	logic__load(&conf);
	STEP(RESET);
	BEGIN(one, 1000);
	END(1);
	AT(OPEN, 0);
	logic__received(0, &event);
}

static uint64_t sum_of(const struct logic_step *s)
{
	uint64_t sum = 0;

	for (int i = 0; i < JANK_STATE_CNT; i++)
		sum += s->state_ns[i];
	return sum;
}

static void test_account(void)
{
	struct logic_step s;

	begin_account(HOUR);
	s = AT(LEAVE, 10, .task_state = TASK_INTERRUPTIBLE);
	ok(s.state == JANK_STATE_SOCKET && s.span_syscall == __NR_bpf && !s.due,
	   "it leaves the CPU to sleep");
	is_uint(s.state_ns[JANK_STATE_RUNNING], 10, "and has run until then");
	s = AT(WAKE, 30);
	ok(s.state == JANK_STATE_RUNNABLE && s.due == 1, "it is woken");
	is_uint(s.state_ns[JANK_STATE_SOCKET], 20, "and has slept until then");
	s = AT(WAKE, 33);
	ok(s.due == 1 && sum_of(&s) == 30, "a second wake-up does not count");
	s = AT(ARRIVE, 35);
	ok(s.state == JANK_STATE_RUNNING && !s.due, "it gets the CPU");
	is_uint(s.state_ns[JANK_STATE_RUNNABLE], 5, "and has waited for it");
	s = AT(ARRIVE, 39);
	is_uint(sum_of(&s), 35, "an arrival without a departure does not count");
	s = AT(LEAVE, 40, .task_state = TASK_INTERRUPTIBLE, .preempted = 1);
	ok(s.state == JANK_STATE_RUNNABLE && s.due == 1, "preempted, it is runnable");
	s = AT(ARRIVE, 50);
	is_uint(s.state_ns[JANK_STATE_RUNNABLE], 15, "all the while");
	s = AT(LEAVE, 51, .task_state = 0);
	is_uint(s.state, JANK_STATE_RUNNABLE, "so is a thread that yields");
	s = AT(ARRIVE, 61);
	ok(!s.wakeup_missed_cnt && sum_of(&s) == 61, "the sum is the time");
	is_uint(s.state_ns[JANK_STATE_RUNNING], 16, "of which it ran this much");
}

static void test_wakeups(void)
{
	struct logic_step s;

	begin_account(HOUR);
	AT(LEAVE, 2000000, .task_state = TASK_INTERRUPTIBLE);
	s = AT(ARRIVE, 2000030);
	ok(s.wakeup_missed_cnt == 1 && logic__lost(JANK_LOST_WAKEUP) == 1,
	   "a wake-up that was not seen is counted");
	is_uint(s.state_ns[JANK_STATE_SOCKET], 30, "its time counts as the sleep");
	AT(WAKE, 4000000);
	s = AT(LEAVE, 4000010, .task_state = TASK_INTERRUPTIBLE);
	s = AT(ARRIVE, 4000050);
	ok(s.wakeup_missed_cnt == 1 && s.state_ns[JANK_STATE_RUNNABLE] == 40,
	   "a wake-up on the way to sleep is not");
	AT(WAKE, 5000000);
	AT(LEAVE, 7000000, .task_state = TASK_INTERRUPTIBLE);
	s = AT(ARRIVE, 7000001);
	is_uint(s.wakeup_missed_cnt, 2, "one long before it left belongs to another sleep");
	s = STEP(FORGET);
	ok(!sum_of(&s) && !s.wakeup_missed_cnt && !s.start_ns, "the next dispatch starts at 0");
}

static void test_span(void)
{
	struct logic_step s;
	struct event event;

	begin_account(1000);
	AT(LEAVE, 0, .task_state = TASK_INTERRUPTIBLE);
	AT(WAKE, 998);
	AT(ARRIVE, 999);
	is_uint(logic__received(JANK_REC_STACK, &event), 0, "a short time off the CPU is not sent");
	AT(LEAVE, 2000, .task_state = TASK_INTERRUPTIBLE);
	AT(WAKE, 2900);
	s = AT(ARRIVE, 3000);
	is_uint(logic__received(JANK_REC_STACK, &event), 1, "a long one is");
	is_uint(s.stack_cnt, 1, "and counted");
	ok(event.stack.rec.dispatch_ns == T && event.stack.rec.t_ns == T + 2000 &&
		   event.stack.rec.ns == 1000 && event.stack.rec.runnable_ns == 100,
	   "with its times");
	ok(event.stack.rec.state == JANK_STATE_SOCKET && event.stack.rec.syscall == __NR_bpf,
	   "and the object of the wait");
	ok(event.stack.rec.user_cnt > 0, "and a user stack (%u kernel, %u user)",
	   event.stack.rec.kernel_cnt, event.stack.rec.user_cnt);
	ok(event.hdr.flags & JANK_STACK_WAKER && event.stack.rec.waker.tid == (uint32_t)gettid(),
	   "and its waker");
	is_str(event.stack.rec.waker.comm, own_comm(), "by name");
}

/* The sum of the slices in the span that was sent last. */
static uint64_t sum_of_slices(struct event *ret)
{
	uint64_t sum = 0;

	logic__received(JANK_REC_STACK, ret);
	for (unsigned i = 0; i < ret->stack.rec.slice_cnt; i++)
		sum += ret->stack.slices[i].ns;
	return sum;
}

#define MS 1000000ull

/*
 * The thread and a hog alternate: the hog's time before the thread's last turn says nothing of the
 * wait since.
 */
static void test_waits(void)
{
	struct event event;

	for (int i = 0; i < 5; i++) {
		AT(LEAVE, 3 * MS + i * 6 * MS, .preempted = 1);
		AT(SLICE, 3 * MS + i * 6 * MS, .arg = 80000);
		AT(SLICE, 6 * MS + i * 6 * MS, .arg = 80001);
		AT(ARRIVE, 6 * MS + i * 6 * MS);
		is_uint(sum_of_slices(&event), 3 * MS, "wait %d: the hog had all of it", i);
		ok(!(event.hdr.flags & JANK_STACK_CUT_SLICES), "and nothing is missing");
	}
}

/* Three tasks that alternate every 3 ms, for a second: the log has no room for every slice. */
static void test_turns(void)
{
	uint64_t sum;
	struct event event;

	AT(LEAVE, 50000, .preempted = 1);
	AT(SLICE, 50000, .arg = 80000);
	for (int i = 1; i <= 333; i++)
		AT(SLICE, 50000 + i * 3000000ull, .arg = 80001 + i % 3);
	AT(ARRIVE, 50000 + 333 * 3000000ull);
	sum = sum_of_slices(&event);
	is_uint(event.stack.rec.slice_cnt, 3, "three alternating tasks");
	is_uint(sum, 999000000, "had all of the time between them");
	ok(!(event.hdr.flags & JANK_STACK_CUT_SLICES), "and nothing of it is missing");
	AT(SLICE, 2000000000ull, .arg = 80000);
	AT(LEAVE, 2000000000ull, .preempted = 1);
	for (int i = 1; i <= 3000; i++)
		AT(SLICE, 2000000000ull + i * 3000000ull, .arg = 80001 + i % 3);
	AT(ARRIVE, 2000000000ull + 3000 * 3000000ull);
	logic__received(JANK_REC_STACK, &event);
	ok(event.stack.rec.slice_cnt == 3 && event.hdr.flags & JANK_STACK_CUT_SLICES,
	   "after nine seconds the beginning is missing, and the record says so");
}

/* Slices of 0.1 ms, in turn, for 300 ms: too short for the log. One task has twice the other's. */
static void test_short(void)
{
	uint64_t now = 50000, ns[2] = {}, sum;
	struct event event;

	AT(SLICE, now, .arg = 80000);
	AT(LEAVE, now, .preempted = 1);
	for (int i = 0; i < 3000; i++)
		AT(SLICE, now += MS / 10, .arg = 80001 + !(i % 3));
	AT(ARRIVE, now);
	sum = sum_of_slices(&event);
	for (unsigned i = 0; i < event.stack.rec.slice_cnt; i++)
		ns[event.stack.slices[i].tid == 80002] = event.stack.slices[i].ns;
	is_uint(event.stack.rec.slice_cnt, 2, "tasks with short slices are found");
	ok(sum > 299 * MS && sum <= 300 * MS, "with all of the time");
	ok(ns[1] > 80 * MS && ns[1] < 120 * MS,
	   "and each with its part: %" PRIu64 " and %" PRIu64 " ns", ns[0], ns[1]);
	ok(!(event.hdr.flags & JANK_STACK_CUT_SLICES), "nothing is missing");
}

/* In another thread than the main one, whose slices would count as another task's. */
static void *test_slices(void *arg)
{
	struct event event;
	uint32_t cnt;

	begin_account(1000);
	AT(SLICE, 0, .arg = 80000);
	AT(LEAVE, 0, .preempted = 1);
	for (int i = 1; i <= 5; i++)
		AT(SLICE, i * MS);
	AT(ARRIVE, 5 * MS);
	is_uint(logic__received(JANK_REC_STACK, &event), 1, "a time runnable is sent");
	is_uint(event.stack.rec.state, JANK_STATE_RUNNABLE, "as runnable");
	is_uint(event.stack.rec.runnable_ns, 5 * MS, "all of it");
	cnt = event.stack.rec.slice_cnt;
	ok(cnt == 1 && event.stack.slices[0].tid == (uint32_t)getpid() &&
		   event.stack.slices[0].ns == 5 * MS,
	   "with the task that ran instead, once, and for how long");
	AT(SLICE, 10 * MS, .arg = 80000);
	AT(LEAVE, 10 * MS, .preempted = 1);
	for (int i = 1; i <= 40; i++)
		AT(SLICE, 10 * MS + i * MS, .arg = 70000 + i);
	AT(ARRIVE, 50 * MS);
	logic__received(JANK_REC_STACK, &event);
	is_uint(event.stack.rec.slice_cnt, JANK_SLICE_MAX, "at most %d tasks", JANK_SLICE_MAX);
	ok(event.hdr.flags & JANK_STACK_CUT_SLICES, "with a flag that there were more");
	ok(event.stack.slices[0].tid == 70040 && event.stack.slices[0].ns == MS, "the latest");
	begin_account(1000);
	test_turns();
	begin_account(1000);
	test_short();
	begin_account(1000);
	test_waits();
	return NULL;
}

static void run_slices(void)
{
	cpu_set_t set;
	pthread_t thread;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
	if (pthread_create(&thread, NULL, test_slices, NULL))
		abort();
	pthread_join(thread, NULL);
}

int main(void)
{
	LOGIC_START("logic_wait", "logic_sched", "logic_bucket", "logic_count", "logic_trust");
	test_bucket();
	test_trust();
	test_block();
	test_edge();
	test_full();
	test_late_arrival();
	test_account();
	test_wakeups();
	test_span();
	run_slices();
	return logic__done();
}
