/* SPDX-License-Identifier: GPL-2.0 */
/* The verdict in words: one block for each kind of fault, and what little is said where little is known. */
#include <stdio.h>

#include "tests/tap.h"
#include "tests/verdict_fixture.h"

/* Blames and frees the block. */
static void says(struct block *block, const char *want, const char *name)
{
	blame__block(block);
	is_str(block->cause.summary, want, "%s", name);
	block__free(block);
}

static void test_busy(void)
{
	struct block *block = verdict__block();

	block->state_ns[JANK_STATE_RUNNING] = 198 * MS;
	verdict__ticks(block, 8, STACK("keysCommand", "call", "main"));
	verdict__ticks(block, 2, STACK("k:clear_page_erms", "zmalloc", "call", "main"));
	says(block, "main thread was busy 198 ms of 200 ms on the CPU, 80 % of it in keysCommand",
	     "on the CPU");

	block = verdict__block();
	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	verdict__ticks(block, 3, STACK("m:a", "parse", "handle", "main"));
	verdict__ticks(block, 2, STACK("m:b", "parse", "handle", "main"));
	verdict__ticks(block, 2, STACK("m:c", "parse", "handle", "main"));
	verdict__ticks(block, 3, STACK("other", "handle", "main"));
	says(block,
	     "main thread was busy 200 ms on the CPU, 70 % of it below parse, 30 % in a "
	     "(libx.so.1.2)",
	     "many functions: the one above them");

	block = verdict__block();
	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	verdict__ticks(block, 2, STACK("?", "main"));
	says(block, "main thread was busy 200 ms on the CPU, seen in main",
	     "few ticks: no percentages");

	block = verdict__block();
	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	block->facts = (struct facts){
		.known = true, .cpu_capacity = 256, .cpu_khz = 800000, .cpu_max_khz = 3200000
	};
	says(block,
	     "main thread was busy 200 ms on the CPU, on a small core, with 25 % of the largest "
	     "one's "
	     "capacity, its CPU at 0.80 of 3.20 GHz at the end",
	     "a slow CPU");

	block = verdict__block();
	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	block->facts = (struct facts){ .known = true, .thermal_throttled = true };
	says(block, "main thread was busy 200 ms on the CPU, on a CPU that was throttled for heat",
	     "a hot one");

	block = verdict__block();
	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	verdict__sample(block, JANK_STATE_RUNNING, 0, "read", STACK("k:read_zero", "load"));
	says(block,
	     "main thread was busy 200 ms in the kernel, mostly in read_zero, for read, called by "
	     "load",
	     "few ticks in the kernel");

	block = verdict__block();
	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	says(block, "main thread was busy 200 ms on the CPU", "no ticks: no function");

	block = verdict__block();
	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	verdict__ticks(block, 9,
		       STACK("k:clear_page_erms", "k:do_user_addr_fault", "fill", "main"));
	says(block,
	     "main thread was busy 200 ms in the kernel, mostly in clear_page_erms, 100 % of it "
	     "called by fill",
	     "in the kernel");

	block = verdict__block();
	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	verdict__ticks(block, 9,
		       STACK("v8::internal::Scavenger::Process(int)",
			     "v8::internal::Heap::Scavenge()", "parse", "main"));
	says(block,
	     "main thread spent 200 ms in garbage collection (v8::internal::Heap::Scavenge) ← "
	     "parse",
	     "in a collector");
}

static void test_locks(void)
{
	struct block *block = verdict__block();

	verdict__sample(
		block, JANK_STATE_FUTEX, 150 * MS, "futex",
		STACK("k:futex_do_wait", "c:___pthread_mutex_lock", "handle_query", "main"));
	verdict__link(block, LINK_HELD, verdict__task(10, 4711, "indexer"), JANK_STATE_DISK,
		      "fsync", STACK("k:io_schedule", "c:fsync", "flush_index", "run"));
	says(block,
	     "main thread waited 150 ms in pthread_mutex_lock ← handle_query for a mutex held by "
	     "thread 'indexer' (tid 4711), which waited for the disk in fsync ← flush_index",
	     "a mutex, whose holder waited for the disk");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_FUTEX, 150 * MS, "futex", STACK("k:x", "handle"));
	verdict__waited(block, JANK_WAITED_FUTEX)->owner = verdict__task(10, 12, "holder");
	says(block,
	     "main thread waited 150 ms for a mutex held by thread 'holder' (tid 12) in handle",
	     "the holder is known, not what it did");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_FUTEX, 150 * MS, "futex",
			STACK("c:pthread_cond_wait", "handle"))
		->has_waker = true;
	block->samples[0].waker = verdict__task(10, 13, "sig");
	says(block,
	     "main thread waited 150 ms for a condition variable until woken by thread 'sig' (tid "
	     "13) in pthread_cond_wait ← handle",
	     "who woke is known");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_FUTEX, 150 * MS, "futex", STACK("k:futex_wait"));
	verdict__link(block, LINK_HELD, verdict__task(10, 12, "x"), JANK_STATE_CNT, NULL,
		      STACK(NULL));
	says(block, "main thread waited 150 ms for a mutex held by thread 'x' (tid 12)",
	     "what is held is a mutex");

	block = verdict__block();
	verdict__sample(
		block, JANK_STATE_FUTEX, 150 * MS, "futex",
		STACK("c:pthread_cond_wait", "wait_for_helpers", "runtime.gcStart", "alloc"));
	verdict__link(block, LINK_WOKE, verdict__task(10, 12, "x"), JANK_STATE_RUNNING, NULL,
		      STACK("runtime.gcDrain"));
	says(block,
	     "main thread spent 150 ms in garbage collection, waiting for thread 'x' (tid 12), "
	     "which "
	     "was in garbage collection in runtime.gcDrain",
	     "a wait in a collector");

	block = verdict__block();
	verdict__sample(
		block, JANK_STATE_FUTEX, 150 * MS, "futex",
		STACK("c:pthread_cond_wait", "wait_for_helpers", "runtime.gcStart", "alloc"));
	says(block, "main thread spent 150 ms in garbage collection (runtime.gcStart) ← alloc",
	     "one for nobody known");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_FUTEX, 150 * MS, "futex", STACK("k:futex_wait"));
	says(block, "main thread waited 150 ms for another thread (futex)", "nothing is known");
}

/* Where the stack has lost the library's function, the one that ended the wait tells. */
static void test_by_waker(void)
{
	struct block *block = verdict__block();
	struct link *link;

	verdict__sample(block, JANK_STATE_FUTEX, 150 * MS, "futex", STACK("k:futex_do_wait"));
	link = verdict__link(block, LINK_WOKE, verdict__task(10, 13, "sig"), JANK_STATE_SLEEP,
			     "clock_nanosleep", STACK("c:usleep", "nap"));
	verdict__stack(&link->wake_stack, STACK("k:futex_wake", "c:pthread_cond_signal", "tell"));
	says(block,
	     "main thread waited 150 ms for a condition variable until woken by thread 'sig' (tid "
	     "13), which slept in clock_nanosleep ← nap",
	     "a condition, by who signalled it");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_FUTEX, 100 * MS, "futex", STACK("k:futex_do_wait"));
	verdict__waited(block, JANK_WAITED_TIMEOUT)->raw.timeout_ns = 100 * MS;
	says(block,
	     "main thread waited 100 ms for a condition that did not come, until its timeout of "
	     "100 "
	     "ms",
	     "nobody signalled it");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_FUTEX, 100 * MS, "futex",
			STACK("k:futex_do_wait", "c:pthread_mutex_timedlock", "take"));
	verdict__waited(block, JANK_WAITED_TIMEOUT)->raw.timeout_ns = 100 * MS;
	says(block,
	     "main thread waited 100 ms for a mutex that it did not get in "
	     "pthread_mutex_timedlock ← take, until its timeout of 100 ms",
	     "nobody unlocked it");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_SOCKET, 90 * MS, "recvfrom", STACK("c:recv", "ask"));
	verdict__waited(block, JANK_WAITED_SOCKET)->target = strdup("unix pair");
	block->samples[0].waited->peer_task = verdict__task(10, 10, "program");
	verdict__link(block, LINK_WOKE, verdict__task(10, 14, "answerer"), JANK_STATE_SLEEP,
		      "clock_nanosleep", STACK("nap"));
	says(block,
	     "main thread waited 90.0 ms in recvfrom ← ask for unix pair (its own process) until "
	     "woken by thread 'answerer' (tid 14), which slept in clock_nanosleep ← nap",
	     "a process may be its own peer: the thread is told");
}

/* A link of which nothing is known but where it ended the wait: by its interpreter's own frames, or by frame pointers. */
static void test_end_of_wait(void)
{
	struct block *block = verdict__block();
	struct link *link;

	verdict__sample(block, JANK_STATE_FUTEX, 150 * MS, "futex", STACK("c:sem_wait", "take"));
	link = verdict__link(block, LINK_WOKE, verdict__task(10, 13, "pool"), JANK_STATE_SLEEP,
			     "clock_nanosleep", STACK("c:usleep"));
	verdict__stack(&link->wake_stack, STACK("k:futex_wake", "c:sem_post", "hold"));
	says(block,
	     "main thread waited 150 ms in sem_wait ← take for a semaphore until woken by thread "
	     "'pool' "
	     "(tid 13), which slept in clock_nanosleep",
	     "compiled code that ended a wait is not blamed for what it did before");
	block = verdict__block();
	verdict__sample(block, JANK_STATE_FUTEX, 150 * MS, "futex", STACK("c:sem_wait", "take"));
	link = verdict__link(block, LINK_WOKE, verdict__task(10, 13, "pool"), JANK_STATE_SLEEP,
			     "clock_nanosleep", STACK("c:usleep"));
	verdict__stack(&link->wake_stack, STACK("k:futex_wake", "c:sem_post", "hold"));
	link->wake_stack.frames[2].language = "python";
	says(block,
	     "main thread waited 150 ms in sem_wait ← take for a semaphore until woken by thread "
	     "'pool' "
	     "(tid 13) in hold, which slept in clock_nanosleep",
	     "the interpreter's function that did is told");
	block = verdict__block();
	verdict__sample(block, JANK_STATE_FUTEX, 150 * MS, "futex", STACK("c:sem_wait", "take"));
	link = verdict__link(block, LINK_WOKE, verdict__task(10, 13, "pool"), JANK_STATE_SLEEP,
			     "clock_nanosleep", STACK("c:usleep", "nap"));
	verdict__stack(&link->wake_stack, STACK("k:futex_wake", "c:sem_post", "hold"));
	link->wake_stack.frames[2].language = "python";
	says(block,
	     "main thread waited 150 ms in sem_wait ← take for a semaphore until woken by thread "
	     "'pool' "
	     "(tid 13), which slept in clock_nanosleep ← nap",
	     "unless it is known what it did before");
	block = verdict__block();
	verdict__sample(block, JANK_STATE_FUTEX, 150 * MS, "futex",
			STACK("c:pthread_cond_timedwait", "take_gil", "c:f", "take"));
	link = verdict__link(block, LINK_WOKE, verdict__task(10, 13, "pool"), JANK_STATE_RUNNABLE,
			     NULL, STACK("keep"));
	link->stack.frames[0].language = "python";
	says(block,
	     "main thread waited 150 ms in pthread_cond_timedwait ← take_gil for the interpreter's "
	     "lock "
	     "last held by thread 'pool' (tid 13) in keep, which waited for a CPU",
	     "or where it lost the CPU");
}

static void test_chain(void)
{
	struct block *block = verdict__block();
	struct link *link;

	verdict__sample(block, JANK_STATE_FUTEX, 150 * MS, "futex",
			STACK("c:pthread_mutex_lock", "a"));
	verdict__link(block, LINK_HELD, verdict__task(10, 12, "B"), JANK_STATE_FUTEX, "futex",
		      STACK("c:pthread_cond_wait", "b"));
	verdict__link(block, LINK_WOKE, verdict__task(10, 13, "C"), JANK_STATE_DISK, "pread64",
		      STACK("c:pread", "c"));
	says(block,
	     "main thread waited 150 ms in pthread_mutex_lock ← a for a mutex held by thread 'B' "
	     "(tid 12), which waited in pthread_cond_wait ← b for a condition variable until woken "
	     "by thread 'C' (tid 13), which waited for the disk in pread64 ← c",
	     "three threads");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_SOCKET, 120 * MS, "recvfrom", STACK("c:recv", "query"));
	verdict__waited(block, JANK_WAITED_SOCKET)->peer = strdup("unix /run/db.sock");
	block->samples[0].waited->peer_task = verdict__task(612, 612, "postgres");
	link = verdict__link(block, LINK_WOKE, verdict__task(612, 612, "postgres"),
			     JANK_STATE_RUNNING, NULL, STACK("exec_simple_query", "main"));
	link->process = strdup("postgres");
	says(block,
	     "main thread waited 120 ms in recvfrom ← query for unix /run/db.sock (postgres, pid "
	     "612), which was busy on the CPU in exec_simple_query",
	     "a server that was busy");

	block = verdict__block();
	block->facts = (struct facts){ .known = true, .prio = 52 };
	verdict__sample(block, JANK_STATE_FUTEX, 150 * MS, "futex",
			STACK("c:pthread_mutex_lock", "a"));
	link = verdict__link(block, LINK_HELD, verdict__task(10, 12, "low"), JANK_STATE_RUNNABLE,
			     NULL, STACK("work"));
	link->prio = 122;
	link->preemptors = calloc(1, sizeof(*link->preemptors));
	link->preemptors[link->preemptor_cnt++] = verdict__task(7, 7, "hog");
	link->preemptors[0].prio = 91;
	link->part_ns[JANK_STATE_RUNNABLE] = 80 * MS;
	says(block,
	     "main thread waited 150 ms in pthread_mutex_lock ← a for a mutex held by thread 'low' "
	     "(tid 12), which for 80 % of that time waited for a CPU while 'hog' (pid 7, real-time "
	     "priority 10) ran: a priority inversion",
	     "a priority inversion");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_FUTEX, 150 * MS, "futex", STACK("c:sem_wait", "a"));
	link = verdict__link(block, LINK_WOKE, verdict__task(77, 78, "poster"), JANK_STATE_CNT,
			     NULL, STACK(NULL));
	link->process = strdup("helper");
	says(block,
	     "main thread waited 150 ms in sem_wait ← a for a semaphore until woken by helper (pid "
	     "77, thread 'poster')",
	     "nothing was seen of it but that it woke");
}

static void test_storage(void)
{
	struct block *block = verdict__block();
	struct waited *waited;

	verdict__sample(block, JANK_STATE_DISK, 80 * MS, "pread64",
			STACK("k:io_schedule", "c:pread", "load"));
	waited = verdict__waited(block, JANK_WAITED_FILE);
	waited->path = strdup("/var/lib/x.db");
	waited->device = strdup("vda");
	says(block,
	     "main thread waited 80.0 ms for the disk in pread64 ← load (/var/lib/x.db on vda)",
	     "a read");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_PAGE_FAULT, 80 * MS, NULL,
			STACK("k:io_schedule", "k:filemap_fault", "handle_x"));
	waited = verdict__waited(block, JANK_WAITED_FILE);
	waited->path = strdup("/usr/lib/x.so");
	waited->device = strdup("vda");
	says(block, "main thread waited 80.0 ms for a page of /usr/lib/x.so on vda in handle_x",
	     "a page of a file");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_PAGE_FAULT, 80 * MS, NULL,
			STACK("k:io_schedule", "k:do_swap_page", "touch"));
	block->facts = (struct facts){ .known = true, .maj_flt_cnt = 312 };
	block->load.psi_memory_pct = 43;
	says(block,
	     "main thread waited 80.0 ms for memory that was swapped out in touch, 312 major page "
	     "faults, the machine's memory pressure at 43 %",
	     "swap");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_PAGE_FAULT, 80 * MS, NULL,
			STACK("k:io_schedule", "k:shrink_folio_list",
			      "k:try_to_free_mem_cgroup_pages", "k:do_anonymous_page", "touch"));
	says(block, "main thread spent 80.0 ms at its cgroup's memory limit in touch",
	     "a cgroup's limit");
}

static void test_sleep_and_poll(void)
{
	struct block *block = verdict__block();
	struct waited *waited;

	verdict__sample(block, JANK_STATE_SLEEP, 150 * MS, "clock_nanosleep",
			STACK("c:usleep", "do_sleep"));
	verdict__waited(block, JANK_WAITED_TIMEOUT)->raw.timeout_ns = 150 * MS;
	says(block, "main thread slept 150 ms in do_sleep (clock_nanosleep of 150 ms)", "a sleep");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_POLL, 101 * MS, "poll", STACK("c:poll", "resolve"));
	waited = verdict__waited(block, JANK_WAITED_TIMEOUT | JANK_WAITED_SOCKET);
	waited->raw.timeout_ns = 5000 * MS;
	waited->raw.dport = 53;
	waited->peer = strdup("udp 10.0.0.2:53");
	says(block,
	     "main thread waited 101 ms for udp 10.0.0.2:53 (name server) in poll ← resolve, "
	     "timeout 5.00 s",
	     "a name server");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_POLL, 100 * MS, "poll", STACK("c:poll", "ask"));
	waited = verdict__waited(block, JANK_WAITED_TIMEOUT);
	waited->raw.timeout_ns = 100 * MS;
	says(block,
	     "main thread waited 100 ms for events that did not come in poll ← ask, until its "
	     "timeout of 100 ms",
	     "a timeout");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_OTHER, 100 * MS, "wait4", STACK("c:waitpid", "run_it"))
		->has_waker = true;
	block->samples[0].waker = verdict__task(99, 99, "sh");
	says(block,
	     "main thread waited 100 ms for a child process: sh (pid 99) in wait4 ← "
	     "run_it",
	     "a child");
}

/* One frame among many stacks: what may be told of it. */
static void test_minority(void)
{
	struct block *block = verdict__block();

	verdict__sample(block, JANK_STATE_RUNNABLE, 10 * MS, NULL, STACK("k:x", "zmalloc"));
	verdict__sample(block, JANK_STATE_RUNNABLE, 80 * MS, NULL, STACK("k:x", "c:_Fork"));
	says(block, "main thread waited 90.0 ms for a CPU",
	     "less than a quarter of the stacks names nothing");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_RUNNABLE, 30 * MS, NULL, STACK("k:x", "zmalloc"));
	verdict__sample(block, JANK_STATE_RUNNABLE, 60 * MS, NULL, STACK("k:x", "c:_Fork"));
	says(block, "main thread waited 90.0 ms for a CPU in zmalloc",
	     "a third of them does, where no other has a frame");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_DISK, 40 * MS, "read", STACK("k:x", "c:read", "a"));
	verdict__sample(block, JANK_STATE_DISK, 35 * MS, "read", STACK("k:x", "c:read", "b"));
	verdict__sample(block, JANK_STATE_DISK, 30 * MS, "read", STACK("k:x", "c:read", "d"));
	says(block, "main thread waited 105 ms for the disk in read",
	     "three functions, none of which has half of it");

	block = verdict__block();
	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	verdict__ticks(block, 1, STACK("k:copy_page_range", "zmalloc"));
	verdict__ticks(block, 19, STACK("k:copy_page_range", "c:_Fork"));
	says(block, "main thread was busy 200 ms in the kernel, mostly in copy_page_range",
	     "one tick of twenty");
}

static void test_no_symbols(void)
{
	struct block *block = verdict__block();

	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	verdict__ticks(block, 3, STACK("?"));
	verdict__ticks(block, 3, STACK("?0x340"));
	says(block, "main thread was busy 200 ms on the CPU, 100 % of it in program (no symbols)",
	     "one address does not stand for many");

	block = verdict__block();
	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	verdict__ticks(block, 6, STACK("?0x340"));
	says(block, "main thread was busy 200 ms on the CPU, 100 % of it in program+0x340",
	     "but for itself");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_DISK, 50 * MS, "read", STACK("k:x", "c:read", "?"));
	verdict__sample(block, JANK_STATE_DISK, 40 * MS, "read", STACK("k:x", "c:read", "?0x340"));
	says(block, "main thread waited 90.0 ms for the disk in read ← program (no symbols)",
	     "nor in a wait");
}

/* The runtime's inner functions are nobody's where one waits, and the work itself where one is busy. */
static void test_inner(void)
{
	static const char parse[] =
		"v8::internal::MaybeHandle<v8::internal::Object> "
		"v8::internal::JsonParser<unsigned char>::ParseJsonValue<true>(int)";
	struct block *block = verdict__block();

	verdict__sample(block, JANK_STATE_RUNNABLE, 90 * MS, NULL, STACK("k:x", parse, "load"));
	says(block, "main thread waited 90.0 ms for a CPU in load", "waiting for a CPU");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_FUTEX, 90 * MS, "futex", STACK("k:x", parse));
	says(block, "main thread waited 90.0 ms for another thread (futex)", "nothing else there");

	block = verdict__block();
	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	verdict__ticks(block, 9, STACK(parse, "load"));
	says(block,
	     "main thread was busy 200 ms on the CPU, 100 % of it in "
	     "v8::internal::JsonParser<…>::ParseJsonValue<…>",
	     "what it computed");

	block = verdict__block();
	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	verdict__ticks(block, 9,
		       STACK("v8::internal::Heap::Scavenge()",
			     "v8::internal::AllocationCounter::InvokeAllocationObservers(int)",
			     "parse", "main"));
	says(block,
	     "main thread spent 200 ms in garbage collection (v8::internal::Heap::Scavenge) ← "
	     "parse",
	     "who called the collector");
}

static struct block *preempted_by_few(double steal_pct, uint64_t ns)
{
	struct block *block = verdict__block();

	verdict__sample(block, JANK_STATE_RUNNABLE, 90 * MS, NULL, STACK("k:schedule", "work"));
	block->load.steal_pct = steal_pct;
	verdict__preemptor(block, 7, "cc1", ns, 122);
	return block;
}

/* Loops within the handler that wait for a program which they have started. */
static void test_nested(void)
{
	struct block *block = verdict__block();
	struct waited *waited;
	struct link *link;

	verdict__sample(block, JANK_STATE_POLL, 150 * MS, "epoll_pwait",
			STACK("k:do_epoll_wait", "c:epoll_pwait", "uv_run",
			      "node::SyncProcessRunner::Run(v8::Local<v8::Value>)"));
	verdict__waited(block, JANK_WAITED_FILE)->target = strdup("epoll");
	link = verdict__link(block, LINK_WOKE, verdict__task(77, 77, "sh"), JANK_STATE_SLEEP,
			     "clock_nanosleep", STACK("c:usleep", "nap"));
	verdict__stack(&link->wake_stack, STACK("k:unix_release_sock", "k:do_exit"));
	says(block,
	     "main thread waited 150 ms in epoll_pwait ← uv_run for a child process until the end "
	     "of sh (pid 77), which slept in clock_nanosleep ← nap",
	     "by the function that runs the child");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_POLL, 150 * MS, "epoll_pwait", STACK("c:epoll_pwait"));
	verdict__waited(block, JANK_WAITED_FILE)->target = strdup("epoll");
	link = verdict__link(block, LINK_WOKE, verdict__task(77, 77, "sh"), JANK_STATE_CNT, NULL,
			     STACK(NULL));
	verdict__stack(&link->wake_stack,
		       STACK("k:complete_signal", "k:do_notify_parent", "k:do_exit"));
	says(block,
	     "main thread waited 150 ms in epoll_pwait for a child process until the end of sh "
	     "(pid 77)",
	     "by the signal of its end");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_POLL, 150 * MS, "epoll_pwait", STACK("c:epoll_pwait"));
	verdict__waited(block, JANK_WAITED_FILE)->target = strdup("epoll");
	link = verdict__link(block, LINK_WOKE, verdict__task(77, 77, "server"), JANK_STATE_CNT,
			     NULL, STACK(NULL));
	verdict__stack(&link->wake_stack, STACK("k:unix_release_sock", "k:do_exit"));
	says(block,
	     "main thread waited 150 ms in epoll_pwait for events until the end of server (pid 77)",
	     "whose process ends needn't be a child");

	for (uint64_t cnt = 1; cnt <= 2; cnt++) {
		block = verdict__block();
		verdict__sample(block, JANK_STATE_POLL, 150 * MS, "poll", STACK("c:poll"));
		waited = verdict__waited(block, JANK_WAITED_SOCKET | JANK_WAITED_ARGS);
		waited->raw.args[1] = cnt;
		waited->peer = strdup("tcp 10.0.0.7:80");
		blame__block(block);
		is_str(block->cause.what, cnt == 1 ? "receive" : NULL, "a poll of %d sockets",
		       (int)cnt);
		is_str(block->cause.summary,
		       "main thread waited 150 ms for tcp 10.0.0.7:80 in poll", "and for whom");
		block__free(block);
	}
}

static void test_runnable(void)
{
	struct block *block = verdict__block();

	verdict__sample(block, JANK_STATE_RUNNABLE, 90 * MS, NULL, STACK("k:schedule", "work"));
	block->facts = (struct facts){ .known = true,
				       .throttled_ns = 88 * MS,
				       .quota_cgroup = strdup("/limited"),
				       .quota_ns = 20 * MS,
				       .quota_period_ns = 100 * MS };
	says(block,
	     "main thread waited 90.0 ms for a CPU in work: its cgroup /limited had used up its "
	     "CPU quota of 20.0 ms in 100 ms",
	     "a quota");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_RUNNABLE, 90 * MS, NULL, STACK("k:schedule", "work"));
	block->facts = (struct facts){ .known = true, .throttled_ns = 88 * MS };
	block->cgroup = strdup("/of-its-memory");
	says(block,
	     "main thread waited 90.0 ms for a CPU in work: its cgroup had used up its CPU quota",
	     "one that is not known");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_RUNNABLE, 90 * MS, NULL, STACK("k:schedule", "work"));
	block->facts = (struct facts){ .known = true, .prio = 122 };
	verdict__preemptor(block, 7, "stress", 89 * MS, 51);
	says(block,
	     "main thread waited 90.0 ms for a CPU in work: 'stress' (pid 7, real-time priority "
	     "50) ran instead",
	     "a better priority");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_RUNNABLE, 90 * MS, NULL, STACK("k:schedule", "work"));
	block->facts = (struct facts){ .known = true, .prio = 122, .cpus_allowed = 1 };
	block->load.total_pct = 30;
	verdict__preemptor(block, 7, "stress", 30 * MS, 122);
	verdict__preemptor(block, 9, "kworker/0:1", 35 * MS, 122);
	verdict__preemptor(block, 8, "stress", 20 * MS, 122);
	says(block,
	     "main thread waited 90.0 ms for a CPU in work: it is bound to 1 of 4 CPUs, where "
	     "'stress' (pid 7 and 1 more) ran for 50.0 ms of it, and 1 other",
	     "an affinity");

	block = verdict__block();
	verdict__sample(block, JANK_STATE_RUNNABLE, 90 * MS, NULL, STACK("k:schedule", "work"));
	block->facts = (struct facts){ .known = true, .stolen_ns = 85 * MS };
	says(block, "main thread waited 90.0 ms for a CPU in work: the hypervisor had taken it",
	     "a hypervisor");
	says(preempted_by_few(50, 5 * MS),
	     "main thread waited 90.0 ms for a CPU in work: a hypervisor took 50 % of the CPUs "
	     "meanwhile",
	     "a hypervisor, of which the thread's own clock knows nothing");
	says(preempted_by_few(50, 50 * MS),
	     "main thread waited 90.0 ms for a CPU in work: 'cc1' (pid 7) ran instead for 50.0 ms "
	     "of it",
	     "half of it is known");
	says(preempted_by_few(19, 5 * MS),
	     "main thread waited 90.0 ms for a CPU in work: 'cc1' (pid 7) ran instead for 5.00 ms "
	     "of it",
	     "or little was stolen");

	block = preempted_by_few(0, 20 * MS);
	verdict__preemptor(block, 7, "cc1", 30 * MS, 122);
	says(block,
	     "main thread waited 90.0 ms for a CPU in work: 'cc1' (pid 7) ran instead for 50.0 ms "
	     "of it",
	     "two threads of a process are one of it");
}

static void test_several(void)
{
	struct block *block = verdict__block();

	verdict__sample(block, JANK_STATE_SLEEP, 60 * MS, "clock_nanosleep", STACK("nap"));
	verdict__sample(block, JANK_STATE_DISK, 90 * MS, "fsync", STACK("c:fsync", "save"));
	says(block,
	     "main thread waited 90.0 ms for the disk in fsync ← save; also slept 60.0 ms in nap "
	     "(clock_nanosleep)",
	     "several causes, the largest first");
}

static void test_hang(void)
{
	struct block *block = verdict__block();

	block->type = BLOCK_HANG;
	block->tid = 12;
	free(block->thread);
	block->thread = strdup("ui");
	block->duration_ns = 5200 * MS;
	verdict__sample(block, JANK_STATE_FUTEX, 5200 * MS, "futex",
			STACK("c:pthread_mutex_lock", "draw"))
		->open = true;
	says(block,
	     "thread 'ui' has been waiting for 5.20 s for a mutex in pthread_mutex_lock ← draw",
	     "a hang");

	block = verdict__block();
	block->type = BLOCK_HANG;
	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	says(block, "main thread has been busy for 200 ms on the CPU", "one that runs");
}

/* Any bytes, of any length: bounded, and no character cut in two. */
static void test_hostile(void)
{
	struct block *block = verdict__block();
	char name[3000], path[3000];

	memset(name, 'x', sizeof(name));
	name[0] = 'a';
	for (size_t i = 1; i + 2 < sizeof(name); i += 2)
		memcpy(name + i, "\xc3\xa4", 2);
	name[sizeof(name) - 2] = name[sizeof(name) - 1] = '\0';
	memcpy(path, name, sizeof(path));
	verdict__sample(block, JANK_STATE_DISK, 80 * MS, "read", STACK(name));
	verdict__waited(block, JANK_WAITED_FILE)->path = strdup(path);
	blame__block(block);
	ok(strlen(block->cause.summary) < 400, "long names are cut");
	has_str(block->cause.summary, "\xa4…", "at a character's end");
	has_str(block->cause.summary, "(…\xc3", "and at its begin");
	block__free(block);
}

int main(void)
{
	test_busy();
	test_locks();
	test_by_waker();
	test_end_of_wait();
	test_chain();
	test_storage();
	test_sleep_and_poll();
	test_minority();
	test_no_symbols();
	test_inner();
	test_nested();
	test_runnable();
	test_several();
	test_hang();
	test_hostile();
	return tap__done();
}
