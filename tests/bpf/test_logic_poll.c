/* SPDX-License-Identifier: GPL-2.0 */
/* Loops that poll: recognised by evidence. */
#include "tests/bpf/logic_run.h"
#include <poll.h>

#define POLL(stack)	    STEP(POLL, .sp = (stack), .arg = (stack), .ret = 1)
#define POLL_ON(fds, stack) STEP(POLL, .sp = (stack), .arg = (fds), .ret = 1)

static struct logic_step poll_turns(unsigned cnt, uint64_t stack)
{
	struct logic_step s = { 0 };

	while (cnt--)
		s = POLL(stack);
	return s;
}

static struct jank_conf poll_conf(uint8_t class)
{
	struct jank_conf conf = logic__conf();

	conf.infer_begin = 1;
	conf.syscall_class[__NR_bpf] = class;
	return conf;
}

static void test_poll(void)
{
	struct jank_conf conf = poll_conf(JANK_CLASS_POLL_FDS);
	struct logic_step s;
	struct event event;

	logic__begin_with(&conf);
	s = poll_turns(7, 1000);
	ok(s.trial == 1 && s.phase == 2 && s.dispatch_cnt == 6 &&
		   !logic__received(JANK_REC_LOOP, &event),
	   "seven waits from one place: dispatches on probation, and no record");
	s = POLL(1000);
	ok(!s.trial && s.phase == 2 && s.start_ns && s.loop == JANK_LOOP_POLL &&
		   s.loop_sp == 1000 && s.dispatch_cnt == 7,
	   "the eighth makes a loop of these dispatches");
	ok(logic__received(JANK_REC_WAIT, &event) == 1 && event.wait.turn_cnt == 8 &&
		   event.wait.loop == JANK_LOOP_POLL && event.hdr.flags == 1,
	   "which is sent, with its turns and the end of the probation");
	s = POLL(1000);
	ok(s.dispatch_cnt == 8 && s.phase == 2, "the next one ends it and opens another");
	s = POLL(900);
	ok(s.dispatch_cnt == 8 && s.loop_sp == 1000, "a wait from deeper is the handler's");
	s = POLL(1000);
	ok(s.dispatch_cnt == 9, "after which the dispatch goes on to the loop's next wait");
	s = poll_turns(32, 900);
	ok(s.loop_sp == 900 && s.dispatch_cnt == 9 && logic__lost(JANK_LOST_LOOP_CHANGED) == 1,
	   "32 in a row from deeper are a loop of their own");
	s = POLL(1000);
	ok(s.dispatch_cnt == 10 && s.loop_sp == 900,
	   "a wait outside of that loop ends the dispatch, and may come once");
	s = poll_turns(31, 1000);
	ok(s.dispatch_cnt == 41 && s.loop_sp == 1000,
	   "the outer loop goes on when the inner one ends");
	s = POLL(900);
	ok(s.dispatch_cnt == 41, "and the inner one is its handler's again");
}

static void test_poll_places(void)
{
	struct jank_conf conf = poll_conf(JANK_CLASS_POLL_FDS);
	struct logic_step s;
	struct event event;

	logic__begin_with(&conf);
	for (int i = 0; i < 8; i++) {
		POLL(900);
		s = POLL(1000);
	}
	ok(!s.trial && s.phase == 2 && s.loop_sp == 1000 && s.dispatch_cnt == 7,
	   "of two alternating places the outer one is the loop, from its first turn on");
	ok(logic__received(JANK_REC_LOOP, &event) == 1 && event.hdr.flags == 2,
	   "the record about the inner one is of another probation");
	logic__begin_with(&conf);
	POLL(1000);
	s = poll_turns(9, 900);
	ok(s.loop_sp == 900 && !s.trial, "a loop within the place of an earlier single wait");
	logic__begin_with(&conf);
	for (int i = 0; i < 40; i++)
		s = POLL(1000 + 8 * i);
	ok(s.trial && !logic__received(JANK_REC_LOOP, &event),
	   "forty waits from forty places are no loop");
	logic__begin_with(&conf);
	poll_turns(3, 1000);
	s = BEGIN(one, 900);
	ok(s.loop == JANK_LOOP_EPOLL && s.loop_fd == one && s.phase == 1 && !s.trial &&
		   !s.dispatch_cnt && !logic__lost(JANK_LOST_LOOP_CHANGED),
	   "a candidate that waits in epoll is epoll's loop");
	logic__begin_with(&conf);
	poll_turns(8, 1000);
	s = BEGIN(one, 900);
	ok(s.loop == JANK_LOOP_POLL && s.start_ns,
	   "epoll from within a polling loop is its handler's");
	s = BEGIN(one, 1100);
	ok(s.loop == JANK_LOOP_EPOLL && s.loop_fd == one, "from outside of it, epoll is the loop");
}

/* CPython waits with the same array, at a varying depth. */
static void test_poll_slop(void)
{
	struct jank_conf conf = poll_conf(JANK_CLASS_POLL_FDS);
	struct logic_step s;

	logic__begin_with(&conf);
	for (int i = 0; i < 8; i++)
		s = POLL_ON(5, 1000 - i % 3 * 40);
	ok(!s.trial && s.phase == 2 && s.dispatch_cnt == 7,
	   "one array at slightly varying depths: one place");
	s = POLL_ON(5, 904);
	ok(s.dispatch_cnt == 8, "which is the loop's");
	s = POLL_ON(6, 800);
	ok(s.dispatch_cnt == 8, "another array from deeper is the handler's");
	s = POLL_ON(5, 500);
	ok(s.dispatch_cnt == 8, "so is the same array from far deeper");
}

/* A dialog's loop waits deeper in the stack, for the events of the loop around it. */
static void test_poll_dialog(void)
{
	const struct pollfd old[3] = { { .fd = 7 }, { .fd = 8 } }, moved[4] = { { .fd = 7 } },
			    others[3] = { { .fd = 8 } };
	struct jank_conf conf = poll_conf(JANK_CLASS_POLL_FDS);
	struct logic_step s;

	logic__begin_with(&conf);
	for (int i = 0; i < 8; i++)
		s = STEP(POLL, .sp = 1000, .arg = (uint64_t)old, .fd = 3, .ret = 1);
	ok(!s.trial && s.dispatch_cnt == 7, "a loop that waits for three descriptors");
	s = STEP(POLL, .sp = 500, .arg = (uint64_t)old, .fd = 3, .ret = 1);
	is_uint(s.dispatch_cnt, 8, "a wait on its array is its own at any depth");
	s = STEP(POLL, .sp = 500, .arg = (uint64_t)moved, .fd = 4, .ret = 1);
	is_uint(s.dispatch_cnt, 9, "also where the array has grown, and moved");
	s = STEP(POLL, .sp = 500, .arg = (uint64_t)old, .fd = 3, .ret = 1);
	is_uint(s.dispatch_cnt, 10, "or moved without more descriptors");
	s = STEP(POLL, .sp = 500, .arg = (uint64_t)others, .fd = 3, .ret = 1);
	is_uint(s.dispatch_cnt, 10, "an array that begins with another descriptor is a handler's");
	s = STEP(POLL, .sp = 500, .arg = (uint64_t)moved, .fd = 1, .ret = 1);
	is_uint(s.dispatch_cnt, 10, "so is one with a single descriptor: a client's");
}

/* A Qt program polls for replies of the X server before its loop begins. */
static void test_poll_client(void)
{
	struct jank_conf conf = poll_conf(JANK_CLASS_POLL_FDS);
	const struct pollfd loop[3] = { { .fd = 7 } };
	__u32 tgid = getpid(), yes = 1;
	struct logic_step s = { 0 };

	logic__begin_with(&conf);
	bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_pollers), &tgid, &yes, BPF_ANY);
	for (int i = 0; i < 3; i++)
		s = STEP(POLL, .sp = 900, .arg = 910, .fd = 1, .ret = 1);
	ok(!s.trial && s.loop_sp == 900, "a client's wait, until the loop's own one");
	s = STEP(POLL, .sp = 1000, .arg = (uint64_t)loop, .fd = 3, .ret = 1);
	ok(s.loop_sp == 1000 && s.dispatch_cnt == 3 && !logic__lost(JANK_LOST_LOOP_CHANGED),
	   "the first wait for several descriptors from outside is the loop");
	s = STEP(POLL, .sp = 900, .arg = 910, .fd = 1, .ret = 1);
	is_uint(s.dispatch_cnt, 3, "and the client's wait its handler's");
	s = STEP(POLL, .sp = 500, .arg = (uint64_t)loop, .fd = 3, .ret = 1);
	is_uint(s.dispatch_cnt, 4, "a dialog's wait is the loop's");
}

static void test_poll_evidence(void)
{
	struct jank_conf conf = poll_conf(JANK_CLASS_SELECT);
	__u32 tgid = getpid(), yes = 1;
	struct logic_step s;

	logic__begin_with(&conf);
	s = poll_turns(31, 1000);
	ok(s.trial == 1, "select: 31 turns are no loop, because its descriptors are not read");
	s = POLL(1000);
	ok(!s.trial && s.phase == 2, "32 are");
	conf = poll_conf(JANK_CLASS_IO_URING);
	logic__begin_with(&conf);
	ok(poll_turns(31, 1000).trial && !POLL(1000).trial, "io_uring: the same");
	logic__begin_with(&conf);
	bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_pollers), &tgid, &yes, BPF_ANY);
	ok(poll_turns(2, 1000).trial && !POLL(1000).trial,
	   "three, if a library is known to wait so");
	conf = poll_conf(JANK_CLASS_POLL_FDS);
	conf.loop_mask = 1 << JANK_LOOP_EPOLL;
	logic__begin_with(&conf);
	ok(!poll_turns(8, 1000).known, "-l epoll: polls are ignored");
}

#define SELECT(set, stack, array)                                                                  \
	STEP(POLL, .sp = (stack), .arg = (array), .looper = (set), .ret = 1)

/* Emacs: the function that waits is called at two depths, with the sets on its stack. */
static void test_select_set(void)
{
	struct jank_conf conf = poll_conf(JANK_CLASS_SELECT);
	struct logic_step s = { 0 };

	logic__begin_with(&conf);
	for (int i = 0; i < 32; i++)
		s = SELECT(0x90, 1000, 1100);
	ok(!s.trial && s.dispatch_cnt == 31, "a loop that selects");
	s = SELECT(0x90, 600, 700);
	is_uint(s.dispatch_cnt, 31, "the same descriptors from far deeper: a handler's wait");
	s = SELECT(0xc0, 936, 1036);
	is_uint(s.dispatch_cnt, 31, "so is one for other descriptors");
	s = SELECT(0x90, 936, 1044);
	is_uint(s.dispatch_cnt, 31, "so is one by another function");
	s = SELECT(0x110, 936, 1036);
	is_uint(s.dispatch_cnt, 32,
		"by the same function, from the same first one of several: the loop's");
	s = SELECT(0, 936, 1036);
	is_uint(s.dispatch_cnt, 33, "from then on also without a sleep");
	logic__begin_with(&conf);
	for (int i = 0; i < 32; i++)
		s = SELECT(0x10, 1000, 1100);
	s = SELECT(0x10, 936, 1036);
	is_uint(s.dispatch_cnt, 31, "a single descriptor does not decide: a client's");
}

/* A program waited often while it started, and never again. */
static void test_left_place(void)
{
	struct jank_conf conf = poll_conf(JANK_CLASS_SELECT);
	struct logic_step s;

	logic__begin_with(&conf);
	poll_turns(12, 1000);
	s = poll_turns(15, 500);
	ok(s.trial == 1 && s.loop_sp == 1000, "12 turns of an early place, 15 of another");
	s = POLL(500);
	ok(s.trial == 2 && s.loop_sp == 500, "16 in a row: the early place is left");
	ok(poll_turns(14, 500).trial, "its turns count");
	ok(!POLL(500).trial, "to the 32 that a select needs");
}

int main(void)
{
	LOGIC_START("logic_wait", "logic_sched", "logic_poll");
	test_poll();
	test_poll_places();
	test_poll_slop();
	test_poll_dialog();
	test_poll_client();
	test_poll_evidence();
	test_select_set();
	test_left_place();
	return logic__done();
}
