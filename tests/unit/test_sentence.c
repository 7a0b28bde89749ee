/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sentence of the verdict: waits for things, several causes, and little text if little is
 * known.
 */
#include "tests/tap.h"
#include "tests/unit/sentence_fixture.h"
#include "tests/unit/verdict_fixture.h"

/* Sets the file that the last sample waited for. */
static void waited_for_file(struct block *block, const char *path)
{
	struct wait_object *waited = verdict__waited(block, JANK_WAITED_FILE);

	waited->path = strdup(path);
	waited->device = strdup("vda");
}

static void test_file(void)
{
	struct block *block = verdict__off_cpu(JANK_STATE_DISK, 80 * MS, "pread64",
					       STACK("k:io_schedule", "c:pread", "load"));

	waited_for_file(block, "/var/lib/x.db");
	sentence__says(
		block,
		"main thread waited 80.0 ms for the disk in pread64 ← load (/var/lib/x.db on vda)",
		"a read");

	block = verdict__off_cpu(JANK_STATE_PAGE_FAULT, 80 * MS, NULL,
				 STACK("k:io_schedule", "k:filemap_fault", "handle_x"));
	waited_for_file(block, "/usr/lib/x.so");
	sentence__says(block,
		       "main thread waited 80.0 ms for a page of /usr/lib/x.so on vda in handle_x",
		       "a page of a file");
}

static void test_memory(void)
{
	struct block *block = verdict__off_cpu(JANK_STATE_PAGE_FAULT, 80 * MS, NULL,
					       STACK("k:io_schedule", "k:do_swap_page", "touch"));

	block->facts = (struct facts){ .known = true, .maj_flt_cnt = 312 };
	block->live->cpu->psi->memory = 43;
	sentence__says(block,
		       "main thread waited 80.0 ms for memory that was swapped out in touch, 312 "
		       "major page faults, the machine's memory pressure at 43 %",
		       "swap");

	block = verdict__off_cpu(JANK_STATE_PAGE_FAULT, 80 * MS, NULL,
				 STACK("k:io_schedule", "k:shrink_folio_list",
				       "k:try_to_free_mem_cgroup_pages", "k:do_anonymous_page",
				       "touch"));
	sentence__says(block, "main thread spent 80.0 ms at its cgroup's memory limit in touch",
		       "a cgroup's limit");
}

static void test_sleep(void)
{
	struct block *block = verdict__off_cpu(JANK_STATE_SLEEP, 150 * MS, "clock_nanosleep",
					       STACK("c:usleep", "do_sleep"));

	verdict__waited(block, JANK_WAITED_TIMEOUT)->raw.timeout_ns = 150 * MS;
	sentence__says(block, "main thread slept 150 ms in do_sleep (clock_nanosleep of 150 ms)",
		       "a sleep");
}

static void test_poll(void)
{
	struct block *block =
		verdict__off_cpu(JANK_STATE_POLL, 101 * MS, "poll", STACK("c:poll", "resolve"));
	struct wait_object *waited =
		verdict__waited(block, JANK_WAITED_TIMEOUT | JANK_WAITED_SOCKET);

	waited->raw.timeout_ns = 5000 * MS;
	waited->raw.dport = 53;
	waited->peer = strdup("udp 10.0.0.2:53");
	sentence__says(block,
		       "main thread waited 101 ms for udp 10.0.0.2:53 (name server) in poll ← "
		       "resolve, timeout 5.00 s",
		       "a name server");

	block = verdict__off_cpu(JANK_STATE_POLL, 100 * MS, "poll", STACK("c:poll", "ask"));
	verdict__waited(block, JANK_WAITED_TIMEOUT)->raw.timeout_ns = 100 * MS;
	sentence__says(block,
		       "main thread waited 100 ms for events that did not come in poll ← ask, "
		       "until its timeout of 100 ms",
		       "a timeout");
}

/* A poll of one socket is a receive; of several it is unknown for which. */
static void test_poll_of_sockets(void)
{
	for (uint64_t cnt = 1; cnt <= 2; cnt++) {
		struct block *block =
			verdict__off_cpu(JANK_STATE_POLL, 150 * MS, "poll", STACK("c:poll"));
		struct wait_object *waited =
			verdict__waited(block, JANK_WAITED_SOCKET | JANK_WAITED_ARGS);

		waited->raw.args[1] = cnt;
		waited->peer = strdup("tcp 10.0.0.7:80");
		blame__block(block);
		is_str(block->cause.what, cnt == 1 ? "receive" : NULL, "a poll of %d sockets",
		       (int)cnt);
		is_str(block->cause.summary,
		       "main thread waited 150 ms for tcp 10.0.0.7:80 in poll", "and the peer");
		block__free(block);
	}
}

static void test_child(void)
{
	struct block *block =
		verdict__off_cpu(JANK_STATE_OTHER, 100 * MS, "wait4", STACK("c:waitpid", "run_it"));

	verdict__woken_by(block, verdict__task(99, 99, "sh"));
	sentence__says(block,
		       "main thread waited 100 ms for a child process: sh (pid 99) in wait4 ← "
		       "run_it",
		       "a child");
}

/* A block of one wait, with its kind. */
static void check_kind(struct block *block, const char *kind, const char *want, const char *name)
{
	blame__block(block);
	is_str(block->cause.kind, kind, "%s: kind", name);
	is_str(block->cause.summary, want, "%s: sentence", name);
	block__free(block);
}

static struct block *at_terminal(const char *call, const char *inner, const char *path)
{
	struct block *block = verdict__off_cpu(JANK_STATE_OTHER, 100 * MS, call,
					       STACK("k:wait_woken", inner, "c:write", "log_line"));

	waited_for_file(block, path);
	return block;
}

/* A wait for a path in the kernel, which is of no state of its own. */
static struct block *in_path(uint32_t state, const char *inner, const char *path,
			     const char *device)
{
	struct block *block =
		verdict__off_cpu(state, 100 * MS, "newfstatat", STACK(inner, "c:fstatat", "scan"));
	struct wait_object *waited = verdict__waited(block, JANK_WAITED_PATH);

	waited->path = path ? strdup(path) : NULL;
	waited->device = device ? strdup(device) : NULL;
	return block;
}

static void check_syncers(size_t cnt, uint64_t ns, const char *want, const char *name)
{
	struct block *block = verdict__off_cpu(JANK_STATE_DISK, 100 * MS, "fsync",
					       STACK("k:jbd2_log_wait_commit", "c:fsync", "save"));

	block->syncers = calloc(cnt, sizeof(*block->syncers));
	block->syncer_cnt = cnt;
	for (size_t i = 0; i < cnt; i++) {
		block->syncers[i] = verdict__task(40, 40 + (uint32_t)i, "postgres");
		block->syncers[i].ns = ns;
	}
	check_kind(block, "disk", want, name);
}

static void test_syncers(void)
{
	check_syncers(1, 80 * MS,
		      "main thread waited 100 ms for the disk in fsync ← save; meanwhile postgres "
		      "(pid 40) synced files of the same device for 80.0 ms",
		      "another one that syncs");
	check_syncers(2, 80 * MS,
		      "main thread waited 100 ms for the disk in fsync ← save; meanwhile postgres "
		      "(pid 40) synced files of the same device for 80.0 ms, and 1 other",
		      "two");
	check_syncers(3, 80 * MS,
		      "main thread waited 100 ms for the disk in fsync ← save; meanwhile postgres "
		      "(pid 40) synced files of the same device for 80.0 ms, and 2 others",
		      "three");
	check_syncers(2, 0,
		      "main thread waited 100 ms for the disk in fsync ← save; meanwhile postgres "
		      "(pid 40) syncs files of the same device, and 1 other",
		      "their calls last");
}

static void check_enders(size_t cnt, const char *want, const char *name)
{
	struct block *block = verdict__off_cpu(JANK_STATE_PIPE, 100 * MS, "read",
					       STACK("k:pipe_read", "c:read", "load"));

	block->enders = calloc(cnt, sizeof(*block->enders));
	block->ender_cnt = cnt;
	for (size_t i = 0; i < cnt; i++)
		block->enders[i] = verdict__task(40 + (uint32_t)i, 40 + (uint32_t)i, "sh");
	block->enders[cnt - 1].pid = cnt == 2 ? block->pid : block->enders[cnt - 1].pid;
	check_kind(block, "pipe", want, name);
}

static void test_enders(void)
{
	check_enders(2,
		     "main thread waited 100 ms for data in a pipe in read ← load; any of sh (pid "
		     "40) and its own process may end that",
		     "its own process is one of two that may end the wait");
	check_enders(3,
		     "main thread waited 100 ms for data in a pipe in read ← load; any of sh (pid "
		     "40), sh (pid 41) and sh (pid 42) may end that",
		     "three");
	check_enders(5,
		     "main thread waited 100 ms for data in a pipe in read ← load; any of sh (pid "
		     "40), sh (pid 41), sh (pid 42) and 2 others may end that",
		     "five");
}

static void test_terminal(void)
{
	struct block *block = at_terminal("write", "k:n_tty_write", "/dev/pts/3");

	block->type = BLOCK_HANG;
	check_kind(block, "terminal",
		   "main thread waited 100 ms for the terminal /dev/pts/3 that its reader does "
		   "not read (or Ctrl-S stopped it) in write ← log_line",
		   "a terminal that is not read");
	check_kind(at_terminal("write", "k:n_tty_write", "/dev/pts/3"), "terminal",
		   "main thread waited 100 ms for the terminal /dev/pts/3 that its reader did "
		   "not read (or Ctrl-S stopped it) in write ← log_line",
		   "that was not read");
	block = at_terminal("write", "k:n_tty_write", "/dev/pts/3");
	block->samples[0].waited->peer_task = verdict__task(40, 40, "tmux");
	check_kind(block, "terminal",
		   "main thread waited 100 ms for the terminal /dev/pts/3 that tmux (pid 40) did "
		   "not read (or Ctrl-S stopped it) in write ← log_line",
		   "its reader");
	check_kind(at_terminal("write", "k:n_tty_write", "/dev/ttyS0"), "terminal",
		   "main thread waited 100 ms for room in the terminal /dev/ttyS0 in write ← "
		   "log_line",
		   "a serial line");
	check_kind(at_terminal("read", "k:n_tty_read", "/dev/pts/3"), "terminal",
		   "main thread waited 100 ms for input from the terminal /dev/pts/3 in read ← "
		   "log_line",
		   "input");
	check_kind(at_terminal("write", "k:f", "/dev/x"), "other",
		   "main thread waited 100 ms for /dev/x in write ← log_line", "a device");
}

static void test_file_system(void)
{
	check_kind(in_path(JANK_STATE_OTHER, "k:request_wait_answer", "/m/x", "fuse.sshfs h:"),
		   "filesystem",
		   "main thread waited 100 ms for /m/x on fuse.sshfs h: in newfstatat ← scan",
		   "FUSE");
	check_kind(in_path(JANK_STATE_DISK, "k:rpc_wait_bit_killable", "/m/x", "nfs4 h:/"),
		   "filesystem",
		   "main thread waited 100 ms for a file system over the network in newfstatat ← "
		   "scan (/m/x on nfs4 h:/)",
		   "NFS");
	check_kind(in_path(JANK_STATE_OTHER, "k:autofs_wait", "/net/x", NULL), "filesystem",
		   "main thread waited 100 ms for /net/x in newfstatat ← scan", "autofs");
	check_kind(in_path(JANK_STATE_OTHER, "k:f", NULL, NULL), "filesystem",
		   "main thread waited 100 ms for a directory or an inode in newfstatat ← scan",
		   "an unknown one");
	check_kind(in_path(JANK_STATE_DISK, "k:io_schedule", "/x", "vda"), "disk",
		   "main thread waited 100 ms for the disk in newfstatat ← scan (/x on vda)",
		   "a disk stays a disk");
	check_kind(verdict__off_cpu(JANK_STATE_OTHER, 100 * MS, "waitid", STACK("c:waitid", "f")),
		   "child", "main thread waited 100 ms for a child process in waitid ← f",
		   "a child");
}

static void test_several(void)
{
	static const struct sentence_case cases[] = {
		{ "several causes, the largest first",
		  "main thread waited 90.0 ms for the disk in fsync ← save; also slept 60.0 ms in "
		  "nap (clock_nanosleep)",
		  .seen = { SPAN(SLEEP, 60, "clock_nanosleep", "nap"),
			    SPAN(DISK, 90, "fsync", "c:fsync", "save") } },
	};

	SENTENCE_CHECK(cases);
}

/* The time is of the call that the sentence names. */
static void test_part_of_it(void)
{
	static const struct sentence_case cases[] = {
		{ "two calls of one kind",
		  "main thread waited 89.0 ms for the disk, 70.0 ms of it in read ← load",
		  .seen = { SPAN(DISK, 70, "read", "k:x", "c:read", "load"),
			    SPAN(DISK, 19, "write", "k:x", "c:write", "save") } },
		{ "one call from two functions",
		  "main thread waited 100 ms for the disk, 60.0 ms of it in read ← load",
		  .seen = { SPAN(DISK, 60, "read", "k:x", "c:read", "load"),
			    SPAN(DISK, 40, "read", "k:x", "c:read", "save") } },
		{ "two sleeps", "main thread slept 160 ms in nap (clock_nanosleep, more than once)",
		  .seen = { SPAN(SLEEP, 100, "clock_nanosleep", "nap"),
			    SPAN(SLEEP, 60, "clock_nanosleep", "nap") } },
		{ "two sleeps in two functions",
		  "main thread slept 160 ms, 100 ms of it in nap (clock_nanosleep)",
		  .seen = { SPAN(SLEEP, 100, "clock_nanosleep", "nap"),
			    SPAN(SLEEP, 60, "clock_nanosleep", "doze") } },
		{ "three causes: the record has the third",
		  "main thread waited 90.0 ms for the disk in fsync ← save; also slept 60.0 ms in "
		  "nap (clock_nanosleep)",
		  .seen = { SPAN(SLEEP, 60, "clock_nanosleep", "nap"),
			    SPAN(DISK, 90, "fsync", "c:fsync", "save"),
			    SPAN(PIPE, 50, "read", "c:read", "load") } },
		{ "the rest is too short to mention",
		  "main thread waited 92.0 ms for the disk in read ← load",
		  .seen = { SPAN(DISK, 92, "read", "k:x", "c:read", "load"),
			    SPAN(DISK, 8, "write", "k:x", "c:write", "save") } },
	};
	struct block *block =
		verdict__off_cpu(JANK_STATE_DISK, 50 * MS, "openat", STACK("c:open", "load"));

	SENTENCE_CHECK(cases);
	block->state_ns[JANK_STATE_DISK] = 180 * MS;
	sentence__says(block,
		       "main thread waited 180 ms for the disk, 50.0 ms of it in openat ← load",
		       "many waits too short to be sampled");
}

/* Of repeated waits, each has the timeout. */
static void test_timeouts(void)
{
	struct block *block =
		verdict__off_cpu(JANK_STATE_POLL, 90 * MS, "poll", STACK("c:poll", "ask"));

	verdict__waited(block, JANK_WAITED_TIMEOUT)->raw.timeout_ns = 90 * MS;
	verdict__sample(block, JANK_STATE_POLL, 90 * MS, "poll", STACK("c:poll", "ask"));
	verdict__waited(block, JANK_WAITED_TIMEOUT)->raw.timeout_ns = 90 * MS;
	sentence__says(block,
		       "main thread waited 180 ms for events that did not come in poll ← ask, more "
		       "than once until a timeout of 90.0 ms",
		       "a timeout, twice");
}

static void test_paths(void)
{
	struct block *block = verdict__off_cpu(JANK_STATE_OTHER, 100 * MS, "openat",
					       STACK("k:fifo_open", "c:open", "join"));
	struct wait_object *waited = verdict__waited(block, JANK_WAITED_PATH);

	waited->path = strdup("/run/pipe");
	waited->device = strdup("tmpfs");
	sentence__says(block,
		       "main thread waited 100 ms for the other end of a FIFO /run/pipe on tmpfs "
		       "in openat ← join",
		       "a FIFO");
	block = verdict__off_cpu(JANK_STATE_DISK, 100 * MS, "newfstatat",
				 STACK("k:request_wait_answer", "c:stat", "look"));
	waited = verdict__waited(block, JANK_WAITED_PATH);
	waited->path = strdup("/mnt/a");
	waited->device = strdup("fuse.sshfs me@there:/");
	sentence__says(block,
		       "main thread waited 100 ms for /mnt/a on fuse.sshfs me@there:/ in "
		       "newfstatat ← look",
		       "FUSE is not the disk");
	block = verdict__off_cpu(JANK_STATE_OTHER, 100 * MS, "newfstatat",
				 STACK("k:request_wait_answer", "c:stat", "look"));
	waited = verdict__waited(block, JANK_WAITED_PATH);
	waited->path = strdup("/mnt/a");
	waited->device = strdup("fuse.sshfs");
	waited->peer_task = verdict__task(7, 7, "sshfs");
	verdict__woken_by(block, verdict__task(7, 9, "sshfs"));
	sentence__says(block,
		       "main thread waited 100 ms for /mnt/a on fuse.sshfs (sshfs, pid 7) in "
		       "newfstatat ← look",
		       "its daemon, named once");
	block = verdict__off_cpu(JANK_STATE_OTHER, 100 * MS, "getxattr",
				 STACK("k:request_wait_answer", "c:getxattr", "look"));
	sentence__says(
		block,
		"main thread waited 100 ms for a file system that a program serves (FUSE) in "
		"getxattr ← look",
		"an unknown file");
}

static struct block *in_binder(void)
{
	return verdict__off_cpu(JANK_STATE_BINDER, 100 * MS, "ioctl",
				STACK("k:binder_ioctl", "c:ioctl", "talk"));
}

static void test_binder(void)
{
	struct block *block = in_binder();
	struct wait_object *waited;

	sentence__says(block, "main thread waited 100 ms for binder in ioctl ← talk",
		       "a binder call of which nothing is known");
	block = in_binder();
	waited = verdict__waited(block, JANK_WAITED_BINDER);
	waited->raw.binder_code = 12;
	sentence__says(block,
		       "main thread waited 100 ms for a reply to binder call 12 in ioctl ← talk",
		       "a server that has ended");
	block = in_binder();
	waited = verdict__waited(block, JANK_WAITED_BINDER);
	waited->raw.binder_code = 12;
	waited->peer_task = verdict__task(7, 7, "system_server");
	verdict__woken_by(block, verdict__task(7, 9, "binder:7_1"));
	sentence__says(block,
		       "main thread waited 100 ms for a reply of system_server (pid 7) to "
		       "binder call 12 in ioctl ← talk",
		       "its server, named once");
}

static void test_descriptor(void)
{
	struct block *block = verdict__off_cpu(JANK_STATE_OTHER, 60 * MS, "read",
					       STACK("k:timerfd_read_iter", "c:read", "tick"));

	verdict__waited(block, JANK_WAITED_FILE)->target = strdup("timerfd");
	sentence__says(block, "main thread waited 60.0 ms for timerfd in read ← tick",
		       "a descriptor of another kind");
}

static void test_hang(void)
{
	struct block *block = verdict__off_cpu(JANK_STATE_FUTEX, 5200 * MS, "futex",
					       STACK("c:pthread_mutex_lock", "draw"));

	block->type = BLOCK_HANG;
	block->tid = 12;
	free(block->thread);
	block->thread = strdup("ui");
	block->duration_ns = 5200 * MS;
	block->samples[0].open = true;
	sentence__says(
		block,
		"thread 'ui' has been waiting for 5.20 s for a mutex in pthread_mutex_lock ← draw",
		"a hang");

	block = verdict__block();
	block->type = BLOCK_HANG;
	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	sentence__says(block, "main thread has been busy for 200 ms on the CPU",
		       "a running thread");
}

/* Names of any bytes and length: the sentence is bounded, and no character is cut. */
static void test_hostile(void)
{
	struct block *block;
	char name[3000];

	memset(name, 'x', sizeof(name));
	name[0] = 'a';
	for (size_t i = 1; i + 2 < sizeof(name); i += 2)
		memcpy(name + i, "\xc3\xa4", 2);
	name[sizeof(name) - 2] = name[sizeof(name) - 1] = '\0';
	block = verdict__off_cpu(JANK_STATE_DISK, 80 * MS, "read", STACK(name));
	verdict__waited(block, JANK_WAITED_FILE)->path = strdup(name);
	blame__block(block);
	ok(strlen(block->cause.summary) < 400, "long names are cut");
	has_str(block->cause.summary, "\xa4…", "at the end of a character");
	has_str(block->cause.summary, "(…\xc3", "and at its begin");
	block__free(block);
}

int main(void)
{
	test_file();
	test_memory();
	test_sleep();
	test_poll();
	test_poll_of_sockets();
	test_child();
	test_terminal();
	test_syncers();
	test_enders();
	test_file_system();
	test_several();
	test_part_of_it();
	test_timeouts();
	test_paths();
	test_binder();
	test_descriptor();
	test_hang();
	test_hostile();
	return tap__done();
}
