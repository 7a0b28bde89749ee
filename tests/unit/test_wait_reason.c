/* SPDX-License-Identifier: GPL-2.0 */
/* cause.what of one sample, by each kind of evidence, and which of several takes precedence. */
#include "model/chain/wait_reason.h"

#include <sys/stat.h>

#include "tests/tap.h"
#include "tests/unit/verdict_fixture.h"
#include "verdict/sentence.h"

/* cause.what of the block's only span; frees the block. */
static const char *said_by(struct block *block)
{
	struct activity activity = activity__of_sample(&block->samples[0]);
	const char *ret = wait_reason__of(&activity);

	block__free(block);
	return ret;
}

/* cause.what for a span of 100 ms in this state, with this call and stack. */
static const char *what(uint32_t state, const char *syscall, const char *const *texts)
{
	return said_by(verdict__off_cpu(state, state ? 100 * MS : 0, syscall, texts));
}

struct kernel_row {
	uint32_t state;
	const char *syscall, *frames[4], *what;
};

static void check_rows(const struct kernel_row *rows, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		is_str(what(rows[i].state, rows[i].syscall, rows[i].frames), rows[i].what,
		       "%s in %s, %s", rows[i].frames[0], state__name(rows[i].state),
		       rows[i].syscall ? rows[i].syscall : "no call");
}

static void test_kernel(void)
{
	static const struct kernel_row rows[] = {
		{ JANK_STATE_PAGE_FAULT, NULL, { "k:do_swap_page", "f" }, "swap_in" },
		{ JANK_STATE_PAGE_FAULT, NULL, { "k:filemap_fault", "f" }, "file" },
		{ JANK_STATE_PAGE_FAULT, NULL, { "k:handle_userfault", "f" }, "userfault" },
		{ JANK_STATE_PAGE_FAULT,
		  NULL,
		  { "k:rwsem_down_read_slowpath", "f" },
		  "kernel_lock" },
		{ JANK_STATE_PAGE_FAULT, NULL, { "k:shrink_node", "k:filemap_fault" }, "reclaim" },
		{ JANK_STATE_DISK,
		  "pwrite64",
		  { "k:shrink_lruvec", "k:try_to_free_mem_cgroup_pages" },
		  "memory_limit" },
		{ JANK_STATE_PAGE_FAULT, NULL, { "k:compact_zone_order" }, "compaction" },
		{ JANK_STATE_PAGE_FAULT, NULL, { "k:f" }, NULL },
		{ JANK_STATE_DISK, "fdatasync", { "k:jbd2_log_wait_commit" }, "fsync" },
		{ JANK_STATE_DISK, "pread64", { "k:f" }, "read" },
		{ JANK_STATE_DISK, "pwrite64", { "k:vfs_fsync_range" }, "write" },
		{ JANK_STATE_DISK, "write", { "k:balance_dirty_pages" }, "dirty_limit" },
		{ JANK_STATE_DISK,
		  "write",
		  { "k:balance_dirty_pages_ratelimited_flags" },
		  "dirty_limit" },
		{ JANK_STATE_DISK, "getdents64", { "k:f" }, "metadata" },
		{ JANK_STATE_DISK, "openat", { "k:f" }, "metadata" },
		{ JANK_STATE_DISK, "openat", { "k:__mutex_lock.constprop.0" }, "kernel_lock" },
		{ JANK_STATE_DISK, "ioctl", { "k:f" }, NULL },
		{ JANK_STATE_RUNNING,
		  NULL,
		  { "k:handle_softirqs", "k:__irq_exit_rcu", "f" },
		  "interrupts" },
		{ JANK_STATE_RUNNING,
		  "sendto",
		  { "k:handle_softirqs", "k:__local_bh_enable_ip", "k:tcp_sendmsg" },
		  NULL },
		{ JANK_STATE_RUNNING,
		  NULL,
		  { "k:shrink_folio_list", "k:try_to_free_pages" },
		  "reclaim" },
		{ JANK_STATE_RUNNING, NULL, { "filemap_fault", "main" }, NULL },
		{ JANK_STATE_RUNNABLE, NULL, { "k:asm_sysvec_reschedule_ipi" }, NULL },
		{ JANK_STATE_SLEEP, "clock_nanosleep", { "k:f" }, NULL },
	};

	check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

static void test_kernel_other(void)
{
	static const struct kernel_row rows[] = {
		{ JANK_STATE_OTHER, "wait4", { "k:do_wait" }, "child" },
		{ JANK_STATE_OTHER, "vfork", { "k:f" }, "child" },
		{ JANK_STATE_OTHER, "flock", { "k:f" }, "file_lock" },
		{ JANK_STATE_OTHER, "fcntl", { "k:fcntl_setlk" }, "file_lock" },
		{ JANK_STATE_OTHER, "ioctl", { "k:f" }, NULL },
		{ JANK_STATE_OTHER, "newfstatat", { "k:f" }, "metadata" },
		{ JANK_STATE_OTHER, "openat", { "k:autofs_wait", "k:do_open" }, "metadata" },
		{ JANK_STATE_OTHER, "openat", { "k:uart_open", "k:chrdev_open" }, NULL },
		{ JANK_STATE_OTHER, "openat", { "k:fifo_open", "f" }, "fifo" },
		{ JANK_STATE_OTHER, "openat", { "c:open", "f" }, NULL },
		{ JANK_STATE_OTHER, "newfstatat", { "k:rpc_wait_bit_killable" }, "network_fs" },
		{ JANK_STATE_OTHER, "write", { "k:wait_woken", "k:n_tty_write" }, "send" },
		{ JANK_STATE_OTHER, "read", { "k:wait_woken", "k:n_tty_read" }, "receive" },
		{ JANK_STATE_OTHER, "ioctl", { "k:tty_wait_until_sent" }, "send" },
		{ JANK_STATE_STOPPED, "wait4", { "k:do_signal_stop" }, NULL },
		{ JANK_STATE_STOPPED, "newfstatat", { "k:f" }, NULL },
	};

	check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

/* A wait for an interpreter's lock consists of slices with a timeout. */
static void test_slices(void)
{
	struct block *block = verdict__block();
	struct sample *sample = verdict__sample(block, JANK_STATE_FUTEX, 5 * MS, "futex",
						STACK("c:pthread_cond_timedwait", "take_gil"));
	struct activity activity;

	verdict__waited(block, JANK_WAITED_TIMEOUT)->raw.timeout_ns = 5 * MS;
	activity = activity__of_sample(sample);
	ok(activity__timed_out(&activity), "its timeout passed");
	is_str(wait_reason__of(&activity), "gil", "but it was for the lock all the same");
	block__free(block);
}

static void test_locks(void)
{
	static const struct {
		const char *frames[4], *what;
	} rows[] = {
		{ { "c:___pthread_mutex_lock", "f" }, "mutex" },
		{ { "c:__lll_lock_wait", "f" }, "mutex" },
		{ { "c:__lll_lock_wait", "c:__pthread_mutex_cond_lock", "c:pthread_cond_wait" },
		  "mutex" },
		{ { "c:___pthread_cond_timedwait64", "f" }, "condition" },
		{ { "c:pthread_cond_wait@@GLIBC_2.3.2", "f" }, "condition" },
		{ { "c:pthread_rwlock_rdlock", "f" }, "rwlock" },
		{ { "c:__new_sem_wait_slow64.constprop.0", "f" }, "semaphore" },
		{ { "c:__pthread_clockjoin_ex", "f" }, "join" },
		{ { "c:pthread_barrier_wait", "f" }, "barrier" },
		{ { "c:pthread_cond_timedwait", "take_gil", "PyEval_RestoreThread" }, "gil" },
		{ { "std::sys::sync::mutex::futex::Mutex::lock_contended", "f" }, "mutex" },
		{ { "c:pthread_cond_wait", "PosixSemaphore",
		    "SafepointSynchronize::block(JavaThread*)" },
		  "safepoint" },
		{ { "k:futex_do_wait", "my_pthread_mutex_lock" }, NULL },
		{ { "k:pthread_mutex_lock", "f" }, NULL },
		{ { "f" }, NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		is_str(what(JANK_STATE_FUTEX, "futex", rows[i].frames), rows[i].what, "%s",
		       rows[i].frames[0]);
}

static void test_collectors(void)
{
	static const char *const names[] = {
		"v8::internal::Heap::Scavenge()",
		"VM_G1CollectForAllocation::doit()",
		"runtime.gcAssistAlloc1",
		"gc_collect_main.isra.0",
		"art::gc::collector::ConcurrentCopying::RunPhases()",
		"luaC_step",
	};
	static const uint32_t states[] = { JANK_STATE_RUNNING, JANK_STATE_FUTEX, JANK_STATE_SLEEP,
					   JANK_STATE_PAGE_FAULT };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		is_str(what(states[i % 4], NULL, STACK("c:x", names[i], "main")), "gc", "%s",
		       names[i]);
	is_str(what(JANK_STATE_RUNNING, NULL, STACK("v8::internal::Heap::AllocateRaw", "main")),
	       NULL, "an allocation is no collection");
	is_str(wait_reason__of_thread("GC Thread#3"), "gc", "a collector's thread");
	is_str(wait_reason__of_thread("worker"), NULL, "whatever it does");
}

/* A futex wait by the arguments of its call. */
static const char *by_args(uint64_t op, uint32_t val, uint32_t waker)
{
	struct block *block = verdict__off_cpu(JANK_STATE_FUTEX, 100 * MS, "futex", STACK("f"));
	struct wait_object *waited = verdict__waited(block, JANK_WAITED_ARGS);

	waited->raw.args[1] = op;
	waited->raw.args[2] = val;
	block->samples[0].has_waker = waker;
	block->samples[0].waker.tid = waker;
	return said_by(block);
}

static void test_futex_args(void)
{
	is_str(by_args(128, 2, 0), "mutex", "glibc's lock word");
	is_str(by_args(128, 3, 0), NULL, "another word");
	is_str(by_args(128 | 6, 0, 0), "mutex", "a PI mutex");
	is_str(by_args(9 | 256, 4711, 4711), "join", "a tid, cleared by that thread's end");
	is_str(by_args(9 | 256, 4711, 12), NULL, "by another thread");
	is_str(by_args(9 | 256 | 128, 4711, 4711), NULL, "a private word");
}

/* A wait for the object of a descriptor. */
static const char *by_waited(uint32_t state, const char *syscall, unsigned flags,
			     void (*set)(struct wait_object *waited))
{
	struct block *block = verdict__off_cpu(state, 100 * MS, syscall, STACK("f"));

	set(verdict__waited(block, flags));
	return said_by(block);
}

static void set_nothing(struct wait_object *waited)
{
	(void)waited;
}

static void set_dns(struct wait_object *waited)
{
	waited->raw.dport = 53;
}

static void set_syn_sent(struct wait_object *waited)
{
	waited->raw.state = 2;
}

static void set_timeout(struct wait_object *waited)
{
	waited->raw.timeout_ns = 100 * MS;
}

static void set_long_timeout(struct wait_object *waited)
{
	waited->raw.timeout_ns = 150 * MS;
}

static void set_no_timeout(struct wait_object *waited)
{
	waited->raw.timeout_ns = UINT64_MAX;
}

static void set_eventfd(struct wait_object *waited)
{
	waited->target = strdup("eventfd 12");
}

static void set_eventfd_path(struct wait_object *waited)
{
	waited->path = strdup("…/[eventfd]");
}

static void set_owner(struct wait_object *waited)
{
	waited->owner = verdict__task(10, 12, "x");
}

static void set_pty(struct wait_object *waited)
{
	waited->raw.mode = S_IFCHR | 0620;
	waited->path = strdup("/dev/pts/3");
}

static void set_device(struct wait_object *waited)
{
	waited->raw.mode = S_IFCHR | 0620;
	waited->path = strdup("/dev/x");
}

static void set_nfs(struct wait_object *waited)
{
	waited->path = strdup("/mnt/x");
	waited->device = strdup("nfs4 server:/x");
}

static void set_sshfs(struct wait_object *waited)
{
	waited->path = strdup("/mnt/x");
	waited->device = strdup("fuse.sshfs user@server:");
}

static void set_dm(struct wait_object *waited)
{
	waited->path = strdup("/mnt/x");
	waited->device = strdup("fuse-pool");
}

static void set_path(struct wait_object *waited)
{
	waited->path = strdup("/x");
}

static void test_waited(void)
{
	static const struct {
		uint32_t state;
		const char *syscall;
		unsigned flags;
		void (*set)(struct wait_object *waited);
		const char *what, *name;
	} rows[] = {
		{ JANK_STATE_SOCKET, "recvfrom", JANK_WAITED_SOCKET, set_nothing, "receive",
		  "recvfrom" },
		{ JANK_STATE_SOCKET, "sendmsg", JANK_WAITED_SOCKET, set_nothing, "send",
		  "sendmsg" },
		{ JANK_STATE_SOCKET, "connect", JANK_WAITED_SOCKET, set_nothing, "connect",
		  "connect" },
		{ JANK_STATE_SOCKET, "recvfrom", JANK_WAITED_SOCKET, set_dns, "dns", "of port 53" },
		{ JANK_STATE_SOCKET, "recvfrom", 0, set_dns, "receive",
		  "a port that was not read" },
		{ JANK_STATE_POLL, "poll", JANK_WAITED_SOCKET, set_dns, "dns", "poll of port 53" },
		{ JANK_STATE_POLL, "poll", JANK_WAITED_SOCKET, set_syn_sent, "connect",
		  "poll of a connect" },
		{ JANK_STATE_POLL, "poll", JANK_WAITED_TIMEOUT, set_timeout, "timeout",
		  "its full timeout" },
		{ JANK_STATE_POLL, "poll", JANK_WAITED_TIMEOUT, set_long_timeout, NULL,
		  "less than that" },
		{ JANK_STATE_POLL, "poll", JANK_WAITED_TIMEOUT, set_no_timeout, NULL, "none" },
		{ JANK_STATE_POLL, "poll", 0, set_eventfd, "eventfd", "poll of an eventfd" },
		{ JANK_STATE_PIPE, "read", 0, set_nothing, "receive", "a pipe's read" },
		{ JANK_STATE_PIPE, "write", 0, set_nothing, "send", "a pipe's write" },
		{ JANK_STATE_OTHER, "read", 0, set_eventfd, "eventfd", "an eventfd's read" },
		{ JANK_STATE_OTHER, "read", JANK_WAITED_FILE, set_eventfd_path, "eventfd",
		  "by its path" },
		{ JANK_STATE_OTHER, "write", JANK_WAITED_FILE, set_pty, "send", "a terminal" },
		{ JANK_STATE_OTHER, "read", JANK_WAITED_FILE, set_pty, "receive", "input" },
		{ JANK_STATE_OTHER, "ioctl", JANK_WAITED_FILE, set_pty, NULL, "another call" },
		{ JANK_STATE_OTHER, "write", 0, set_pty, NULL, "a file that was not read" },
		{ JANK_STATE_OTHER, "write", JANK_WAITED_FILE, set_device, NULL, "a device" },
		{ JANK_STATE_OTHER, "openat", JANK_WAITED_PATH, set_nfs, "network_fs", "NFS" },
		{ JANK_STATE_DISK, "newfstatat", JANK_WAITED_PATH, set_nfs, "network_fs",
		  "NFS, not interruptible" },
		{ JANK_STATE_DISK, "read", JANK_WAITED_FILE, set_sshfs, "fuse", "sshfs" },
		{ JANK_STATE_DISK, "read", JANK_WAITED_FILE, set_dm, "read", "a disk's name" },
		{ JANK_STATE_FUTEX, "futex", JANK_WAITED_FUTEX, set_owner, "mutex", "an owner" },
		{ JANK_STATE_FUTEX, "futex", JANK_WAITED_TIMEOUT, set_timeout, "timeout",
		  "a timed wait" },
		{ JANK_STATE_PAGE_FAULT, NULL, JANK_WAITED_FILE, set_path, "file",
		  "a file's page" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		is_str(by_waited(rows[i].state, rows[i].syscall, rows[i].flags, rows[i].set),
		       rows[i].what, "%s", rows[i].name);
}

static void test_resolver(void)
{
	is_str(what(JANK_STATE_POLL, "poll",
		    STACK("c:poll", "c:__res_nsend", "c:getaddrinfo", "f")),
	       "dns", "the resolver's poll");
	is_str(what(JANK_STATE_RUNNING, NULL, STACK("c:getaddrinfo", "f")), NULL,
	       "its time on the CPU is not a wait");
}

/* The list of words must have all words of a table: it is the schema's, too. */
static void test_vocabulary(void)
{
	static const struct wait_reason_table *const tables[] = {
		&reasons_kernel_memory, &reasons_kernel_wait, &reasons_kernel_interrupts,
		&reasons_kernel_exit,	&reasons_gc,	      &reasons_runtime,
		&reasons_lock,		&reasons_wake,	      &reasons_resolver,
		&reasons_child,		&reasons_thread,      &reasons_kernel_terminal,
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		bool all = tables[i]->cnt > 0;

		for (size_t j = 0; j < tables[i]->cnt; j++)
			all &= !!words__of_reason(tables[i]->rules[j].reason);
		ok(all, "all words of table %zu are in the list", i);
	}
	ok(reasons_kernel_exit.kernel && reasons_kernel_wait.kernel && !reasons_lock.kernel,
	   "a table is of the kernel or not");
	is_str(words__of_reason("nonsense"), NULL, "and the list has no other");
}

int main(void)
{
	test_kernel();
	test_kernel_other();
	test_slices();
	test_locks();
	test_collectors();
	test_futex_args();
	test_waited();
	test_resolver();
	test_vocabulary();
	return tap__done();
}
