/* SPDX-License-Identifier: GPL-2.0 */
/* The sentence says a time only of the call and the object that took it. */
#include "bpf/futex.h"
#include "tests/tap.h"
#include "tests/unit/sentence_fixture.h"
#include "tests/unit/verdict_fixture.h"

#define LOCK_STACK                                                                                 \
	STACK("c:pthread_cond_timedwait", "c:os::PlatformEvent::park", "c:ObjectMonitor::enter",   \
	      "handle")
#define SLEEP_STACK                                                                                \
	STACK("c:pthread_cond_timedwait", "c:os::PlatformEvent::park", "c:JavaThread::sleep", "nap")

/* Sets the futex of the last sample, and its timeout (0: none). */
static void on_futex(struct block *block, uint64_t address, uint64_t timeout_ns)
{
	struct jank_rec_waited *raw = &verdict__waited(block, JANK_WAITED_ARGS)->raw;

	raw->args[0] = address;
	raw->args[1] = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;
	raw->timeout_ns = timeout_ns ? timeout_ns : UINT64_MAX;
	raw->hdr.flags |= timeout_ns ? JANK_WAITED_TIMEOUT : 0;
}

/* A span at the end of the block so far. */
static void add_futex(struct block *block, uint64_t ns, uint64_t address, uint64_t timeout_ns,
		      const char *const *texts)
{
	uint64_t t_ns = 0;

	if (block->sample_cnt) {
		const struct sample *last = &block->samples[block->sample_cnt - 1];

		t_ns = last->t_ns + last->ns + 1000;
	}
	verdict__sample(block, JANK_STATE_FUTEX, ns, "futex", texts)->t_ns = t_ns;
	on_futex(block, address, timeout_ns);
}

/* HotSpot waits for a monitor in slices, and sleeps by a condition variable. */
static void test_swing(void)
{
	struct block *block = verdict__block();

	block->duration_ns = 75 * MS;
	add_futex(block, 68 * MS, 0x1000, 68 * MS, SLEEP_STACK);
	add_futex(block, 1 * MS, 0x2000, 1 * MS, LOCK_STACK);
	add_futex(block, 2 * MS, 0x2000, 8 * MS, LOCK_STACK);
	verdict__woken_by(block, verdict__task(10, 13, "C1 CompilerThre"));
	verdict__link(block, LINK_WOKE, verdict__task(10, 13, "C1 CompilerThre"),
		      JANK_STATE_RUNNING, NULL, STACK("compile"));
	sentence__says(block, "main thread slept 68.0 ms in nap (JavaThread::sleep of 68.0 ms)",
		       "a sleep beside short waits for a monitor");

	block = verdict__block();
	add_futex(block, 1 * MS, 0x2000, 1 * MS, LOCK_STACK);
	add_futex(block, 8 * MS, 0x2000, 8 * MS, LOCK_STACK);
	add_futex(block, 60 * MS, 0x2000, 64 * MS, LOCK_STACK);
	verdict__woken_by(block, verdict__task(10, 13, "x"));
	block->duration_ns = 70 * MS;
	sentence__says(
		block,
		"main thread waited 69.0 ms for a mutex until woken by thread 'x' (tid 13) in "
		"ObjectMonitor::enter ← handle",
		"a monitor in slices is one wait, which it got");
}

static void test_two_locks(void)
{
	struct block *block = verdict__block();

	add_futex(block, 70 * MS, 0x1000, 0, STACK("c:pthread_mutex_lock", "handle"));
	add_futex(block, 40 * MS, 0x2000, 0, STACK("c:pthread_mutex_lock", "handle"));
	verdict__link(block, LINK_HELD, verdict__task(10, 13, "x"), JANK_STATE_SLEEP,
		      "clock_nanosleep", STACK("nap"));
	sentence__says(block,
		       "main thread waited 110 ms, 70.0 ms of it for a mutex in "
		       "pthread_mutex_lock ← handle",
		       "who held one mutex did not hold the other");

	block = verdict__block();
	add_futex(block, 40 * MS, 0x1000, 0, STACK("c:pthread_mutex_lock", "handle"));
	add_futex(block, 70 * MS, 0x1000, 0, STACK("c:pthread_mutex_lock", "handle"));
	verdict__link(block, LINK_HELD, verdict__task(10, 13, "x"), JANK_STATE_SLEEP,
		      "clock_nanosleep", STACK("nap"));
	sentence__says(block,
		       "main thread waited 110 ms in pthread_mutex_lock ← handle for a mutex, "
		       "70.0 ms of it held by thread 'x' (tid 13), which slept in "
		       "clock_nanosleep ← nap",
		       "a chain explains one of two waits for one mutex");
}

static void add_file(struct block *block, const char *path, uint64_t inode, uint64_t ns)
{
	struct wait_object *waited;

	verdict__sample(block, JANK_STATE_DISK, ns, "fsync", STACK("c:fsync", "flush"));
	waited = verdict__waited(block, JANK_WAITED_FILE);
	waited->raw.inode = inode;
	waited->path = strdup(path);
}

static void test_files(void)
{
	struct block *block = verdict__block();

	for (int i = 0; i < 10; i++)
		add_file(block, "/var/a", 100 + i, (10 + i) * MS);
	sentence__says(block, "main thread waited 145 ms for the disk in fsync ← flush",
		       "none of many files is named for the time of all");

	block = verdict__block();
	add_file(block, "/var/a", 1, 70 * MS);
	add_file(block, "/var/b", 2, 40 * MS);
	sentence__says(
		block,
		"main thread waited 110 ms for the disk, 70.0 ms of it in fsync ← flush (/var/a)",
		"a file is named for its own time");
}

static void test_peers(void)
{
	struct block *block = verdict__block();

	for (int i = 0; i < 4; i++) {
		struct wait_object *waited;

		verdict__sample(block, JANK_STATE_SOCKET, (20 + 2 * i) * MS, "recvfrom",
				STACK("c:recv", "ask"));
		waited = verdict__waited(block, JANK_WAITED_SOCKET | JANK_WAITED_FILE);
		waited->raw.inode = i;
		waited->peer = strdup("unix /run/db");
		waited->peer_task = verdict__task(7, 7, "db");
	}
	verdict__woken_by(block, verdict__task(7, 7, "db"));
	verdict__link(block, LINK_WOKE, verdict__task(7, 7, "db"), JANK_STATE_RUNNING, NULL,
		      STACK("query"));
	sentence__says(block,
		       "main thread waited 92.0 ms in recvfrom ← ask for unix /run/db (db, pid 7), "
		       "which for 26.0 ms of it was busy on the CPU in query",
		       "four connections to one peer, of which the chain explains one");
}

/* The kernel's names may be missing (kptr_restrict). */
static void test_served_file(void)
{
	struct block *block =
		verdict__off_cpu(JANK_STATE_DISK, 90 * MS, "fsync", STACK("c:fsync", "flush"));
	struct wait_object *waited = verdict__waited(block, JANK_WAITED_FILE);

	waited->path = strdup("/mnt/a");
	waited->device = strdup("fuse.x");
	waited->peer_task = verdict__task(7, 7, "x");
	verdict__woken_by(block, verdict__task(7, 7, "x"));
	verdict__link(block, LINK_WOKE, verdict__task(7, 7, "x"), JANK_STATE_SLEEP,
		      "clock_nanosleep", STACK("nap"));
	sentence__says(block,
		       "main thread waited 90.0 ms in fsync ← flush for /mnt/a on fuse.x (x, "
		       "pid 7), which slept in clock_nanosleep ← nap",
		       "the disk does not sleep, a file system's daemon may");
}

static void test_sleep_by_poll(void)
{
	struct block *block =
		verdict__off_cpu(JANK_STATE_POLL, 90 * MS, "poll", STACK("c:poll", "nap"));
	struct wait_object *waited = verdict__waited(block, JANK_WAITED_ARGS | JANK_WAITED_TIMEOUT);

	waited->raw.timeout_ns = 90 * MS;
	sentence__says(block, "main thread slept 90.0 ms in nap (poll of 90.0 ms)",
		       "a poll of no descriptor is a sleep");
	block = verdict__off_cpu(JANK_STATE_POLL, 90 * MS, "select", STACK("c:select", "nap"));
	waited = verdict__waited(block, JANK_WAITED_ARGS | JANK_WAITED_TIMEOUT);
	waited->raw.timeout_ns = 90 * MS;
	waited->raw.args[0] = 5;
	sentence__says(block,
		       "main thread waited 90.0 ms for events that did not come in select ← nap, "
		       "until its timeout of 90.0 ms",
		       "of some it is not");
}

int main(void)
{
	test_swing();
	test_two_locks();
	test_files();
	test_peers();
	test_served_file();
	test_sleep_by_poll();
	return tap__done();
}
