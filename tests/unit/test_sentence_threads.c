/* SPDX-License-Identifier: GPL-2.0 */
/* The sentence of the verdict: waits that other threads and processes ended or caused. */
#include "tests/tap.h"
#include "tests/unit/sentence_fixture.h"
#include "tests/unit/verdict_fixture.h"

static struct block *on_futex(const char *const *texts)
{
	return verdict__off_cpu(JANK_STATE_FUTEX, 150 * MS, "futex", texts);
}

/* A stack in the function that a collector calls to wait for its helpers. */
static struct block *in_collector(void)
{
	return on_futex(
		STACK("c:pthread_cond_wait", "wait_for_helpers", "runtime.gcStart", "alloc"));
}

static void test_mutex(void)
{
	struct block *block = on_futex(
		STACK("k:futex_do_wait", "c:___pthread_mutex_lock", "handle_query", "main"));

	verdict__link(block, LINK_HELD, verdict__task(10, 4711, "indexer"), JANK_STATE_DISK,
		      "fsync", STACK("k:io_schedule", "c:fsync", "flush_index", "run"));
	sentence__says(
		block,
		"main thread waited 150 ms in pthread_mutex_lock ← handle_query for a mutex held "
		"by thread 'indexer' (tid 4711), which waited for the disk in fsync ← flush_index",
		"a mutex whose holder waited for the disk");

	block = on_futex(STACK("k:x", "handle"));
	verdict__waited(block, JANK_WAITED_FUTEX)->owner = verdict__task(10, 12, "holder");
	sentence__says(
		block,
		"main thread waited 150 ms for a mutex held by thread 'holder' (tid 12) in handle",
		"a known holder with unknown activity");

	block = on_futex(STACK("k:futex_wait"));
	verdict__link(block, LINK_HELD, verdict__task(10, 12, "x"), JANK_STATE_CNT, NULL,
		      STACK(NULL));
	sentence__says(block, "main thread waited 150 ms for a mutex held by thread 'x' (tid 12)",
		       "what is held is a mutex");
}

static void test_other_locks(void)
{
	struct block *block = on_futex(STACK("c:pthread_cond_wait", "handle"));

	verdict__woken_by(block, verdict__task(10, 13, "sig"));
	sentence__says(block,
		       "main thread waited 150 ms for a condition variable until woken by thread "
		       "'sig' (tid 13) in pthread_cond_wait ← handle",
		       "a known waker");

	block = in_collector();
	verdict__link(block, LINK_WOKE, verdict__task(10, 12, "x"), JANK_STATE_RUNNING, NULL,
		      STACK("runtime.gcDrain"));
	sentence__says(block,
		       "main thread spent 150 ms in garbage collection, waiting for thread 'x' "
		       "(tid 12), which was in garbage collection in runtime.gcDrain",
		       "a wait in a collector");
	sentence__says(in_collector(),
		       "main thread spent 150 ms in garbage collection (runtime.gcStart) ← alloc",
		       "a collector without a known waker");
	sentence__says(on_futex(STACK("k:futex_wait")),
		       "main thread waited 150 ms for another thread (futex)", "nothing is known");
}

/* If the stack lacks the library's function, the waker's stack shows what was waited for. */
static void test_by_waker(void)
{
	struct block *block = on_futex(STACK("k:futex_do_wait"));
	struct link *link;

	link = verdict__link(block, LINK_WOKE, verdict__task(10, 13, "sig"), JANK_STATE_SLEEP,
			     "clock_nanosleep", STACK("c:usleep", "nap"));
	verdict__stack(&link->wake_stack, STACK("k:futex_wake", "c:pthread_cond_signal", "tell"));
	sentence__says(block,
		       "main thread waited 150 ms for a condition variable until woken by thread "
		       "'sig' (tid 13), which slept in clock_nanosleep ← nap",
		       "a condition, by the thread that signalled it");

	block = verdict__off_cpu(JANK_STATE_SOCKET, 90 * MS, "recvfrom", STACK("c:recv", "ask"));
	verdict__waited(block, JANK_WAITED_SOCKET)->target = strdup("unix pair");
	block->samples[0].waited->peer_task = verdict__task(10, 10, "program");
	verdict__link(block, LINK_WOKE, verdict__task(10, 14, "answerer"), JANK_STATE_SLEEP,
		      "clock_nanosleep", STACK("nap"));
	sentence__says(block,
		       "main thread waited 90.0 ms in recvfrom ← ask for unix pair (its own "
		       "process) until woken by thread 'answerer' (tid 14), which slept in "
		       "clock_nanosleep ← nap",
		       "a process may be its own peer: the thread is named");
}

/* A wait of 100 ms that used its full timeout. */
static struct block *timed_out(const char *const *texts)
{
	struct block *block = verdict__off_cpu(JANK_STATE_FUTEX, 100 * MS, "futex", texts);

	verdict__waited(block, JANK_WAITED_TIMEOUT)->raw.timeout_ns = 100 * MS;
	return block;
}

static void test_by_nobody(void)
{
	sentence__says(timed_out(STACK("k:futex_do_wait")),
		       "main thread waited 100 ms for a condition that did not come, until its "
		       "timeout of 100 ms",
		       "no thread signalled it");
	sentence__says(timed_out(STACK("k:futex_do_wait", "c:pthread_mutex_timedlock", "take")),
		       "main thread waited 100 ms for a mutex that it did not get in "
		       "pthread_mutex_timedlock ← take, until its timeout of 100 ms",
		       "no thread unlocked it");
}

/* The waker posted after a sleep, in a function of this language; NULL: compiled code. */
static struct block *posted(const char *const *slept, const char *language)
{
	struct block *block = on_futex(STACK("c:sem_wait", "take"));
	struct link *link = verdict__link(block, LINK_WOKE, verdict__task(10, 13, "pool"),
					  JANK_STATE_SLEEP, "clock_nanosleep", slept);

	verdict__stack(&link->wake_stack, STACK("k:futex_wake", "c:sem_post", "hold"));
	link->wake_stack.frames[2].language = language;
	return block;
}

#define POSTED "main thread waited 150 ms in sem_wait ← take for a semaphore until woken by thread "

/*
 * A link with nothing known except where it ended the wait: by its interpreter's frames, or by
 * frame pointers.
 */
static void test_end_of_wait(void)
{
	struct block *block;
	struct link *link;

	sentence__says(posted(STACK("c:usleep"), NULL),
		       POSTED "'pool' (tid 13), which slept in clock_nanosleep",
		       "compiled code that ended a wait is not blamed for the time before");
	sentence__says(posted(STACK("c:usleep"), "python"),
		       POSTED "'pool' (tid 13) in hold, which slept in clock_nanosleep",
		       "an interpreter's function that ended it is named");
	sentence__says(posted(STACK("c:usleep", "nap"), "python"),
		       POSTED "'pool' (tid 13), which slept in clock_nanosleep ← nap",
		       "unless its earlier activity is known");

	block = on_futex(STACK("c:pthread_cond_timedwait", "take_gil", "c:f", "take"));
	link = verdict__link(block, LINK_WOKE, verdict__task(10, 13, "pool"), JANK_STATE_RUNNABLE,
			     NULL, STACK("keep"));
	link->stack.frames[0].language = "python";
	sentence__says(
		block,
		"main thread waited 150 ms in take_gil for the interpreter's lock last held by thread 'pool' (tid 13) in keep, which "
		"waited for a CPU",
		"or the place where it lost the CPU");
}

static void test_several_threads(void)
{
	struct block *block = on_futex(STACK("c:pthread_mutex_lock", "a"));

	verdict__link(block, LINK_HELD, verdict__task(10, 12, "B"), JANK_STATE_FUTEX, "futex",
		      STACK("c:pthread_cond_wait", "b"));
	verdict__link(block, LINK_WOKE, verdict__task(10, 13, "C"), JANK_STATE_DISK, "pread64",
		      STACK("c:pread", "c"));
	sentence__says(block,
		       "main thread waited 150 ms in pthread_mutex_lock ← a for a mutex held by "
		       "thread 'B' (tid 12), which waited in pthread_cond_wait ← b for a condition "
		       "variable until woken by thread 'C' (tid 13), which waited for the disk in "
		       "pread64 ← c",
		       "three threads");
}

/* A bus and the threads of its connections only pass an event on. */
static struct block *relayed(void)
{
	struct block *block = on_futex(STACK("c:pthread_cond_wait", "call"));

	for (uint32_t tid = 12; tid < 14; tid++)
		verdict__link(block, LINK_WOKE, verdict__task(10, tid, "bus"), JANK_STATE_POLL,
			      "poll", STACK("c:poll"));
	return block;
}

static void test_relays(void)
{
	struct block *block = relayed();

	sentence__says(block,
		       "main thread waited 150 ms in pthread_cond_wait ← call for a condition "
		       "variable until woken through thread 'bus' (tid 12) by thread 'bus' (tid "
		       "13), which waited for events in poll",
		       "the last one known is told");

	block = relayed();
	verdict__link(block, LINK_WOKE, verdict__task(20, 20, "server"), JANK_STATE_SLEEP,
		      "clock_nanosleep", STACK("c:usleep", "handle"));
	sentence__says(block,
		       "main thread waited 150 ms in pthread_cond_wait ← call for a condition "
		       "variable until woken through thread 'bus' (tid 12), thread 'bus' (tid 13) "
		       "by server (pid 20), which slept in clock_nanosleep ← handle",
		       "tasks that pass an event on are named, the one behind them is told");
}

static void test_many_threads(void)
{
	struct block *block = on_futex(STACK("c:pthread_mutex_lock", "a"));

	for (uint32_t tid = 12; tid < 16; tid++)
		verdict__link(block, LINK_HELD, verdict__task(10, tid, "B"), JANK_STATE_FUTEX,
			      "futex", STACK("c:pthread_mutex_lock", "b"));
	sentence__says(block,
		       "main thread waited 150 ms in pthread_mutex_lock ← a for a mutex held by "
		       "thread 'B' (tid 12), which waited in pthread_mutex_lock ← b for a mutex "
		       "held by thread 'B' (tid 13), which waited for a mutex in "
		       "pthread_mutex_lock ← b, and so on (2 more)",
		       "the sentence has two links of a chain");

	block = on_futex(STACK("c:pthread_mutex_lock", "a"));
	verdict__link(block, LINK_HELD, verdict__task(10, 12, "B"), JANK_STATE_RUNNING, "write",
		      STACK("k:copy_page"));
	sentence__says(block,
		       "main thread waited 150 ms in pthread_mutex_lock ← a for a mutex held by "
		       "thread 'B' (tid 12), which was busy in the kernel, for write",
		       "no arrow without a place after it");
}

/* A holder of a mutex that wanted a CPU for 120 of 150 ms. */
static struct link *wanting_holder(struct block *block, uint32_t pid, uint64_t ns)
{
	struct link *link = verdict__link(block, LINK_HELD, verdict__task(10, 12, "low"),
					  JANK_STATE_RUNNABLE, NULL, STACK("work"));

	link->preemptors = calloc(1, sizeof(*link->preemptors));
	link->preemptors[link->preemptor_cnt++] = verdict__task(pid, 13, "hog");
	link->preemptors[0].ns = ns;
	link->part_ns[JANK_STATE_RUNNABLE] = 120 * MS;
	return link;
}

#define HELD                                                                                           \
	"main thread waited 150 ms in pthread_mutex_lock ← a for a mutex held by thread 'low' (tid " \
	"12), which for 80 % of that time waited for a CPU"

static void test_wanting(void)
{
	struct block *block = on_futex(STACK("c:pthread_mutex_lock", "a"));
	struct link *link = wanting_holder(block, 7, 119 * MS);

	link->throttled_ns = 110 * MS;
	sentence__says(block, HELD ", since its cgroup had used up its CPU quota",
		       "a holder whose quota is used up");

	block = on_futex(STACK("c:pthread_mutex_lock", "a"));
	wanting_holder(block, 7, 59 * MS);
	sentence__says(block, HELD, "a task with less than half of the time is not named");

	block = on_futex(STACK("c:pthread_mutex_lock", "a"));
	wanting_holder(block, 10, 119 * MS);
	sentence__says(block, HELD " while its own thread 'hog' (tid 13) ran",
		       "a thread of the same process");
}

static void test_inversion(void)
{
	struct block *block = on_futex(STACK("c:pthread_mutex_lock", "a"));
	struct link *link = verdict__link(block, LINK_HELD, verdict__task(10, 12, "low"),
					  JANK_STATE_RUNNABLE, NULL, STACK("work"));

	block->facts = (struct facts){ .known = true, .prio = 52 };
	link->prio = 122;
	link->preemptors = calloc(1, sizeof(*link->preemptors));
	link->preemptors[link->preemptor_cnt++] = verdict__task(7, 7, "hog");
	link->preemptors[0].prio = 91;
	link->preemptors[0].ns = 110 * MS;
	link->part_ns[JANK_STATE_RUNNABLE] = 120 * MS;
	sentence__says(block,
		       "main thread waited 150 ms in pthread_mutex_lock ← a for a mutex held by "
		       "thread 'low' (tid 12), which for 80 % of that time waited for a CPU while "
		       "'hog' (pid 7, real-time priority 10) ran: a priority inversion",
		       "a priority inversion");
}

static void test_other_process(void)
{
	struct block *block =
		verdict__off_cpu(JANK_STATE_SOCKET, 120 * MS, "recvfrom", STACK("c:recv", "query"));
	struct other_task server = verdict__task(612, 612, "postgres");
	struct link *link;

	verdict__waited(block, JANK_WAITED_SOCKET)->peer = strdup("unix /run/db.sock");
	block->samples[0].waited->peer_task = server;
	link = verdict__link(block, LINK_WOKE, server, JANK_STATE_RUNNING, NULL,
			     STACK("exec_simple_query", "main"));
	link->process = strdup("postgres");
	sentence__says(block,
		       "main thread waited 120 ms in recvfrom ← query for unix /run/db.sock "
		       "(postgres, pid 612), which was busy on the CPU in exec_simple_query",
		       "a busy server");

	block = on_futex(STACK("c:sem_wait", "a"));
	link = verdict__link(block, LINK_WOKE, verdict__task(77, 78, "poster"), JANK_STATE_CNT,
			     NULL, STACK(NULL));
	link->process = strdup("helper");
	sentence__says(block,
		       "main thread waited 150 ms in sem_wait ← a for a semaphore until woken by "
		       "helper (pid 77, thread 'poster')",
		       "nothing was seen of it except the wake-up");
}

/* A loop within the handler. */
static struct block *in_epoll(const char *const *texts)
{
	struct block *block = verdict__off_cpu(JANK_STATE_POLL, 150 * MS, "epoll_pwait", texts);

	verdict__waited(block, JANK_WAITED_FILE)->target = strdup("epoll");
	return block;
}

/* Loops that wait for a program that they started, or for another one. */
static void test_ended_process(void)
{
	struct block *block = in_epoll(STACK("k:do_epoll_wait", "c:epoll_pwait", "uv_run",
					     "node::SyncProcessRunner::Run(v8::Local<v8::Value>)"));
	struct link *link =
		verdict__link(block, LINK_WOKE, verdict__task(77, 77, "sh"), JANK_STATE_SLEEP,
			      "clock_nanosleep", STACK("c:usleep", "nap"));

	verdict__stack(&link->wake_stack, STACK("k:unix_release_sock", "k:do_exit"));
	sentence__says(block,
		       "main thread waited 150 ms in epoll_pwait ← uv_run for a child process "
		       "until the end of sh (pid 77), which slept in clock_nanosleep ← nap",
		       "by the function that runs the child");

	block = in_epoll(STACK("c:epoll_pwait"));
	link = verdict__link(block, LINK_WOKE, verdict__task(77, 77, "sh"), JANK_STATE_CNT, NULL,
			     STACK(NULL));
	verdict__stack(&link->wake_stack,
		       STACK("k:complete_signal", "k:do_notify_parent", "k:do_exit"));
	sentence__says(block,
		       "main thread waited 150 ms in epoll_pwait for a child process until the "
		       "end of sh (pid 77)",
		       "by the signal at its end");

	block = in_epoll(STACK("c:epoll_pwait"));
	link = verdict__link(block, LINK_WOKE, verdict__task(77, 77, "server"), JANK_STATE_CNT,
			     NULL, STACK(NULL));
	verdict__stack(&link->wake_stack, STACK("k:unix_release_sock", "k:do_exit"));
	sentence__says(block,
		       "main thread waited 150 ms in epoll_pwait for events until the end of "
		       "server (pid 77)",
		       "a process that ends need not be a child");
}

/* The facts are found in /proc (test_futex_wait.c, tests/field/deadlock.t). */
static struct block *in_deadlock(const char *lock)
{
	struct block *block = on_futex(STACK("c:pthread_mutex_lock", "handle"));

	verdict__waited(block, JANK_WAITED_ARGS)->lock = strdup(lock);
	block->deadlock = true;
	return block;
}

static void add_holder(struct block *block, uint32_t tid, const char *comm, const char *waits_for)
{
	struct link *link =
		verdict__link(block, LINK_HELD, verdict__task(10, tid, comm),
			      waits_for ? JANK_STATE_FUTEX : JANK_STATE_CNT, NULL, STACK(NULL));
	const struct jank_rec_waited raw = { .fd = -1 };

	if (!waits_for)
		return;
	link->waited = wait_object__new(&raw);
	link->waited->lock = strdup(waits_for);
}

static void test_deadlock(void)
{
	struct block *block = in_deadlock("mutex 'a'");

	add_holder(block, 12, "indexer", "mutex 'b'");
	add_holder(block, 10, "program", NULL);
	blame__block(block);
	is_str(block->cause.what, "deadlock", "a deadlock is the cause");
	sentence__says(block,
		       "main thread waited 150 ms in pthread_mutex_lock ← handle: deadlock: main "
		       "thread → mutex 'a' held by thread 'indexer' (tid 12) → mutex 'b' held by "
		       "the main thread",
		       "with its threads and locks");
	block = in_deadlock("mutex 'a'");
	add_holder(block, 10, "program", NULL);
	sentence__says(block,
		       "main thread waited 150 ms in pthread_mutex_lock ← handle: deadlock: mutex "
		       "'a', which it holds itself",
		       "one thread is enough");
	block = in_deadlock("mutex in the heap");
	add_holder(block, 12, "", NULL);
	block->chain[0].gone = LINK_ENDED;
	sentence__says(block,
		       "main thread waited 150 ms in pthread_mutex_lock ← handle: deadlock: main "
		       "thread → mutex in the heap held by thread 12, which has ended",
		       "or none");
}

int main(void)
{
	test_deadlock();
	test_mutex();
	test_other_locks();
	test_by_waker();
	test_by_nobody();
	test_end_of_wait();
	test_several_threads();
	test_relays();
	test_many_threads();
	test_wanting();
	test_inversion();
	test_other_process();
	test_ended_process();
	return tap__done();
}
