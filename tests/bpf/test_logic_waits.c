/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waits make dispatches: epoll's, and android::Looper's around them; and which loop a wait belongs
 * to.
 */
#include "tests/bpf/logic_run.h"

static void test_first(void)
{
	struct logic_step s;
	struct event event;

	logic__begin();
	ok(!STEP(LOOK).known, "a thread that never waited has no state");
	s = BEGIN(one, 1000);
	ok(s.known && s.phase == 1 && !s.start_ns, "its first wait: it is waiting");
	ok(s.loop_fd == one && s.loop_sp == 1000 && s.loop == JANK_LOOP_EPOLL, "in its loop");
	is_uint(logic__received(JANK_REC_LOOP, &event), 1, "a record is sent");
	ok(event.loop.fd == one && event.loop.loop == JANK_LOOP_EPOLL && !event.loop.key &&
		   event.hdr.tid == (uint32_t)gettid() && event.hdr.tgid == (uint32_t)getpid(),
	   "with descriptor, kind and thread");
	s = END(3);
	ok(s.phase == 2 && s.start_ns && s.ready_cnt == 3 && !s.dispatch_cnt,
	   "the wait's end opens a dispatch");
	ok(END(1).start_ns == s.start_ns, "a second end opens no other");
	s = BEGIN(one, 1000);
	ok(s.phase == 1 && !s.start_ns && s.dispatch_cnt == 1 && !s.block_cnt,
	   "the next wait closes it");
	is_uint(logic__received(JANK_REC_LOOP, &event), 0, "a loop is sent once");
	is_int(END(-4).ready_cnt, -4, "a failed wait ends, too");
}

static void test_nested(void)
{
	struct logic_step open, s;

	logic__begin();
	BEGIN(one, 1000);
	open = END(1);
	s = BEGIN(two, 900);
	ok(s.phase == 2 && s.start_ns == open.start_ns && s.nested_cnt == 1,
	   "a handler's wait on another descriptor, deeper in the stack, belongs to its dispatch");
	ok(END(0).start_ns == open.start_ns, "so does its end");
	s = BEGIN(one, 800);
	ok(s.phase == 1 && s.dispatch_cnt == 1 && !s.nested_cnt && s.loop_sp == 1000,
	   "a wait on the loop's own descriptor ends the dispatch, however deep");
	END(1);
	s = BEGIN(one, 1200);
	ok(s.dispatch_cnt == 2 && s.loop_sp == 1200, "a wait from higher raises the loop's depth");
	END(1);
	ok(BEGIN(two, 1100).phase == 2, "below it a wait is nested again");
	is_uint(logic__lost(JANK_LOST_LOOP_CHANGED), 0, "no dispatch was given up");
}

static void test_within_handler(void)
{
	struct jank_conf conf = logic__conf();
	struct logic_step open, s = { 0 };
	struct event event;
	uint64_t sum = 0;

	/* The programs take their times themselves: three turns are over it, one is below. */
	conf.threshold_ns = 1000000000;
	logic__begin_with(&conf);
	for (int i = 0; i < 5; i++) {
		BEGIN(one, 1000);
		open = END(1);
	}
	for (int i = 0; i < 3; i++) {
		usleep(400000);
		BEGIN(one, 500);
		s = END(1);
	}
	is_uint(s.dispatch_cnt, 7, "each turn within a handler is a dispatch");
	ok(logic__received(JANK_REC_STACK, &event) == 1 && event.hdr.flags == JANK_STACK_NESTED &&
		   event.stack.rec.dispatch_ns == open.start_ns,
	   "one stack of a nested wait is sent for the handler, once it is slow");
	BEGIN(one, 1000 - 100);
	is_uint(logic__received(JANK_REC_BLOCK, &event), 1,
		"the loop's own depth, or nearly, ends the handler: a record");
	for (int i = 0; i < JANK_STATE_CNT; i++)
		sum += event.block.state_ns[i];
	ok(event.block.end == JANK_END_NESTED && event.block.start_ns == open.start_ns &&
		   event.block.duration_ns >= 1200000000 && sum == event.block.duration_ns,
	   "from the dispatch's begin on, with an account that sums up");
	END(1);
	BEGIN(one, 1000);
	END(1);
	BEGIN(one, 500);
	END(1);
	BEGIN(one, 1000);
	ok(!logic__received(JANK_REC_STACK, &event), "a fast handler sends nothing");
}

static void test_missed_begin(void)
{
	struct logic_step open, s;

	logic__begin();
	BEGIN(one, 1000);
	open = END_OF(one, 1);
	ok(END_OF(two, 1).start_ns == open.start_ns, "the end of a handler's wait");
	is_uint(logic__lost(JANK_LOST_LOOP_CHANGED), 0, "gives no dispatch up");
	s = END_OF(one, 2);
	ok(s.phase == 2 && s.start_ns > open.start_ns && s.ready_cnt == 2 && !s.dispatch_cnt,
	   "the loop's own wait ends, and its begin was not seen: only the next dispatch counts");
	is_uint(logic__lost(JANK_LOST_LOOP_CHANGED), 1, "the one before is given up and counted");
	s = BEGIN(one, 1000);
	ok(s.phase == 1 && s.dispatch_cnt == 1, "and the next one is whole");
}

static void test_other_loop(void)
{
	struct logic_step s;

	logic__begin();
	BEGIN(one, 1000);
	END(1);
	s = BEGIN(two, 1000);
	ok(s.phase == 1 && s.dispatch_cnt == 1 && s.loop_fd == two,
	   "a wait on another descriptor at the same depth: the thread has gone to another loop");
	END(1);
	s = BEGIN(one, 1400);
	ok(s.dispatch_cnt == 2 && s.loop_fd == one && s.loop_sp == 1400, "or from higher");
	is_uint(logic__lost(JANK_LOST_LOOP_CHANGED), 0, "its dispatches are whole");
}

static void test_many_nested(void)
{
	struct logic_step s = { 0 };

	logic__begin();
	BEGIN(one, 1000);
	END(1);
	for (int i = 0; i < 200; i++) {
		BEGIN(two, 900);
		s = END(0);
	}
	s = BEGIN(two, 890);
	is_uint(s.nested_cnt, 1, "waits from another place are counted separately");
	for (int i = 1; i < 255; i++)
		s = BEGIN(two, 890);
	ok(s.phase == 2 && s.start_ns && s.nested_cnt == 255 && s.loop_fd == one,
	   "255 waits in a row are a handler's");
	s = BEGIN(two, 890);
	ok(s.phase == 1 && !s.start_ns && s.loop_fd == two && s.loop_sp == 890,
	   "the 256th makes them a loop");
	ok(!s.dispatch_cnt && logic__lost(JANK_LOST_LOOP_CHANGED) == 1,
	   "the open dispatch is given up and counted");
	END(1);
	s = BEGIN(one, 1000);
	ok(s.dispatch_cnt == 1 && s.loop_fd == one, "and the first loop may come back");
}

static void test_closed_loop(void)
{
	int gone = epoll_create1(EPOLL_CLOEXEC), number = gone;
	struct logic_step s;

	logic__begin();
	BEGIN(gone, 1000);
	END(1);
	close(gone);
	s = BEGIN(two, 900);
	ok(s.phase == 1 && s.loop_fd == two && logic__lost(JANK_LOST_LOOP_CHANGED) == 1,
	   "a loop with a closed descriptor has ended");
	logic__begin();
	gone = epoll_create1(EPOLL_CLOEXEC);
	BEGIN(gone, 1000);
	END(1);
	dup2(two, gone);
	s = BEGIN(two, 900);
	ok(gone == number && s.loop_fd == two && logic__lost(JANK_LOST_LOOP_CHANGED) == 1,
	   "so has one whose descriptor is another file");
	close(gone);
	logic__begin();
	gone = epoll_create1(EPOLL_CLOEXEC);
	BEGIN(gone, 1000);
	END(1);
	close(gone);
	gone = epoll_create1(EPOLL_CLOEXEC);
	BEGIN(gone, 1000);
	END(1);
	s = BEGIN(two, 900);
	ok(gone == number && s.loop_fd == gone && s.start_ns &&
		   !logic__lost(JANK_LOST_LOOP_CHANGED),
	   "one whose descriptor is a new epoll lives");
	close(gone);
}

static void test_late(void)
{
	struct logic_step s;
	struct event event;

	logic__begin();
	s = END(2);
	ok(s.known && s.phase == 2 && s.start_ns && s.loop_fd == -1,
	   "the end of a wait that began before the trace opens a dispatch");
	s = BEGIN(one, 1000);
	ok(s.phase == 1 && s.dispatch_cnt == 1 && s.loop_fd == one, "which the next wait closes");
	is_uint(logic__received(JANK_REC_LOOP, &event), 1, "and sends its loop");
}

static void test_filter(void)
{
	struct jank_conf conf = logic__conf();
	uint32_t tgid = getpid(), yes = 1;

	conf.tgid = getpid() + 1;
	logic__load(&conf);
	ok(!BEGIN(one, 1000).known && !END(1).known && !STEP(LOOPER, .looper = 1).known,
	   "another process is not traced");
	conf.tgid = 0;
	logic__load(&conf);
	ok(!BEGIN(one, 1000).known, "nor is one outside the given list");
	bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_tgids), &tgid, &yes, BPF_ANY);
	ok(BEGIN(one, 1000).known, "one in the list is");
}

/* --- android::Looper */

#define LOOPER(address, stack) STEP(LOOPER, .looper = (address), .sp = (stack))

static void test_looper(void)
{
	struct logic_step s;
	struct event event;

	logic__begin();
	s = LOOPER(0xa0, 2000);
	ok(s.known && s.looper_entry && s.start_ns && s.key == 0xa0 &&
		   s.loop == JANK_LOOP_ANDROID_LOOPER,
	   "pollOnce may return without a wait: a dispatch opens");
	s = BEGIN(one, 1900);
	ok(!s.looper_entry && !s.start_ns && s.phase == 1 && !s.dispatch_cnt,
	   "if its wait comes, that is undone");
	is_uint(logic__received(JANK_REC_LOOP, &event), 1, "and the loop is sent");
	ok(event.loop.loop == JANK_LOOP_ANDROID_LOOPER && event.loop.key == 0xa0 &&
		   event.loop.fd == one,
	   "by kind, address and descriptor");
	ok(END(1).start_ns, "the wait's end opens the dispatch");
	s = LOOPER(0xa0, 2000);
	ok(s.dispatch_cnt == 1 && s.start_ns && s.looper_entry && !s.ready_cnt,
	   "the next pollOnce closes it");
	s = LOOPER(0xa0, 2000);
	is_uint(s.dispatch_cnt, 2, "with a backlog it is called again without a wait");
	s = BEGIN(one, 1900);
	ok(s.dispatch_cnt == 2 && s.phase == 1, "its wait is no dispatch of its own");
	is_uint(logic__lost(JANK_LOST_LOOP_CHANGED), 0, "nothing was given up");
}

static void test_looper_nested(void)
{
	struct logic_step open, s;

	logic__begin();
	LOOPER(0xa0, 2000);
	BEGIN(one, 1900);
	open = END(1);
	s = LOOPER(0xb0, 1500);
	ok(s.key == 0xa0 && s.start_ns == open.start_ns,
	   "a handler's own Looper belongs to its dispatch");
	s = BEGIN(two, 1400);
	ok(s.phase == 2 && s.start_ns == open.start_ns, "and so is its wait");
	ok(END(1).start_ns == open.start_ns, "and its end");
	s = LOOPER(0xb0, 2000);
	ok(s.key == 0xb0 && s.dispatch_cnt == 1 && s.loop_fd == -1,
	   "at the same depth it is another loop");
	s = BEGIN(two, 1900);
	ok(s.loop_fd == two && s.phase == 1 && s.dispatch_cnt == 1, "with its own descriptor");
}

int main(void)
{
	LOGIC_START("logic_wait", "logic_sched");
	test_first();
	test_nested();
	test_within_handler();
	test_missed_begin();
	test_other_loop();
	test_many_nested();
	test_closed_loop();
	test_late();
	test_filter();
	test_looper();
	test_looper_nested();
	return logic__done();
}
