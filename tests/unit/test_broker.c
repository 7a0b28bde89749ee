/* SPDX-License-Identifier: GPL-2.0 */
/* What the broker opens and reads for the process that makes names, and what it refuses. */
#include "files/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files/apart.h"
#include "files/broker_request.h"
#include "files/file.h"
#include "files/proc.h"
#include "tests/tap.h"

static struct broker *broker;
static char dir[] = "/tmp/jank-broker-XXXXXX";

/* Runs fn in a process that asks the broker; its result comes back in shared memory. */
static int64_t in_client(int64_t (*fn)(const void *arg), const void *arg)
{
	int64_t *ret = mmap(NULL, sizeof(*ret), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0),
		got;
	int ends[2], status;
	pid_t pid;

	if (ret == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		abort();
	pid = fork();
	if (!pid) {
		close(ends[0]);
		broker_client__use(ends[1]);
		*ret = fn(arg);
		_exit(0);
	}
	close(ends[1]);
	broker__serve(broker, ends[0]);
	if (waitpid(pid, &status, 0) != pid || status)
		abort();
	got = *ret;
	munmap(ret, sizeof(*ret));
	return got;
}

struct file_case {
	const char *what;
	enum broker_op op;
	const char *root, *path;
	int64_t want; /* 0: it is opened */
};

static int64_t open_it(const void *arg)
{
	const struct file_case *file = arg;
	struct stat st = {};
	int fd = broker_client__open(file->op, file->root, file->path, &st);

	if (fd < 0)
		return fd;
	return close(fd) ? -errno : 0;
}

static void test_files(void)
{
	char maps[64], mem[64], environ[64], exe[64], cwd[64], root[64], secret[64], open[64],
		fifo[64], others[64], traversal[64];
	const struct file_case cases[] = {
		{ "the mappings of a process in the table", BROKER_OWN, NULL, maps, 0 },
		{ "its memory", BROKER_OWN, NULL, mem, -EACCES },
		{ "its environment", BROKER_OWN, NULL, environ, -EACCES },
		{ "the mappings of another process", BROKER_OWN, NULL, others, -EACCES },
		{ "a way out of /proc", BROKER_OWN, NULL, traversal, -EACCES },
		{ "kallsyms", BROKER_OWN, NULL, "/proc/kallsyms", 0 },
		{ "a file of root's", BROKER_OWN, NULL, "/etc/passwd", -EACCES },
		{ "a module's note with a way out", BROKER_OWN, NULL,
		  "/sys/module/../notes/.note.gnu.build-id", -EACCES },
		{ "its program", BROKER_LINK, NULL, exe, 0 },
		{ "its current directory", BROKER_LINK, NULL, cwd, -EACCES },
		{ "any file as a link", BROKER_LINK, NULL, "/etc/passwd", -EACCES },
		{ "a file that anybody may read", BROKER_PATH, NULL, open, 0 },
		{ "a file of its user, in our root", BROKER_PATH, NULL, secret, -EPERM },
		{ "the same in its root", BROKER_IN_ROOT, root, secret, 0 },
		{ "the mappings of another process, by name", BROKER_PATH, NULL, others, -EPERM },
		{ "the same in its root", BROKER_IN_ROOT, root, others, -EPERM },
		{ "a file in another root", BROKER_IN_ROOT, "/", secret, -EACCES },
		{ "a FIFO", BROKER_IN_ROOT, root, fifo, -EINVAL },
		{ "no file", BROKER_IN_ROOT_NO_LINKS, root, "/no such file", -ENOENT },
	};
	int me = getpid();

	snprintf(maps, sizeof(maps), "/proc/%d/maps", me);
	snprintf(mem, sizeof(mem), "/proc/%d/mem", me);
	snprintf(environ, sizeof(environ), "/proc/%d/environ", me);
	snprintf(exe, sizeof(exe), "/proc/%d/exe", me);
	snprintf(cwd, sizeof(cwd), "/proc/%d/cwd", me);
	snprintf(root, sizeof(root), "/proc/%d/root", me);
	snprintf(others, sizeof(others), "/proc/%d/maps", getppid());
	snprintf(traversal, sizeof(traversal), "/proc/%d/../%d/maps", me, getppid());
	snprintf(secret, sizeof(secret), "%s/secret", dir);
	snprintf(open, sizeof(open), "%s/open", dir);
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		is_int(in_client(open_it, &cases[i]), cases[i].want, "%s: %s", cases[i].what,
		       cases[i].want ? "refused" : "opened");
	broker__forbid(broker, me);
	is_int(in_client(open_it, &cases[0]), -EACCES, "refused once the process is gone");
	broker__allow(broker, me);
}

/* --- files of a process that is not what it was */

#define ATTACKER 61234

struct changed {
	const char *what;
	void (*change)(const char *secret, const char *name);
	int64_t want;
};

static void become_attacker(void)
{
	if (setgroups(0, NULL) || setresgid(ATTACKER, ATTACKER, ATTACKER) ||
	    setresuid(ATTACKER, ATTACKER, ATTACKER))
		_exit(1);
}

/* Shows the secret under the other name, in mounts of its own. */
static void mount_over(const char *secret, const char *name)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) || mount(secret, name, NULL, MS_BIND, NULL))
		_exit(1);
}

static void give_up_root(const char *secret, const char *name)
{
	become_attacker();
	mount_over(secret, name);
}

/* Then /proc/PID is root's. */
static void hide(const char *secret, const char *name)
{
	give_up_root(secret, name);
	prctl(PR_SET_DUMPABLE, 0);
}

/* May be root again at any time. */
static void half(const char *secret, const char *name)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount(secret, name, NULL, MS_BIND, NULL) || setresuid(ATTACKER, ATTACKER, 0))
		_exit(1);
}

static void stay_root(const char *secret, const char *name)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount(secret, name, NULL, MS_BIND, NULL))
		_exit(1);
}

static void check_changed(const struct changed *one)
{
	char root[64], secret[64], name[64];
	const struct file_case file = { one->what, BROKER_IN_ROOT_NO_LINKS, root, name, 0 };
	int ready[2], go[2];
	pid_t pid;
	char byte = 0;

	snprintf(secret, sizeof(secret), "%s/secret", dir);
	snprintf(name, sizeof(name), "%s/open", dir);
	if (pipe(ready) || pipe(go))
		abort();
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (read(go[0], &byte, 1) == 1)
			one->change(secret, name);
		if (write(ready[1], &byte, 1) == 1)
			while (read(go[0], &byte, 1) > 0)
				;
		_exit(0);
	}
	close(ready[1]);
	broker__allow(broker, pid);
	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	if (write(go[1], "g", 1) == 1 && read(ready[0], &byte, 1) == 1)
		is_int(in_client(open_it, &file), one->want, "root's file over that of %s",
		       one->what);
	else
		skip(1, "no namespaces for users");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	broker__forbid(broker, pid);
	close(ready[0]);
	close(go[0]);
	close(go[1]);
}

static void test_changed(void)
{
	static const struct changed all[] = {
		{ "a process that gave up root", give_up_root, -EPERM },
		{ "one that made itself undumpable, too", hide, -EPERM },
		{ "one that may be root again", half, -EPERM },
		{ "a process of root: its own file", stay_root, 0 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!geteuid())
			check_changed(&all[i]);
}

/* --- files of the kernel's own making */

static void test_generated(void)
{
	char root[64];
	const struct file_case cases[] = {
		{ "sysfs", BROKER_PATH, NULL, "/sys/kernel/notes", -EPERM },
		{ "sysfs in its root", BROKER_IN_ROOT, root, "/sys/kernel/notes", -EPERM },
		{ "tracefs", BROKER_PATH, NULL, "/sys/kernel/tracing/README", -EPERM },
		{ "debugfs", BROKER_PATH, NULL, "/sys/kernel/debug/sleep_time", -EPERM },
		{ "shared memory", BROKER_PATH, NULL, "/dev/shm/jank-broker-test", 0 },
	};
	int fd = open(cases[4].path, O_CREAT | O_WRONLY, 0644);

	snprintf(root, sizeof(root), "/proc/%d/root", getpid());
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (!access(cases[i].path, R_OK))
			is_int(in_client(open_it, &cases[i]), cases[i].want, "a file of %s",
			       cases[i].what);
	close(fd);
	unlink(cases[4].path);
}

static int64_t open_refused(const void *arg)
{
	const char *path = arg;
	int fd = openfile__path(path, NULL);

	return fd < 0 ? fd : close(fd);
}

static void test_refused(void)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/open", dir);
	if (stat(path, &st))
		abort();
	is_int(in_client(open_refused, path), 0, "openfile__path goes through the broker");
	for (uint64_t i = 1; i <= 1000; i++)
		broker__refuse(broker, st.st_dev + 1, i);
	is_int(in_client(open_refused, path), 0, "many other files are refused");
	broker__refuse(broker, st.st_dev, st.st_ino);
	broker__refuse(broker, st.st_dev, st.st_ino);
	is_int(in_client(open_refused, path), -EACCES, "a file that ended the process is refused");
}

static const char text[] = "read by the broker";

struct memory_case {
	uint32_t pid;
	uint64_t at;
	size_t len;
};

static int64_t read_it(const void *arg)
{
	const struct memory_case *memory = arg;
	char got[sizeof(text)] = "";
	int res = memory__read_across("/proc", memory->pid, memory->at, got, memory->len);

	return res ? res : memcmp(got, text, memory->len);
}

static int64_t copy_much(const void *arg)
{
	char *got = malloc(2 * BROKER_DATA_MAX);

	return apart__memory(getppid(), (uintptr_t)arg, got, 2 * BROKER_DATA_MAX);
}

static int64_t has_thread(const void *arg)
{
	return proc__has_thread("/proc", getppid(), *(const uint32_t *)arg);
}

static int64_t live(const void *arg)
{
	return live_tid__thread("/proc", getppid());
}

static void test_memory(void)
{
	const struct memory_case mine = { getpid(), (uintptr_t)text, sizeof(text) },
				 others = { getppid(), (uintptr_t)text, sizeof(text) },
				 nowhere = { getpid(), 16, 8 };
	char *much = malloc(4 * BROKER_DATA_MAX);
	uint32_t tid = getpid(), none = 1;

	memset(much, 'm', 4 * BROKER_DATA_MAX);
	is_int(in_client(read_it, &mine), 0, "memory of a process in the table");
	is_int(in_client(read_it, &others), -EACCES, "memory of another process: refused");
	ok(in_client(read_it, &nowhere) < 0, "no memory there: an error");
	is_int(in_client(copy_much, much), BROKER_DATA_MAX, "one answer has at most so much");
	ok(in_client(has_thread, &tid) == 1 && !in_client(has_thread, &none), "its threads");
	is_int(in_client(live, NULL), getpid(), "its live thread");
	free(much);
}

/* --- requests that no client of ours sends */

static int64_t send_raw(const void *arg)
{
	return 0;
}

static void test_raw(void)
{
	static const struct broker_request odd[] = {
		{ .op = BROKER_OP_CNT },
		{ .op = UINT32_MAX },
		{ .op = BROKER_FILE, .len = UINT64_MAX }, /* without a descriptor */
		{ .op = BROKER_PAGES, .pid = 0, .at = UINT64_MAX, .len = UINT64_MAX },
		{ .op = BROKER_FETCH_OPEN },
	};
	char long_path[BROKER_TEXT_MAX];
	int ends[2];

	memset(long_path, 'x', sizeof(long_path)); /* no NUL at all */
	for (size_t i = 0; i <= sizeof(odd) / sizeof(*odd); i++) {
		const struct broker_request no_nul = { .op = BROKER_PATH };
		struct iovec parts[] = { { (void *)(i ? &odd[i - 1] : &no_nul), sizeof(no_nul) },
					 { long_path, sizeof(long_path) } };
		struct broker_answer got = {};

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
			abort();
		broker__serve(broker, ends[0]);
		ok(writev(ends[1], parts, 2) > 0 &&
			   recv(ends[1], &got, sizeof(got), 0) == sizeof(got) && got.res < 0,
		   "odd request %zu: an error", i);
		close(ends[1]);
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		abort();
	broker__serve(broker, ends[0]);
	is_int(send(ends[1], "short", 5, 0), 5, "a short request");
	is_int(recv(ends[1], long_path, 1, 0), 0, "ends the connection");
	close(ends[1]);
	is_int(in_client(send_raw, NULL), 0, "and the broker serves the next");
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Texts with pieces of valid paths; each request has its answer, or ends the connection. */
static void test_random(void)
{
	static const char *const pieces[] = {
		"/proc/",	    "1",   "self", "/maps", "/root", "/exe",
		"/map_files/",	    "-",   "..",   "/",	    "\0",    "/sys/module/",
		"ffffffffffffffff", "%s%n"
	};
	static struct {
		struct broker_answer head;
		char data[BROKER_DATA_MAX];
	} answer;
	uint64_t state = 88172645463325252ull;
	unsigned answered = 0;
	int ends[2];

	for (int round = 0; round < 3000; round++) {
		struct broker_request req = { .op = next_random(&state) % (BROKER_OP_CNT + 2),
					      .pid = next_random(&state) % 2 ? getpid() : 1,
					      .at = next_random(&state) % 3 ? next_random(&state)
									    : (uintptr_t)text,
					      .len = next_random(&state) % 100 };
		char path[256] = "";
		struct iovec parts[] = { { &req, sizeof(req) }, { path, 0 } };

		for (int i = next_random(&state) % 8; i; i--)
			strcat(path, pieces[next_random(&state) % 14]);
		parts[1].iov_len = strlen(path) + next_random(&state) % 2;
		if (!(round % 100) && !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
			broker__serve(broker, ends[0]);
		answered +=
			writev(ends[1], parts, 2) > 0 &&
			recv(ends[1], &answer, sizeof(answer), 0) >= (ssize_t)sizeof(answer.head);
		if (round % 100 == 99)
			close(ends[1]);
	}
	is_int(answered, 3000, "random requests: each has an answer");
}

static void make_files(void)
{
	char path[64];
	int fd;

	if (!mkdtemp(dir) || chmod(dir, 0755))
		abort();
	snprintf(path, sizeof(path), "%s/secret", dir);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	close(fd);
	snprintf(path, sizeof(path), "%s/open", dir);
	fd = open(path, O_CREAT | O_WRONLY, 0644);
	fchmod(fd, 0644);
	close(fd);
	snprintf(path, sizeof(path), "%s/fifo", dir);
	if (mkfifo(path, 0644))
		abort();
}

static void remove_files(void)
{
	static const char *const names[] = { "secret", "open", "fifo" };
	char path[64];

	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

int main(void)
{
	const struct broker_fetch no_fetch = {};

	make_files();
	is_int(broker__new(&no_fetch, &broker), 0, "the thread is started");
	is_int(broker__allow(broker, getpid()), 0, "a process is allowed");
	test_files();
	test_changed();
	test_generated();
	test_memory();
	test_raw();
	test_random();
	test_refused();
	broker__free(broker);
	apart__stop();
	remove_files();
	return tap__done();
}
