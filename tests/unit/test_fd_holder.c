/* SPDX-License-Identifier: GPL-2.0 */
/* Finds the holders of pipes, sockets and terminals, and FUSE's daemons, in a made-up /proc. */
#include "procfs/descriptor.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "procfs/filepath.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

static char proc[64];

static void add_fd(int pid, int fd, const char *link, const char *fdinfo)
{
	char path[128], name[64];

	snprintf(path, sizeof(path), "mkdir -p $D/proc/%d/fd $D/proc/%d/fdinfo", pid, pid);
	if (system(path))
		abort();
	snprintf(name, sizeof(name), "proc/%d/fdinfo/%d", pid, fd);
	scratch__write_text(name, fdinfo);
	snprintf(path, sizeof(path), "%s/%d/fd/%d", proc, pid, fd);
	if (symlink(link, path))
		abort();
}

static struct fd_holders found;

/* now_ns is later each time, because results are cached. */
static int find(char *type, dev_t dev)
{
	static uint64_t now_ns = NS_PER_SEC;
	const struct mount mount = { .type = type, .dev = dev };

	now_ns += 2 * NS_PER_SEC;
	fusedaemons__find(proc, &mount, now_ns, &found);
	return fd_holders__only(&found);
}

static int pipe_of(uint64_t inode, bool writes, pid_t not_pid)
{
	pipeholders__find(proc, inode, writes, not_pid, &found);
	return fd_holders__only(&found);
}

static int socket_of(uint64_t inode, pid_t not_pid)
{
	socketholders__find(proc, inode, not_pid, &found);
	return fd_holders__only(&found);
}

static int lock_of(const char *lock, const char *name)
{
	lockholders__find(proc, lock, name, &found);
	return fd_holders__only(&found);
}

/* Both were found, in any order. */
static bool are(pid_t a, pid_t b)
{
	return found.cnt == 2 && ((found.pids[0] == a && found.pids[1] == b) ||
				  (found.pids[0] == b && found.pids[1] == a));
}

static void test_pipes(void)
{
	add_fd(20, 3, "pipe:[77]", "pos:\t0\nflags:\t00\n");
	add_fd(20, 4, "pipe:[77]", "pos:\t0\nflags:\t01\n");
	add_fd(21, 5, "pipe:[77]", "pos:\t0\nflags:\t02000001\n");
	add_fd(21, 6, "pipe:[78]", "pos:\t0\nflags:\t01\n");
	add_fd(22, 7, "pipe:[79]", "pos:\t0\nflags:\t02\n");
	is_int(pipe_of(77, true, 20), 21, "the only other process that may write");
	is_int(pipe_of(77, true, 0), 0, "not one of two");
	ok(are(20, 21), "but both of them");
	is_int(pipe_of(77, false, 0), 20, "the only one that may read");
	is_int(pipe_of(77, false, 20), 0, "nobody else reads");
	is_int(pipe_of(79, true, 0), 22, "a FIFO's end may do both");
	is_int(pipe_of(80, true, 0), 0, "an unknown pipe");
}

static void test_sockets(void)
{
	add_fd(30, 3, "socket:[90]", "pos:\t0\n");
	add_fd(30, 4, "socket:[91]", "pos:\t0\n");
	add_fd(31, 3, "socket:[91]", "pos:\t0\n");
	is_int(socket_of(90, 0), 30, "the only process with a socket");
	is_int(socket_of(91, 0), 0, "not one of two");
	ok(are(30, 31), "but both");
	is_int(socket_of(91, 30), 31, "the only other one");
	is_int(socket_of(92, 0), 0, "an unknown socket");
	for (int i = 0; i <= FD_HOLDER_MAX; i++)
		add_fd(100 + i, 3, i < FD_HOLDER_MAX ? "socket:[93]" : "socket:[94]", "pos:\t0\n");
	socket_of(93, 0);
	is_uint(found.cnt, FD_HOLDER_MAX, "as many as the list takes");
	add_fd(100 + FD_HOLDER_MAX, 4, "socket:[93]", "pos:\t0\n");
	socket_of(93, 0);
	is_uint(found.cnt, 0, "no part of more");
}

static void test_locks(void)
{
	static const char held[] = "FLOCK  ADVISORY  WRITE 612 fe:00:7 0 EOF";

	add_fd(50, 3, "/run/x.lock",
	       "pos:\t0\nino:\t7\nlock:\t1: POSIX  ADVISORY  WRITE 50 "
	       "fe:00:7 0 EOF\nlock:\t2: FLOCK  ADVISORY  WRITE 612 "
	       "fe:00:7 0 EOF\n");
	add_fd(51, 3, "/run/x.lock", "pos:\t0\nino:\t7\n");
	is_int(lock_of(held, "x.lock"), 50, "the only process with the lock");
	is_int(lock_of(held, "y.lock"), 0, "a file of another name");
	is_int(lock_of("FLOCK  ADVISORY  WRITE 612 fe:00:7 0 EO", "x.lock"), 0, "another lock");
	add_fd(52, 3, "/x.lock", "lock:\t0\nlock:\t9: FLOCK  ADVISORY  WRITE 612 fe:00:7 0 EOF\n");
	is_int(lock_of(held, "x.lock"), 0, "not one of two that have inherited it");
}

static void add_mounts(int pid, const char *text)
{
	char name[64];

	snprintf(name, sizeof(name), "proc/%d/mountinfo", pid);
	scratch__write_text(name, text);
}

static int reader(char *type, unsigned minor, uint64_t number)
{
	static uint64_t now_ns = NS_PER_SEC;
	const struct mount mount = { .type = type, .dev = makedev(0, minor) };

	now_ns += 2 * NS_PER_SEC;
	ttyreaders__find(proc, &mount, number + 3, now_ns, &found);
	return fd_holders__only(&found);
}

static void test_terminals(void)
{
	add_fd(40, 3, "/dev/ptmx", "flags:\t02\nmnt_id:\t21\nino:\t9\ntty-index:\t4\n");
	add_mounts(
		40,
		"21 1 0:5 / /dev rw - devtmpfs dev rw\n22 21 0:23 / /dev/pts rw - devpts d rw\n");
	add_fd(41, 3, "/dev/pts/ptmx", "flags:\t02\nmnt_id:\t32\nino:\t2\ntty-index:\t4\n");
	add_fd(41, 4, "/dev/pts/4", "flags:\t02\nmnt_id:\t32\nino:\t7\n");
	add_mounts(41, "32 31 0:24 / /dev/pts rw - devpts d rw\n");
	is_int(reader("devpts", 23, 4), 40, "a terminal's reader: its file system lies beside");
	is_int(reader("devpts", 24, 4), 41, "in the file system itself");
	is_int(reader("devpts", 24, 5), 0, "another number");
	is_int(reader("devpts", 25, 4), 0, "another file system");
	is_int(reader("tmpfs", 23, 4), 0, "no terminal");
	ttyreaders__find(proc, NULL, 7, 0, &found);
	is_uint(found.cnt, 0, "no mount");
	add_fd(42, 9, "/dev/pts/ptmx", "flags:\t02\nmnt_id:\t32\nino:\t2\ntty-index:\t4\n");
	add_mounts(42, "32 31 0:24 / /dev/pts rw - devpts d rw\n");
	is_int(reader("devpts", 24, 4), 0, "of two readers it may be either");
	ok(are(41, 42), "both are found");
}

int main(void)
{
	scratch__init();
	snprintf(proc, sizeof(proc), "%s/proc", scratch_dir);
	add_fd(7, 3, "/dev/null", "pos:\t0\nflags:\t02\nfuse_connection:\t39\n");
	add_fd(8, 3, "/dev/fuse", "pos:\t0\nflags:\t02\nfuse_connection:\t40\n");
	add_fd(9, 3, "/dev/null", "pos:\t0\n");
	add_fd(9, 4, "/dev/fuse", "pos:\t0\nflags:\t02\nmnt_id:\t24\nfuse_connection:\t39\n");
	add_fd(10, 5, "/dev/fuse", "pos:\t0\nflags:\t02\nfuse_connection:\t8388611\n");
	is_int(find("fuse", makedev(0, 39)), 9, "by the connection's number");
	is_int(find("fuse.sshfs", makedev(0, 40)), 8, "of a type with a name");
	is_int(find("fuseblk", makedev(8, 3)), 10, "of a disk: the kernel's own number of it");
	is_int(find("fuse", makedev(0, 41)), 0, "an unknown connection");
	is_int(find("tmpfs", makedev(0, 39)), 0, "no FUSE");
	is_int(find("fusectl", makedev(0, 39)), 0, "its control file system is none");
	fusedaemons__find(proc, NULL, 0, &found);
	is_uint(found.cnt, 0, "no mount");
	add_fd(11, 5, "/dev/fuse", "pos:\t0\nflags:\t02\n");
	add_fd(11, 6, "/dev/fuse", "pos:\t0\nflags:\t02\n");
	is_int(find("fuse", makedev(0, 39)), 9, "a known connection takes precedence");
	is_int(find("fuse", makedev(0, 41)), 11, "the only process with an unknown connection");
	add_fd(12, 5, "/dev/fuse", "pos:\t0\nflags:\t02\n");
	is_int(find("fuse", makedev(0, 41)), 0, "of two such processes it may be either");
	add_fd(13, 5, "/dev/fuse", "pos:\t0\nflags:\t02\nfuse_connection:\t40\n");
	is_int(find("fuse", makedev(0, 40)), 0, "nor of two with the connection");
	ok(are(8, 13), "but both of them");
	test_pipes();
	test_sockets();
	test_terminals();
	test_locks();
	return tap__done();
}
