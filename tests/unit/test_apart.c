/* SPDX-License-Identifier: GPL-2.0 */
/* Reads by a separate process: of memory and of files, and what happens to reads that never end. */
#include "files/apart.h"
#include "files/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

static char file[] = "/tmp/jank-apart-XXXXXX";

static void test_memory(void)
{
	const char text[] = "some words";
	char got[sizeof(text)] = "";
	void *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	is_int(apart__memory(getpid(), (uintptr_t)text, got, sizeof(got)), sizeof(got),
	       "memory is read");
	is_str(got, text, "unchanged");
	is_int(apart__memory(getpid(), (uintptr_t)gone, got, 8), -EFAULT,
	       "a missing address is not read");
	is_int(apart__memory(0x7ffffff0, (uintptr_t)text, got, 8), -ESRCH, "nor a missing process");
	munmap(gone, 4096);
}

static void test_file(void)
{
	int fd = mkstemp(file), handle;
	struct stat st, plain;
	char got[8] = "";

	is_int(write(fd, "0123456789", 10), 10, "a file");
	handle = apart__open(NULL, file, 0);
	ok(handle >= 0, "a file is opened by its path");
	is_int(apart__pread(handle, got, 4, 3), 4, "and read by its handle");
	is_str(got, "3456", "at an offset");
	is_int(apart__pread(handle, got, 4, 10), 0, "up to its end");
	ok(!apart__stat(handle, &st) && !fstat(fd, &plain) && st.st_dev == plain.st_dev &&
		   st.st_ino == plain.st_ino && st.st_size == 10 && S_ISREG(st.st_mode) &&
		   st.st_uid == plain.st_uid && st.st_mtim.tv_nsec == plain.st_mtim.tv_nsec,
	   "its status is as fstat has it");
	ok(openfile__trusts(st.st_dev), "its file system is one that we may read");
	ok(!openfile__trusts(makedev(0, 0xffff0)), "a file system that is not mounted here is not");
	close(handle);
	handle = apart__open("/tmp", file + 4, 0);
	ok(handle >= 0, "a file below another root");
	close(handle);
	is_int(apart__open("/tmp", "/none", 0), -ENOENT, "a missing file is not opened");
	handle = apart__open(NULL, "/tmp", 0);
	ok(apart__pread(handle, got, 4, 0) < 0, "a directory is not read");
	close(handle);
	close(fd);
	unlink(file);
}

/* A process with a page that never arrives: nobody serves its userfaultfd. */
static pid_t start_stuck(uid_t uid, uint64_t *ret_addr)
{
	char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .range = { (uintptr_t)at, 4096 },
				       .mode = UFFDIO_REGISTER_MODE_MISSING };
	int ready[2];
	char ok = 0;
	pid_t pid;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (!pid) {
		int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

		ok = fd >= 0 && !ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &reg) &&
		     (uid == getuid() || !setuid(uid));
		if (write(ready[1], &ok, 1) == 1)
			pause();
		_exit(0);
	}
	*ret_addr = (uintptr_t)at;
	if (read(ready[0], &ok, 1) != 1 || !ok) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return -1;
	}
	return pid;
}

static void test_stuck(void)
{
	uint64_t addr, before = apart__refused_cnt();
	char got[8];
	pid_t pid = start_stuck(getuid(), &addr);

	if (pid < 0) {
		skip(4, "no userfaultfd here");
		return;
	}
	is_int(apart__memory(pid, addr, got, 8), -ETIMEDOUT,
	       "a read of a page that never arrives is given up");
	is_int(apart__memory(pid, (uintptr_t)file, got, 8), -ETIMEDOUT,
	       "and that process is not read again");
	is_uint(apart__refused_cnt() - before, 2, "both are counted");
	is_int(apart__memory(getpid(), (uintptr_t)file, got, 4), 4, "other processes still are");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A user's processes that do not answer must not cost the others their reads. */
static void test_stuck_user(void)
{
	const uid_t nobody = 65534, other = 65533;
	char got[8];
	uint64_t addr[4];
	pid_t pid[4];

	pid[0] = getuid() ? -1 : start_stuck(nobody, &addr[0]);
	if (pid[0] < 0) {
		skip(5, "not root, or no userfaultfd here");
		return;
	}
	pid[1] = start_stuck(nobody, &addr[1]);
	pid[2] = start_stuck(nobody, &addr[2]);
	pid[3] = start_stuck(other, &addr[3]);
	is_int(apart__memory(pid[0], addr[0], got, 8), -ETIMEDOUT, "a user's process times out");
	is_int(apart__memory(pid[2], (uintptr_t)file, got, 4), 4, "another one is still read");
	is_int(apart__memory(pid[1], addr[1], got, 8), -ETIMEDOUT, "a second one times out");
	is_int(apart__memory(pid[2], (uintptr_t)file, got, 4), -ETIMEDOUT,
	       "now no process of this user is read");
	is_int(apart__memory(pid[3], (uintptr_t)file, got, 4), 4, "those of other users are");
	for (int i = 0; i < 4; i++)
		end_child(pid[i]);
}

/* A process of another user with this pid, or -1. */
static pid_t start_again(pid_t want)
{
	FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "w");
	pid_t pid;

	if (!last)
		return -1;
	fprintf(last, "%d", (int)want - 1);
	fclose(last);
	pid = fork();
	if (!pid) {
		pause();
		_exit(0);
	}
	if (pid == want)
		return pid;
	end_child(pid);
	return -1;
}

static void test_reused_pid(void)
{
	char got[8];
	uint64_t addr;
	pid_t pid = getuid() ? -1 : start_stuck(65532, &addr), again;

	if (pid < 0) {
		skip(2, "not root, or no userfaultfd here");
		return;
	}
	is_int(apart__memory(pid, addr, got, 8), -ETIMEDOUT, "a process times out");
	end_child(pid);
	usleep(20000); /* a start is counted in clock ticks */
	again = start_again(pid);
	if (again < 0) {
		skip(1, "its pid cannot be had again");
		return;
	}
	is_int(apart__memory(again, (uintptr_t)file, got, 4), 4,
	       "a later one with its pid is read");
	end_child(again);
}

static unsigned children(void)
{
	char path[64], text[256] = "";
	unsigned cnt = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return 0;
	close(fd);
	for (const char *at = text; *at; at++)
		cnt += *at == ' ';
	return cnt;
}

static void test_start(void)
{
	char word[8];

	is_uint(children(), 0, "no reading process runs before it is needed");
	is_int(apart__start(), 0, "it starts");
	is_uint(children(), 1, "and runs");
	is_int(apart__start(), 0, "a second start does nothing");
	apart__memory(getpid(), (uintptr_t)file, word, sizeof(word));
	is_uint(children(), 1, "nor does a read start one");
}

static void test_stop(void)
{
	char word[8];

	apart__start();
	apart__stop();
	is_uint(children(), 0, "none is left after the stop");
	apart__stop();
	ok(apart__memory(getpid(), (uintptr_t)file, word, sizeof(word)) == sizeof(word),
	   "the next read starts it again");
	apart__stop();
}

int main(void)
{
	test_start();
	test_memory();
	test_file();
	test_stuck();
	test_reused_pid();
	test_stuck_user();
	test_stop();
	return tap__done();
}
