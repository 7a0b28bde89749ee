/* SPDX-License-Identifier: GPL-2.0 */
/*
 * File helpers: bounds, /proc, paths that could block, short writes, directories and their modes.
 */
#include "files/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/scratch.h"

static struct strbuf sb = STRBUF_INIT;

static void make_file(const char *name, size_t len)
{
	int fd = open(scratch__path(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	char *data = malloc(len + 1);

	memset(data, 'd', len);
	ok(!file__write_all(fd, data, len), "writes %zu bytes", len);
	free(data);
	close(fd);
}

static int read_fresh(const char *path, size_t max)
{
	strbuf__reset(&sb);
	return file__read(path, max, &sb);
}

static void test_read_sizes(void)
{
	static const size_t sizes[] = { 0, 1, 16383, 16384, 16385, 100000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t len = sizes[i];

		make_file("sized", len);
		is_int(read_fresh(scratch__path("sized"), 1 << 20), 0, "reads a file of %zu", len);
		is_uint(sb.len, len, "… all of it");
		is_int(read_fresh(scratch__path("sized"), len), 0, "… with the limit at its size");
		is_uint(sb.len, len, "… all of it again");
		if (len)
			is_int(read_fresh(scratch__path("sized"), len - 1), -EFBIG,
			       "… larger than the limit by one byte");
	}
}

static void test_read_keeps(void)
{
	make_file("kept", 20000);
	strbuf__reset(&sb);
	strbuf__adds(&sb, "before ");
	is_int(file__read(scratch__path("kept"), 19999, &sb), -EFBIG, "too big");
	is_str(strbuf__str(&sb), "before ", "… leaves the buffer unchanged");
	is_int(file__read(scratch__path("kept"), 20000, &sb), 0, "a file of just the limit");
	is_uint(sb.len, 20007, "… and is appended");
	is_int(file__read(scratch__path("absent"), 10, &sb), -ENOENT, "a missing file");
	is_uint(sb.len, 20007, "… appends nothing");
}

static void test_read_special(void)
{
	int fd;

	is_int(read_fresh("/proc/self/comm", 64), 0, "/proc, whose files have no size");
	is_str(strbuf__str(&sb), "test_file\n", "… has our name");
	is_int(read_fresh(scratch_dir, 64), -EISDIR, "a directory");
	is_int(read_fresh("/dev/zero", 5000), -EFBIG, "an endless file");
	is_int(mkfifo(scratch__path("fifo"), 0600), 0, "a FIFO");
	alarm(5);
	is_int(read_fresh(scratch__path("fifo"), 64), 0, "… a FIFO does not block");
	fd = open(scratch__path("fifo"), O_RDWR);
	is_int(read_fresh(scratch__path("fifo"), 64), -EAGAIN, "… nor with a writer");
	alarm(0);
	close(fd);
}

/* The lowest free descriptor stays the same, so no read leaked one. */
static void test_read_closes(void)
{
	int before = dup(0), after;

	close(before);
	read_fresh("/proc/self/comm", 64);
	read_fresh("/dev/zero", 64);
	read_fresh(scratch_dir, 64);
	after = dup(0);
	close(after);
	is_int(after, before, "no descriptor is left open");
}

static void test_read_at(void)
{
	int fd = open(scratch_dir, O_PATH | O_DIRECTORY);

	strbuf__reset(&sb);
	make_file("rel", 3);
	is_int(file__read_at(fd, "rel", 10, &sb), 0, "relative to a directory");
	is_str(strbuf__str(&sb), "ddd", "… its content");
	is_int(file__read_at(-1, "rel", 10, &sb), -EBADF, "no such descriptor");
	close(fd);
}

static void test_write_errors(void)
{
	int pipe_fd[2], full = open("/dev/full", O_WRONLY);

	is_int(file__write_all(-1, "x", 1), -EBADF, "a closed descriptor");
	is_int(file__write_all(-1, "x", 0), 0, "writing nothing succeeds");
	is_int(file__write_all(full, "x", 1), -ENOSPC, "a full disk");
	close(full);
	signal(SIGPIPE, SIG_IGN);
	ok(!pipe(pipe_fd), "a pipe");
	close(pipe_fd[0]);
	is_int(file__write_all(pipe_fd[1], "x", 1), -EPIPE, "… a pipe without a reader");
	close(pipe_fd[1]);
	signal(SIGPIPE, SIG_DFL);
}

static void on_alarm(int sig)
{
}

/* Reads slowly from fd. Returns whether it got `want` bytes, all 'd'. */
static int slow_reader(int fd, size_t want)
{
	size_t got = 0;
	char buf[4096];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n; i++)
			if (buf[i] != 'd')
				return 1;
		got += (size_t)n;
		usleep(200);
	}
	return got != want;
}

/* Signals without SA_RESTART all the time: short writes and EINTR. */
static void test_write_interrupted(void)
{
	const struct sigaction action = { .sa_handler = on_alarm };
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
	static char data[1 << 20];
	int fds[2], status = -1;
	pid_t pid;

	memset(data, 'd', sizeof(data));
	ok(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds), "a socket pair");
	pid = fork();
	if (!pid) {
		close(fds[1]);
		_exit(slow_reader(fds[0], sizeof(data)));
	}
	close(fds[0]);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	is_int(file__write_all(fds[1], data, sizeof(data)), 0, "1 MiB with many signals");
	setitimer(ITIMER_REAL, &never, NULL);
	close(fds[1]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	is_int(status, 0, "… arrives whole");
}

/* What file.h gives for a file that may never answer. */
static void test_pread(void)
{
	char got[8] = "";
	int fd;

	fd = open(scratch__write("plain", "0123456789", 10), O_RDONLY);
	is_int(file__pread(fd, got, 4, 3), 4, "a descriptor is read");
	is_str(got, "3456", "at an offset");
	close(fd);
	fd = open(scratch__path("plain"), O_PATH);
	is_int(file__pread(fd, got, 4, 5), 4, "a descriptor that was not opened for reading, too");
	is_str(got, "5678", "at an offset");
	is_int(file__pread(fd, got, 4, 8), 2, "up to the end of the file");
	is_int(file__pread(fd, got, 4, 10), 0, "and nothing beyond");
	is_int(file__read_exactly(fd, got, 4, 8), -ENOEXEC, "which is too little for a header");
	close(fd);
	fd = open("/tmp", O_PATH);
	ok(file__pread(fd, got, 4, 0) < 0, "a directory is not read");
	close(fd);
	is_int(file__pread(-1, got, 4, 0), -EBADF, "nor is an invalid descriptor");
}

/* In its own mount namespace. Returns 0: right; 1: wrong; 2: nothing can be mounted. */
static int trust_unmounted(void)
{
	const char *at = scratch__path("mounted");
	struct stat st;
	bool before;

	if (mkdir(at, 0755) || unshare(CLONE_NEWNS) ||
	    mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("t", at, "tmpfs", 0, NULL) ||
	    stat(at, &st))
		return 2;
	before = openfile__trusts(st.st_dev);
	umount2(at, MNT_DETACH);
	/* The table is read again after a second. */
	for (int i = 0; before && i < 1000 && openfile__trusts(st.st_dev); i++)
		usleep(10000);
	return !before || openfile__trusts(st.st_dev);
}

/* The number may belong to a FUSE mount next. */
static void test_unmounted(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(trust_unmounted());
	if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) == 2)
		skip(1, "nothing can be mounted here");
	else
		is_int(status, 0, "a device number is trusted until its file system is unmounted");
}

int main(void)
{
	scratch__init();
	test_read_sizes();
	test_read_keeps();
	test_read_special();
	test_read_closes();
	test_read_at();
	test_write_errors();
	test_write_interrupted();
	test_pread();
	test_unmounted();
	strbuf__free(&sb);
	return tap__done();
}
