/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sentence of the verdict: time on the CPU, time waiting for a CPU, and the function named for
 * either.
 */
#include "tests/tap.h"
#include "tests/unit/sentence_fixture.h"
#include "tests/unit/verdict_fixture.h"

#define SCAVENGE "v8::internal::Heap::Scavenge()"
#define PARSE_JSON                                                                                 \
	"v8::internal::MaybeHandle<v8::internal::Object> "                                         \
	"v8::internal::JsonParser<unsigned char>::ParseJsonValue<true>(int)"

static void test_busy(void)
{
	static const struct sentence_case cases[] = {
		{ "on the CPU",
		  "main thread was busy 198 ms of 200 ms on the CPU, 80 % of it in keysCommand",
		  .running_ms = 198,
		  .seen = { TICKS(8, "keysCommand", "call", "main"),
			    TICKS(2, "k:clear_page_erms", "zmalloc", "call", "main") } },
		{ "many functions: their common caller",
		  "main thread was busy 200 ms on the CPU, 70 % of it below parse, 30 % in a "
		  "(libx.so.1.2)",
		  .running_ms = 200,
		  .seen = { TICKS(3, "m:a", "parse", "handle", "main"),
			    TICKS(2, "m:b", "parse", "handle", "main"),
			    TICKS(2, "m:c", "parse", "handle", "main"),
			    TICKS(3, "other", "handle", "main") } },
		{ "few ticks: no percentages",
		  "main thread was busy 200 ms on the CPU, seen in main", .running_ms = 200,
		  .seen = { TICKS(2, "?", "main") } },
		{ "no ticks: no function", "main thread was busy 200 ms on the CPU",
		  .running_ms = 200 },
		{ "in the kernel",
		  "main thread was busy 200 ms in the kernel, mostly in clear_page_erms, 100 % of "
		  "it called by fill",
		  .running_ms = 200,
		  .seen = { TICKS(9, "k:clear_page_erms", "k:do_user_addr_fault", "fill",
				  "main") } },
		{ "few ticks in the kernel",
		  "main thread was busy 200 ms in the kernel, mostly in read_zero, for read, "
		  "called by load",
		  .running_ms = 200,
		  .seen = { { .ticks = 1,
			      .syscall = "read",
			      .stack = { "k:read_zero", "load" } } } },
		{ "in a collector",
		  "main thread spent 200 ms in garbage collection (v8::internal::Heap::Scavenge) "
		  "← parse",
		  .running_ms = 200,
		  .seen = { TICKS(9, "v8::internal::Scavenger::Process(int)", SCAVENGE, "parse",
				  "main") } },
	};

	SENTENCE_CHECK(cases);
}

static void test_slow_cpu(void)
{
	static const struct sentence_case cases[] = {
		{ "a slow CPU",
		  "main thread was busy 200 ms on the CPU, on a small core, with 25 % of the "
		  "largest one's capacity, its CPU at 0.80 of 3.20 GHz at the end",
		  .running_ms = 200, .facts = { .known = true },
		  .scheduling = { .cpu_capacity = 256,
				  .cpu_khz = 800000,
				  .cpu_max_khz = 3200000 } },
		{ "a throttled CPU",
		  "main thread was busy 200 ms on the CPU, on a CPU that was throttled for heat",
		  .running_ms = 200, .facts = { .known = true },
		  .scheduling = { .thermal_throttled = true } },
	};

	SENTENCE_CHECK(cases);
}

static void says_late(uint64_t delay_ms, const struct other_task *task, const char *what,
		      uint64_t throttled_ms, const char *want)
{
	struct block *block = verdict__block();

	block->duration_ns = 1 * MS;
	block->state_ns[JANK_STATE_RUNNING] = 1 * MS;
	block->start_delay_ns = delay_ms * MS;
	block->start_known = true;
	block->facts =
		(struct facts){ .known = true, .throttled_ns = throttled_ms * MS, .prio = 122 };
	if (task)
		verdict__preemptor(block, task->pid, task->comm, task->ns, task->prio);
	blame__block(block);
	is_str(block->cause.kind, "runnable", "a late start is time without a CPU");
	is_str(block->cause.what, what, "by %s", what);
	ok(block->cause.share > 0.99, "nearly all of the delay");
	is_str(block->cause.summary, want, "in words");
	block__free(block);
}

static void test_late(void)
{
	const struct other_task hog = { .pid = 7, .comm = "hog", .ns = 379 * MS, .prio = 122 };
	const struct other_task real_time = { .pid = 8, .comm = "rt", .ns = 380 * MS, .prio = 51 };

	says_late(380, &hog, "preempted", 0,
		  "main thread started 380 ms late, for want of a CPU: 'hog' (pid 7) ran instead");
	says_late(380, &real_time, "priority", 0,
		  "main thread started 380 ms late, for want of a CPU: 'rt' (pid 8, real-time "
		  "priority "
		  "50) ran instead");
	says_late(380, NULL, "throttled", 380,
		  "main thread started 380 ms late, for want of a CPU: its cgroup had used up its "
		  "CPU "
		  "quota");
}

/* One frame among many stacks: what the sentence may say of it. */
static void test_minority(void)
{
	static const struct sentence_case cases[] = {
		{ "less than a quarter of the stacks: no function is named",
		  "main thread waited 90.0 ms for a CPU",
		  .seen = { SPAN(RUNNABLE, 10, NULL, "k:x", "zmalloc"),
			    SPAN(RUNNABLE, 80, NULL, "k:x", "c:_Fork") } },
		{ "a third: it is named if no other has a frame",
		  "main thread waited 90.0 ms for a CPU in zmalloc",
		  .seen = { SPAN(RUNNABLE, 30, NULL, "k:x", "zmalloc"),
			    SPAN(RUNNABLE, 60, NULL, "k:x", "c:_Fork") } },
		{ "three functions, each below half",
		  "main thread waited 105 ms for the disk in read",
		  .seen = { SPAN(DISK, 40, "read", "k:x", "c:read", "a"),
			    SPAN(DISK, 35, "read", "k:x", "c:read", "b"),
			    SPAN(DISK, 30, "read", "k:x", "c:read", "d") } },
		{ "one tick of twenty",
		  "main thread was busy 200 ms in the kernel, mostly in copy_page_range",
		  .running_ms = 200,
		  .seen = { TICKS(1, "k:copy_page_range", "zmalloc"),
			    TICKS(19, "k:copy_page_range", "c:_Fork") } },
	};

	SENTENCE_CHECK(cases);
}

static void test_no_symbols(void)
{
	static const struct sentence_case cases[] = {
		{ "one address does not represent many",
		  "main thread was busy 200 ms on the CPU, 100 % of it in program (no symbols)",
		  .running_ms = 200, .seen = { TICKS(3, "?"), TICKS(3, "?0x340") } },
		{ "their caller does",
		  "main thread was busy 200 ms on the CPU, 100 % of it in program+0x560",
		  .running_ms = 200,
		  .seen = { TICKS(3, "?", "?0x560"), TICKS(3, "?0x340", "?0x560") } },
		{ "but it represents itself",
		  "main thread was busy 200 ms on the CPU, 100 % of it in program+0x340",
		  .running_ms = 200, .seen = { TICKS(6, "?0x340") } },
		{ "not in a wait",
		  "main thread waited 90.0 ms for the disk in read ← program (no symbols)",
		  .seen = { SPAN(DISK, 50, "read", "k:x", "c:read", "?"),
			    SPAN(DISK, 40, "read", "k:x", "c:read", "?0x340") } },
	};

	SENTENCE_CHECK(cases);
}

/*
 * The runtime's inner functions are not named for a wait, but are the work itself for time on the
 * CPU.
 */
static void test_inner(void)
{
	static const struct sentence_case cases[] = {
		{ "waiting for a CPU", "main thread waited 90.0 ms for a CPU in load",
		  .seen = { SPAN(RUNNABLE, 90, NULL, "k:x", PARSE_JSON, "load") } },
		{ "nothing else there", "main thread waited 90.0 ms for another thread (futex)",
		  .seen = { SPAN(FUTEX, 90, "futex", "k:x", PARSE_JSON) } },
		{ "the function that computed",
		  "main thread was busy 200 ms on the CPU, 100 % of it in "
		  "v8::internal::JsonParser<…>::ParseJsonValue<…>",
		  .running_ms = 200, .seen = { TICKS(9, PARSE_JSON, "load") } },
		{ "the collector's caller",
		  "main thread spent 200 ms in garbage collection (v8::internal::Heap::Scavenge) "
		  "← parse",
		  .running_ms = 200,
		  .seen = { TICKS(9, SCAVENGE,
				  "v8::internal::AllocationCounter::InvokeAllocationObservers(int)",
				  "parse", "main") } },
	};

	SENTENCE_CHECK(cases);
}

/* A block that waited for a CPU for 90 ms. */
static struct block *wanting(struct facts facts)
{
	struct block *block =
		verdict__off_cpu(JANK_STATE_RUNNABLE, 90 * MS, NULL, STACK("k:schedule", "work"));

	block->facts = facts;
	return block;
}

#define IN_WORK "main thread waited 90.0 ms for a CPU in work"

static void test_kept_off(void)
{
	struct block *block = wanting((struct facts){ .known = true, .throttled_ns = 88 * MS });

	block->live->scheduling->quota_cgroup = strdup("/limited");
	block->live->scheduling->quota_ns = 20 * MS;
	block->live->scheduling->quota_period_ns = 100 * MS;
	sentence__says(block,
		       IN_WORK ": its cgroup /limited had used up its CPU quota of 20.0 ms in "
			       "100 ms",
		       "a quota");

	block = wanting((struct facts){ .known = true, .throttled_ns = 88 * MS });
	block->process->cgroup = strdup("/of-its-memory");
	sentence__says(block, IN_WORK ": its cgroup had used up its CPU quota", "an unknown quota");

	block = wanting((struct facts){ .known = true, .stolen_ns = 85 * MS });
	sentence__says(block, IN_WORK ": the hypervisor had taken it", "a hypervisor");
}

static void test_preempted(void)
{
	struct block *block = wanting((struct facts){ .known = true, .prio = 122 });

	verdict__preemptor(block, 7, "stress", 89 * MS, 51);
	sentence__says(block, IN_WORK ": 'stress' (pid 7, real-time priority 50) ran instead",
		       "a better priority");

	block = wanting((struct facts){ .known = true, .prio = 122, .cpus_allowed = 1 });
	verdict__cpus_used(block, 30);
	verdict__preemptor(block, 7, "stress", 30 * MS, 122);
	verdict__preemptor(block, 9, "kworker/0:1", 35 * MS, 122);
	verdict__preemptor(block, 8, "stress", 20 * MS, 122);
	sentence__says(block,
		       IN_WORK ": it is bound to 1 of 4 CPUs, where 'stress' (pid 7 and 1 more) "
			       "ran for 50.0 ms of it, and 1 other",
		       "an affinity");

	block = wanting((struct facts){ 0 });
	verdict__preemptor(block, 7, "cc1", 20 * MS, 122);
	verdict__preemptor(block, 7, "cc1", 30 * MS, 122);
	sentence__says(block, IN_WORK ": 'cc1' (pid 7) ran instead for 50.0 ms of it",
		       "two threads of a process are one entry");
}

/* How much of the wait is explained by known preemptors. */
static void test_stolen(void)
{
	static const struct {
		const char *name, *want;
		unsigned steal_pct, preemptor_ms;
	} rows[] = {
		{ "a hypervisor, unknown to the thread's own clock",
		  IN_WORK ": a hypervisor took 50 % of the CPUs meanwhile", 50, 5 },
		{ "half of it is known", IN_WORK ": 'cc1' (pid 7) ran instead for 50.0 ms of it",
		  50, 50 },
		{ "or little was stolen", IN_WORK ": 1 other task ran", 19, 5 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct block *block = wanting((struct facts){ 0 });

		block->live->cpu->steal_pct = rows[i].steal_pct;
		verdict__preemptor(block, 7, "cc1", rows[i].preemptor_ms * MS, 122);
		sentence__says(block, rows[i].want, rows[i].name);
	}
}

/* A task is the reason only if it had half of the time. */
static void test_shared(void)
{
	struct block *block = wanting((struct facts){ .known = true, .prio = 122 });

	verdict__cpus_used(block, 97);
	verdict__preemptor(block, 7, "threads", 1 * MS, 122);
	verdict__preemptor(block, 8, "cc1", 40 * MS, 122);
	sentence__says(block, IN_WORK ": 4 CPUs, 97 % busy, 2 other tasks ran",
		       "no task had most of the time");

	block = wanting((struct facts){ .known = true, .prio = 122 });
	verdict__cpus_used(block, 97);
	sentence__says(block, IN_WORK ": 4 CPUs, 97 % busy", "no task is known");

	block = wanting((struct facts){ .known = true, .cpus_allowed = 1 });
	verdict__preemptor(block, 7, "a", 10 * MS, 122);
	sentence__says(block, IN_WORK ": it is bound to 1 of 4 CPUs, 1 other task ran",
		       "an affinity, where no task had most of the time");
}

static void test_own_threads(void)
{
	struct block *block = wanting((struct facts){ .known = true, .prio = 122 });

	verdict__preemptor(block, 10, "node", 30 * MS, 122);
	block->preemptors[0].tid = 11;
	verdict__preemptor(block, 10, "worker", 20 * MS, 122);
	block->preemptors[1].tid = 12;
	verdict__preemptor(block, 7, "node", 40 * MS, 122);
	sentence__says(block,
		       IN_WORK ": 2 other threads of its process ran instead for 50.0 ms of it, "
			       "and 1 other",
		       "its own threads are no other process, whatever the name");

	block = wanting((struct facts){ .known = true, .prio = 122 });
	verdict__preemptor(block, 10, "node", 89 * MS, 122);
	block->preemptors[0].tid = 11;
	sentence__says(block, IN_WORK ": its own thread 'node' (tid 11) ran instead", "one thread");
}

/* By its process, not by its name, which any program may have. */
static void test_tracer(void)
{
	struct block *block = wanting((struct facts){ .known = true, .prio = 122 });

	verdict__preemptor(block, 7, "jankbpf", 89 * MS, 122);
	sentence__says(block, IN_WORK ": 'jankbpf' (pid 7) ran instead", "another jankbpf");

	block = wanting((struct facts){ .known = true, .prio = 122 });
	verdict__preemptor(block, 7, "jankbpf", 10 * MS, 122);
	verdict__preemptor(block, 8, "jankbpf", 40 * MS, 122);
	verdict__preemptor(block, 9, "jankbpf-name", 39 * MS, 122);
	block->preemptors[1].is_ours = block->preemptors[2].is_ours = true;
	sentence__says(block,
		       IN_WORK ": jankbpf itself (pid 8 and 1 more) ran instead for 79.0 ms of "
			       "it, and 1 other",
		       "this jankbpf, with its helpers");
}

static void test_frozen(void)
{
	const struct other_task bash = verdict__task(77, 77, "bash");
	struct block *block = verdict__block();

	block->duration_ns = 1 * MS;
	block->state_ns[JANK_STATE_RUNNING] = 1 * MS;
	block->start_delay_ns = 3000 * MS;
	block->start_known = true;
	block->start_frozen_ns = 2999 * MS;
	block->thawer = bash;
	blame__block(block);
	is_str(block->cause.kind, "runnable", "a start that a freeze made late");
	is_str(block->cause.what, "frozen", "is named so");
	sentence__says(block,
		       "main thread started up to 3.00 s late: it was frozen with its cgroup, "
		       "until bash (pid 77) thawed it",
		       "with who thawed it");

	block = verdict__off_cpu(JANK_STATE_STOPPED, 150 * MS, NULL, STACK("k:schedule", "work"));
	block->samples[0].stack.flags = JANK_STACK_FROZEN;
	verdict__woken_by(block, bash);
	blame__block(block);
	is_str(block->cause.what, "frozen", "a freeze needs no names of the kernel's functions");
	sentence__says(block,
		       "main thread was frozen for 150 ms with its cgroup, until bash (pid 77) "
		       "thawed it",
		       "frozen within a dispatch");

	block = verdict__off_cpu(JANK_STATE_FUTEX, 150 * MS, "futex", STACK("k:schedule", "work"));
	block->samples[0].stack.flags = JANK_STACK_FROZEN;
	sentence__says(block, "main thread waited 150 ms, at last frozen with its cgroup",
		       "frozen in its sleep: since when is not known");
}

int main(void)
{
	test_busy();
	test_slow_cpu();
	test_late();
	test_minority();
	test_no_symbols();
	test_inner();
	test_kept_off();
	test_preempted();
	test_stolen();
	test_shared();
	test_own_threads();
	test_tracer();
	test_frozen();
	return tap__done();
}
