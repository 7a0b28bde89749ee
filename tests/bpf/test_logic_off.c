/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Unwanted loops: code whose waits make no loop, and a thread that already had one when that became
 * known.
 */
#include "tests/bpf/logic_run.h"

#define MS 1000000ull

static void say(uint64_t start, uint64_t end)
{
	const struct jank_parks parks = { .off_start = start, .off_end = end };
	static __u32 changes;
	__u32 zero = 0, tgid = getpid();

	changes++;
	bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_parkers), &tgid, &parks, BPF_ANY);
	bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_park_gen), &zero, &changes, BPF_ANY);
}

static void test_code(void)
{
	struct event event;

	logic__begin();
	say(0, ~0ull);
	ok(!BEGIN(one, 1000).known && !END(1).known, "a wait in such code makes no state");
	is_uint(logic__received(JANK_REC_LOOP, &event), 0, "and no record");
	say(0, 4096);
	ok(BEGIN(one, 1000).known, "a wait in other code of the process does");
	logic__begin();
	ok(BEGIN(one, 1000).known, "and so does code of which nothing is known");
}

static void leave_alone(uint32_t holder)
{
	__u32 slot = getpid() % JANK_LEFT_MAX;

	bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_left), &slot, &holder, BPF_ANY);
}

static void test_left(void)
{
	logic__begin();
	leave_alone(getpid());
	ok(!BEGIN(one, 1000).known && !END(1).known, "a process that is left alone has no states");
	leave_alone(getpid() + JANK_LEFT_MAX);
	ok(BEGIN(one, 1000).known, "unless another one took its slot");
}

static struct logic_step polls(unsigned cnt)
{
	struct logic_step s = { 0 };

	while (cnt--)
		s = STEP(POLL, .sp = 1000, .arg = 1000, .ret = 1);
	return s;
}

static void test_polling(void)
{
	struct jank_conf conf = logic__conf();
	struct event event;

	conf.infer_begin = 1;
	conf.syscall_class[__NR_bpf] = JANK_CLASS_POLL_FDS;
	logic__begin_with(&conf);
	is_uint(polls(10).loop, JANK_LOOP_POLL, "a polling loop");
	logic__received(JANK_REC_LOOP, &event);
	STEP(MARK);
	ok(!polls(1).known, "that is marked loses its state at its next wait");
	leave_alone(getpid());
	ok(!polls(20).known, "left alone, it gets none");
	leave_alone(0);
	ok(polls(20).known && logic__received(JANK_REC_LOOP, &event) == 1,
	   "and it is found again when it is watched again");
}

static void begin_dispatch(void)
{
	struct jank_conf conf = logic__conf();

	conf.threshold_ns = 10 * MS;
	logic__begin_with(&conf);
	BEGIN(one, 1000);
	END(1);
	STEP(OPEN, .now_ns = MS);
	STEP(MARK);
}

static void test_marked(void)
{
	struct logic_step s;
	struct event event;

	begin_dispatch();
	logic__received(JANK_REC_LOOP, &event);
	s = STEP(LEAVE, .task_state = TASK_INTERRUPTIBLE, .now_ns = 50 * MS);
	ok(s.known && !s.start_ns && !s.phase, "a marked thread that falls asleep has no dispatch");
	s = STEP(ARRIVE, .now_ns = 60 * MS);
	ok(!s.start_ns && !s.due, "and counts nowhere after it");
	ok(!END(1).known, "its next wait removes its state");
	is_uint(logic__received(JANK_REC_BLOCK, &event), 0, "nothing was a block");

	begin_dispatch();
	s = STEP(LEAVE, .preempted = 1, .now_ns = 50 * MS);
	ok(!s.due, "one that is preempted does not count as waiting for a CPU");

	begin_dispatch();
	s = BEGIN(one, 1000);
	ok(s.loop_fd == -1 && !s.dispatch_cnt, "its wait makes no new loop");
}

int main(void)
{
	LOGIC_START("logic_wait", "logic_sched", "logic_poll");
	test_code();
	test_left();
	test_polling();
	test_marked();
	return logic__done();
}
