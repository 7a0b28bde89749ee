/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of a block's time, and why a runnable thread did not run. */
#include "verdict/analysis.h"

#include "tests/tap.h"
#include "tests/unit/verdict_fixture.h"
#include "verdict/blame.h"

/* Blames and frees the block; lists its parts as "kind/what share%". */
static const char *parts(struct block *block)
{
	static char text[256];
	size_t len = 0;

	text[0] = '\0';
	blame__block(block);
	for (size_t i = 0; i < block->cause.part_cnt; i++) {
		const struct cause_part *part = &block->cause.parts[i];

		len += snprintf(text + len, sizeof(text) - len, "%s%s/%s %.0f", i ? ", " : "",
				part->kind, part->what ? part->what : "-", part->share * 100);
	}
	block__free(block);
	return text;
}

static void test_states(void)
{
	struct block *block = verdict__block();

	verdict__sample(block, JANK_STATE_SLEEP, 60 * MS, "clock_nanosleep", STACK("f"));
	verdict__sample(block, JANK_STATE_DISK, 90 * MS, "fsync", STACK("f"));
	verdict__sample(block, JANK_STATE_PIPE, 19 * MS, "read", STACK("f"));
	block->state_ns[JANK_STATE_RUNNING] = 31 * MS;
	is_str(parts(block), "disk/fsync 45, sleep/- 30, cpu/- 16",
	       "parts of a tenth or more, largest first");

	block = verdict__block();
	for (uint32_t state = 2; state < 8; state++)
		verdict__sample(block, state, 30 * MS, NULL, STACK("f"));
	is_str(parts(block), "futex/- 15, disk/- 15, sleep/- 15, poll/- 15",
	       "at most four parts; of equal ones the first states");

	block = verdict__block();
	block->duration_ns = 0;
	is_str(parts(block), "cpu/- 0", "at least one part");
}

static void test_whats(void)
{
	struct block *block = verdict__block();

	verdict__sample(block, JANK_STATE_FUTEX, 70 * MS, "futex",
			STACK("c:pthread_cond_wait", "f"));
	verdict__sample(block, JANK_STATE_FUTEX, 50 * MS, "futex",
			STACK("c:pthread_mutex_lock", "g"));
	verdict__sample(block, JANK_STATE_FUTEX, 30 * MS, "futex",
			STACK("c:pthread_mutex_lock", "g"));
	verdict__sample(block, JANK_STATE_FUTEX, 15 * MS, "futex", STACK("c:sem_wait", "h"));
	is_str(parts(block), "futex/mutex 48, futex/condition 35",
	       "a state's faults are separate parts; less than a tenth counts as the largest");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_DISK, 30 * MS, "pread64", STACK("f"));
	verdict__sample(block, JANK_STATE_DISK, 10 * MS, "fsync", STACK("f"));
	block->state_ns[JANK_STATE_DISK] = 160 * MS;
	is_str(parts(block), "disk/read 60, disk/fsync 20",
	       "unsampled time is divided like sampled time");

	block = verdict__block();
	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	verdict__ticks(block, 6, STACK("luaC_step", "lua"));
	verdict__ticks(block, 3, STACK("k:clear_page", "lua"));
	verdict__ticks(block, 1, STACK("lua"));
	is_str(parts(block), "cpu/gc 60, kernel/- 40", "ticks in a collector, and in the kernel");
}

/* A block that wanted a CPU for 100 ms: 60 preempted, 40 after a wake-up. */
static struct block *wanting(void)
{
	struct block *block = verdict__block();

	verdict__sample(block, JANK_STATE_RUNNABLE, 60 * MS, NULL, STACK("f"));
	verdict__sample(block, JANK_STATE_SLEEP, 40 * MS, NULL, STACK("f"))->runnable_ns = 40 * MS;
	block->state_ns[JANK_STATE_SLEEP] = 0;
	block->state_ns[JANK_STATE_RUNNABLE] = 100 * MS;
	return block;
}

static void test_runnable(void)
{
	struct block *block = wanting();

	is_str(parts(block), "runnable/preempted 30, runnable/wakeup_latency 20",
	       "divided by the spans");

	block = wanting();
	block->facts =
		(struct facts){ .known = true, .throttled_ns = 50 * MS, .stolen_ns = 30 * MS };
	is_str(parts(block), "runnable/throttled 35, runnable/stolen 15",
	       "the kernel's counters take precedence");

	block = wanting();
	block->facts = (struct facts){ .known = true, .throttled_ns = 500 * MS };
	is_str(parts(block), "runnable/throttled 50", "but never exceed the time");

	block = wanting();
	block->facts = (struct facts){ .known = true, .prio = 122 };
	verdict__preemptor(block, 7, "rt", 55 * MS, 51);
	verdict__preemptor(block, 8, "other", 45 * MS, 122);
	is_str(parts(block), "runnable/priority 50", "threads of better priority had most of it");

	block = wanting();
	block->facts = (struct facts){ .known = true, .prio = 122 };
	verdict__preemptor(block, 7, "rt", 45 * MS, 51);
	verdict__preemptor(block, 8, "other", 55 * MS, 122);
	is_str(parts(block), "runnable/preempted 30, runnable/wakeup_latency 20",
	       "threads of equal priority had most of it");

	block = wanting();
	verdict__preemptor(block, 7, "rt", 55 * MS, 51);
	is_str(parts(block), "runnable/preempted 30, runnable/wakeup_latency 20",
	       "its own priority is unknown");

	block = wanting();
	block->facts = (struct facts){ .known = true, .cpus_allowed = 2 };
	is_str(parts(block), "runnable/affinity 30, runnable/wakeup_latency 20",
	       "bound to half of the CPUs");

	block = wanting();
	block->facts = (struct facts){ .known = true, .cpus_allowed = 3 };
	verdict__cpus_used(block, 99);
	is_str(parts(block), "runnable/preempted 30, runnable/wakeup_latency 20",
	       "bound to most of the CPUs, while all were busy");

	block = wanting();
	block->facts = (struct facts){ .known = true, .cpus_allowed = 3 };
	verdict__cpus_used(block, 80);
	is_str(parts(block), "runnable/affinity 30, runnable/wakeup_latency 20",
	       "bound to most of the CPUs, while one was idle");

	block = verdict__block();
	block->state_ns[JANK_STATE_RUNNABLE] = 100 * MS;
	is_str(parts(block), "runnable/- 50", "no evidence, no reason");
}

static struct block *on_condition(void)
{
	return verdict__off_cpu(JANK_STATE_FUTEX, 150 * MS, "futex",
				STACK("c:pthread_cond_wait", "f"));
}

/* A collector at the end of the chain is the cause, even if there is a lock between. */
static void test_collector_in_chain(void)
{
	struct block *block = on_condition();

	verdict__link(block, LINK_WOKE, verdict__task(10, 11, "x"), JANK_STATE_RUNNING, NULL,
		      STACK("VM_G1CollectForAllocation::doit()"));
	is_str(parts(block), "futex/gc 75", "by its stack");

	block = on_condition();
	verdict__link(block, LINK_WOKE, verdict__task(10, 11, "VM Thread"), JANK_STATE_FUTEX,
		      "futex", STACK("?"));
	verdict__link(block, LINK_WOKE, verdict__task(10, 12, "GC Thread#0"), JANK_STATE_RUNNING,
		      NULL, STACK("?"));
	is_str(parts(block), "futex/gc 75", "by its threads' names");
}

static void test_frames(void)
{
	struct block *block = verdict__block();

	verdict__sample(block, JANK_STATE_FUTEX, 50 * MS, "futex",
			STACK("c:pthread_cond_wait", "f"));
	verdict__sample(block, JANK_STATE_FUTEX, 80 * MS, "futex",
			STACK("c:pthread_mutex_lock", "g"));
	blame__block(block);
	is_uint(block->cause.part_cnt, 2, "two parts");
	is_str(block->cause.parts[0].frame->function, "g", "each with its own function");
	is_str(block->cause.parts[1].frame->function, "f", "by its own samples");
	is_str(block->cause.kind, "futex", "the cause is the first part");
	is_str(block->cause.what, "mutex", "its cause.what");
	ok(block->cause.share == block->cause.parts[0].share, "its share");
	ok(block->cause.frame == block->cause.parts[0].frame, "its frame");
	block__free(block);
}

int main(void)
{
	test_states();
	test_whats();
	test_runnable();
	test_collector_in_chain();
	test_frames();
	return tap__done();
}
