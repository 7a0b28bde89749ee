/* SPDX-License-Identifier: GPL-2.0 */
/* Which dispatches are blocks, and what a block says of its dispatch. */
#include "model/loop.h"

#include "tests/tap.h"
#include "tests/unit/model_fixture.h"

#define THRESHOLD (100 * MS)

static const struct host_info host = { .name = (char *)"box",
				       .kernel = (char *)"6.18",
				       .arch = (char *)"x86_64",
				       .boot_id = (char *)"boot",
				       .cpus = 4,
				       .mem_free_kb = 7 };
static const Jankbpf__Identity process = { .base = PROTOBUF_C_MESSAGE_INIT(
						   &jankbpf__identity__descriptor),
					   .has_pid = true,
					   .has_uid = true,
					   .has_names_uid = true,
					   .has_ns_pid = true,
					   .pid = 10,
					   .uid = 1000,
					   .name = (char *)"program",
					   .exe = (char *)"/usr/bin/program",
					   .cgroup = (char *)"/user",
					   .container = (char *)"c0ffee",
					   .pod = (char *)"p",
					   .names_uid = 1001,
					   .unit = (char *)"u.service",
					   .ns_pid = 7 };

static struct judge judge(void)
{
	return (struct judge){
		.threshold_ns = THRESHOLD, .fps = 60, .host = &host, .real_offset_ns = 5
	};
}

static struct block *judged(struct judge *j, struct dispatch *dispatch,
			    const Jankbpf__Identity *identity)
{
	struct block *block = NULL;
	int res = judge__dispatch(j, dispatch, identity, &block);

	if (res != !!block)
		ok(false, "the judge's answer %d is consistent with the block", res);
	return block;
}

/* Is a dispatch with this record a block? */
static bool is_block(struct judge *j, struct jank_rec_block rec)
{
	struct dispatch dispatch = { .rec = rec };
	struct block *block = judged(j, &dispatch, &process);
	bool ret = block;

	block__free(block);
	return ret;
}

static void test_threshold(void)
{
	struct judge j = judge();

	ok(!is_block(&j, fixture__block(11, 1, THRESHOLD - 1)), "below the threshold: no block");
	ok(!is_block(&j, fixture__block(11, 1, THRESHOLD)), "at the threshold: no block");
	ok(is_block(&j, fixture__block(11, 1, THRESHOLD + 1)), "a nanosecond over it: a block");
	ok(is_block(&j, fixture__block(11, 1, UINT64_MAX - 1)), "however long it was");
	ok(!is_block(&j, fixture__hang(11, 1, THRESHOLD)), "a hang below it is none, either");
}

static struct jank_rec_block late(uint64_t delay_ns, uint64_t ns)
{
	struct jank_rec_block rec = fixture__block(11, 1000 * MS, ns);

	rec.start_delay_ns = delay_ns;
	return rec;
}

static void test_late(void)
{
	struct dispatch dispatch = { .rec = late(380 * MS, 1 * MS) };
	struct judge j = judge();
	struct block *block;

	ok(is_block(&j, late(THRESHOLD, 1)), "a start that is late by the threshold: a block");
	ok(!is_block(&j, late(THRESHOLD - MS, MS)), "at the threshold in all: none");
	ok(is_block(&j, late(THRESHOLD - MS, MS + 1)), "a nanosecond more: a block");
	ok(!is_block(&j, late(JANK_START_DELAY_UNKNOWN, 1)), "an unknown start is not late");
	j.hang_ns = 300 * MS;
	block = judged(&j, &dispatch, &process);
	is_uint(block__delay(block), 381 * MS, "the delay is the sum");
	is_uint(block__due(block), 620 * MS, "from the wake-up on");
	is_uint(block->dropped_frames, 22, "its length counts for dropped frames");
	is_str(block__severity(block), "hang", "and for the severity");
	ok(block->live->cpu->busy && block->start_known, "the CPUs were busy");
	block__free(block);
}

static struct jank_rec_block stopped(uint64_t ns, uint64_t stopped_ns)
{
	struct jank_rec_block rec = fixture__block(11, 1, ns);

	fixture__spend(&rec, JANK_STATE_STOPPED, stopped_ns);
	return rec;
}

static void test_stopped(void)
{
	struct judge j = judge();

	ok(is_block(&j, stopped(2 * THRESHOLD, THRESHOLD)), "half of it stopped: a block");
	ok(!is_block(&j, stopped(2 * THRESHOLD, THRESHOLD + 1)),
	   "more than half: a debugger stopped it");
	ok(is_block(&j, stopped(2 * THRESHOLD + 1, THRESHOLD)), "an odd length, less than half");
	ok(!is_block(&j, stopped(2 * THRESHOLD + 1, THRESHOLD + 1)),
	   "an odd length, more than half");
	j.debugging = true;
	ok(is_block(&j, stopped(2 * THRESHOLD, 2 * THRESHOLD)), "--debugging reports those, too");
	ok(!is_block(&j, stopped(THRESHOLD, THRESHOLD)), "if they are over the threshold");
}

/* A dispatch of twice the threshold, which was stopped once, and frozen before for that long. */
static bool is_frozen_block(uint64_t stopped_ns, uint64_t frozen_ns)
{
	struct sample samples[] = {
		{ .state = JANK_STATE_STOPPED, .ns = frozen_ns, .stack.flags = JANK_STACK_FROZEN },
		{ .state = JANK_STATE_STOPPED, .ns = stopped_ns },
		{ .state = JANK_STATE_FUTEX, .ns = MS, .stack.flags = JANK_STACK_FROZEN },
	};
	struct dispatch dispatch = { .rec = stopped(2 * THRESHOLD, stopped_ns + frozen_ns),
				     .evidence = { .samples = samples, .sample_cnt = 3 } };
	struct judge j = judge();
	struct block *block = NULL;
	bool ret = judge__dispatch(&j, &dispatch, &process, &block) > 0;

	if (block) {
		block->samples = NULL; /* ours */
		block->sample_cnt = 0;
	}
	block__free(block);
	return ret;
}

static void test_frozen(void)
{
	ok(is_frozen_block(0, 2 * THRESHOLD), "frozen with its cgroup: a block");
	ok(!is_frozen_block(2 * THRESHOLD - MS, MS), "mostly stopped by a debugger: none");
	ok(is_frozen_block(MS, 2 * THRESHOLD - MS), "mostly frozen: one");
}

static void is_dropped(uint64_t ns, unsigned fps, unsigned want)
{
	struct dispatch dispatch = { .rec = fixture__block(11, 1, ns) };
	struct judge j = judge();
	struct block *block;

	j.fps = fps;
	block = judged(&j, &dispatch, &process);
	is_uint(block->dropped_frames, want, "%llu ns at %u frames/s swallow %u",
		(unsigned long long)ns, fps, want);
	block__free(block);
}

static void test_dropped_frames(void)
{
	is_dropped(160 * MS, 60, 9);
	is_dropped(1000 * MS, 60, 60);
	is_dropped(166 * MS, 120, 19);
	is_dropped(200 * MS, 1, 0);
	is_dropped(1000 * MS, 1, 1);
	is_dropped(160 * MS, 0, 9);
	is_dropped(1000 * MS, 1000, 1000);
	/* From a forged journal. */
	is_dropped(1000 * MS, 1000000000, 1000000000);
	is_dropped(1000 * MS, 4000000000, 1000000000);
	is_dropped(UINT64_MAX - 1, 4000000000, UINT32_MAX);
}

static bool is_busy(uint64_t runnable_ns)
{
	struct dispatch dispatch = { .rec = fixture__block(11, 1, 500 * MS + 4) };
	struct judge j = judge();
	struct block *block;
	bool ret;

	fixture__spend(&dispatch.rec, JANK_STATE_RUNNABLE, runnable_ns);
	block = judged(&j, &dispatch, &process);
	ret = block->live->cpu->busy;
	block__free(block);
	return ret;
}

static void test_busy(void)
{
	ok(!is_busy(0), "a thread that never waited for a CPU: not busy");
	ok(!is_busy(100 * MS), "up to a fifth: not busy");
	ok(is_busy(100 * MS + 1), "over a fifth: busy");
}

static void test_fields(void)
{
	struct dispatch dispatch = { .rec = fixture__block(11, 7000, 200 * MS) };
	struct judge j = judge();
	struct block *block;

	dispatch.rec.cpu_ns = 9;
	dispatch.rec.ready_cnt = -4;
	dispatch.rec.end = JANK_END_EXIT;
	fixture__spend(&dispatch.rec, JANK_STATE_DISK, MS);
	block = judged(&j, &dispatch, &process);
	is_str(block->id, "boot-11-7000", "the id: boot, thread, start");
	ok(block->type == BLOCK_JANK && !block->hang_reported, "the type");
	ok(block->start_ns == 7000 && block->duration_ns == 200 * MS && block->real_offset_ns == 5,
	   "the times");
	ok(block->threshold_ns == THRESHOLD && block->cpu_ns == 9, "threshold and CPU time");
	ok(block->state_ns[JANK_STATE_DISK] == MS &&
		   block->state_ns[JANK_STATE_RUNNING] == 199 * MS,
	   "the account");
	ok(block->pid == 10 && block->tid == 11 && identity__uid(block->process) == 1000,
	   "pid and tid");
	is_str(block->process->name, "program", "the process");
	is_str(block->thread, "worker", "the thread");
	is_str(block->process->exe, "/usr/bin/program", "its program");
	is_str(block->process->cgroup, "/user", "its cgroup");
	is_str(block->process->container, "c0ffee", "its container");
	is_str(block->process->pod, "p", "its pod");
	is_str(block->process->unit, "u.service", "its unit");
	is_uint(block->process->names_uid, 1001, "who could have invented them");
	is_uint(block->process->ns_pid, 7, "its pid in its namespace");
	ok(block->loop == JANK_LOOP_EPOLL && block->fd == 3 && block->ready_cnt == -4, "the loop");
	ok(block->end == JANK_END_EXIT && block->ended_by_exit, "the end");
	ok(block->live->cpu->has_busy && !block->live->cpu->has_total_pct,
	   "no load: it is the caller's");
	is_str(block->host.name, "box", "the host");
	is_str(block->host.kernel, "6.18", "its kernel");
	is_str(block->host.arch, "x86_64", "its architecture");
	ok(block->host.name != host.name && block->host.cpus == 4 && block->host.mem_free_kb == 7,
	   "in memory of its own");
	is_uint(block->stack_quality, QUALITY_NO_SAMPLES, "no sample: the quality says so");
	ok(!block->lost && !block->lost_cnt, "nothing lost: no list");
	block__free(block);
}

static void test_unknown_process(void)
{
	static const struct host_info bare;
	struct dispatch dispatch = { .rec = fixture__hang(11, 7000, 200 * MS), .hang = true };
	struct judge j = judge();
	struct block *block;

	j.host = &bare;
	block = judged(&j, &dispatch, NULL);
	is_str(block->process->name, "worker", "an unknown process has its thread's name");
	ok(!block->process->exe && !block->process->cgroup && !block->host.name,
	   "what is unknown is left out");
	ok(!block->process->has_uid && !block->process->ns_pid, "numbers, too");
	is_str(block->id, "-11-7000", "the boot's id, too");
	is_str(block__severity(block), "hang", "a hang is one");
	block__free(block);
}

/* The evidence moves to the block; the dispatch keeps none. */
static void test_evidence(void)
{
	struct losses losses = { 0 };
	struct loops *loops = loops__new(&losses);
	struct jank_rec_block rec = fixture__block(11, 100, 200 * MS);
	struct fixture_stack stack = fixture__stack(11, 100, 110, 50 * MS);
	struct jank_rec_waited waited = fixture__waited(11, 100, 110, 70);
	struct jank_rec_facts facts = fixture__facts(11, 100, 7);
	struct dispatch *dispatch;
	struct judge j = judge();
	struct block *block;

	stack.rec.hdr.flags = JANK_STACK_CUT_USER;
	stack.rec.state = JANK_STATE_FUTEX;
	fixture__woken_by(&stack, 21);
	fixture__slice(&stack, 71, 5);
	fixture__feed(loops, &facts, &dispatch);
	fixture__feed(loops, &waited, &dispatch);
	fixture__feed(loops, &stack, &dispatch);
	stack = fixture__stack(11, 100, 120, 0);
	stack.rec.hdr.flags = JANK_STACK_NO_USER;
	fixture__feed(loops, &stack, &dispatch);
	fixture__feed(loops, &rec, &dispatch);
	block = judged(&j, dispatch, &process);
	ok(block->sample_cnt == 2 && block->preemptor_cnt == 1, "samples and preemptors are moved");
	ok(!dispatch->evidence.samples && !dispatch->evidence.sample_cnt &&
		   !dispatch->evidence.preemptors,
	   "not copied");
	ok(block->samples[0].waited && block->samples[0].waited->raw.owner == 70,
	   "with what they waited for");
	ok(block->facts.known && block->facts.throttled_ns == 7, "and the facts");
	ok(block->chain_cnt == 1 && block->chain_sample == 0 && block->chain[0].task.tid == 21 &&
		   !dispatch->chain.links,
	   "and the chain");
	is_uint(block->stack_quality, QUALITY_CUT | QUALITY_NO_USER,
		"truncated stacks are reported");
	dispatch__free(dispatch);
	block__free(block);
	loops__free(loops);
}

static void test_losses(void)
{
	struct dispatch dispatch = { .rec = fixture__block(11, 1, 200 * MS),
				     .evidence.capped_cnt = 3 };
	struct judge j = judge();
	struct block *block;

	dispatch.rec.shed_cnt = 1;
	dispatch.rec.wakeup_missed_cnt = 2;
	block = judged(&j, &dispatch, &process);
	is_uint(block->lost_cnt, 3, "losses of the dispatch are the block's");
	is_str(block->lost[0].reason, "samples_shed", "samples without room");
	is_uint(block->lost[0].cnt, 1, "counted");
	is_str(block->lost[1].reason, "wakeup_missed", "wake-ups missed");
	is_uint(block->lost[1].cnt, 2, "counted");
	is_str(block->lost[2].reason, "samples_capped", "samples too many");
	is_uint(block->lost[2].cnt, 3, "counted");
	block__free(block);
}

static void test_severity(void)
{
	struct dispatch dispatch = { .rec = fixture__block(11, 1, 200 * MS),
				     .hang_reported = true };
	struct judge j = judge();
	struct block *block = judged(&j, &dispatch, &process);

	ok(block->type == BLOCK_JANK && block->hang_reported, "the end of a hang is a block");
	is_str(block__severity(block), "hang", "of severity hang");
	block__free(block);
}

static const char *severity(uint64_t ns, uint64_t hang_ns)
{
	struct dispatch dispatch = { .rec = fixture__block(11, 1, ns) };
	struct judge j = judge();
	struct block *block;
	const char *ret;

	j.hang_ns = hang_ns;
	block = judged(&j, &dispatch, &process);
	ret = block__severity(block);
	block__free(block);
	return ret;
}

static void test_over_hang(void)
{
	is_str(severity(300 * MS, 300 * MS), "jank", "a block as long as --hang is jank");
	is_str(severity(300 * MS + 1, 300 * MS), "hang",
	       "a longer one is a hang, reported before or not");
	is_str(severity(300 * MS, 0), "jank", "without --hang there are no hangs");
}

int main(void)
{
	test_threshold();
	test_late();
	test_stopped();
	test_frozen();
	test_dropped_frames();
	test_busy();
	test_fields();
	test_unknown_process();
	test_evidence();
	test_losses();
	test_severity();
	test_over_hang();
	return tap__done();
}
