/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Description of a thread's file descriptor: "tcp 127.0.0.1:80->127.0.0.1:5012", "eventfd 12", a
 * path.
 */
#ifndef JANK_PROCFS_DESCRIPTOR_H
#define JANK_PROCFS_DESCRIPTOR_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Adds a description of the thread's descriptor fd as it is now; a path may hold any bytes. inode:
 * the expected inode, or 0. 0; -ESTALE: the descriptor now refers to another file; -EBADF: closed;
 * or -errno. Nothing is added on failure.
 */
int fdtarget__add(struct strbuf *sb, uint32_t pid, uint32_t tid, int32_t fd, uint64_t inode);

/* Formats the link and the fdinfo of a descriptor other than a socket; for tests. */
void fdtarget__add_link(struct strbuf *sb, const char *link, const char *fdinfo);

/*
 * --- /proc/PID/task/TID/fdinfo: what the kernel shows about an open descriptor, one "KEY: value" a
 * line.
 */

/*
 * The inode of the file behind the descriptor. *ret_mount, unless NULL: the id of its mount, 0: not
 * known. No file system that may block is queried. Returns 0 if closed or not known.
 */
uint64_t fdinfo__inode(const char *task, int32_t fd, int *ret_mount);

/*
 * --- the descriptor of an epoll event. The event holds only what the program stored there: a
 * descriptor, a pointer, a number. The kernel lists the registered descriptors in /proc/PID/fdinfo.
 *
 * Reading that list is expensive: the kernel builds all of it before the first byte can be read,
 * and blocks the program's use of the epoll meanwhile, 0.9 µs an entry. So the list is not read
 * where it may be too long.
 */

/* Limit on a process's descriptors; above it its epolls are not read. */
#define EPOLLINFO_FDS_MAX 1000

struct epoll_item {
	uint64_t data;	/* to look up */
	int32_t fd;	/* result: the one descriptor with this data; -1: none, or several */
	uint64_t inode; /* of its file; 0: not known */
};

/*
 * Finds the descriptors registered with the thread's epoll epfd. 0; -E2BIG: the process has too
 * many descriptors; or -errno.
 */
int epollinfo__find(uint32_t pid, uint32_t tid, int32_t epfd, struct epoll_item *items, size_t cnt);

/* A descriptor registered with an epoll, and the events it asks for (EPOLLIN and others). */
struct epoll_member {
	int32_t fd;
	uint32_t events;
};

/*
 * Lists what is registered with the thread's epoll epfd, at most max. Returns their number; or
 * -E2BIG: there are more, or the process has too many descriptors; or -errno.
 */
int epollinfo__members(uint32_t pid, uint32_t tid, int32_t epfd, struct epoll_member *members,
		       size_t max);

/* The parser, for tests. */
void epollinfo__parse(const char *text, struct epoll_item *items, size_t cnt);

/*
 * --- fd_holder.c: the process that has a file open, found by the links in /proc/PID/fd of all
 * processes, within limits.
 *
 * A FUSE file system's daemon has /dev/fuse open for that connection, by fdinfo ("fuse_connection",
 * since Linux 6.16, 514d9210bf45). On older kernels: the only process that has /dev/fuse open, if
 * there is exactly one.
 */

struct mount;

/* Processes that have something open; none if there are more, or the limit was reached. */
#define FD_HOLDER_MAX 16
struct fd_holders {
	pid_t pids[FD_HOLDER_MAX];
	unsigned cnt;
};

pid_t fd_holders__only(const struct fd_holders *holders); /* 0: none, or several */

/*
 * Finds the daemons. proc: "/proc". mount: of any type; NULL: unknown. now_ns: CLOCK_MONOTONIC; the
 * last answer is cached for a second. One thread only.
 */
void fusedaemons__find(const char *proc, const struct mount *mount, uint64_t now_ns,
		       struct fd_holders *ret);

/*
 * The process that has the socket with this inode open, or 0: not found. With several such
 * processes, the first one checked: hint (0: none), which is always checked, then others, not_pid
 * last. now_ns: CLOCK_MONOTONIC. Answers are cached for a second. One thread only. proc: "/proc".
 */
pid_t socketholder__find(const char *proc, uint64_t inode, pid_t hint, pid_t not_pid,
			 uint64_t now_ns);

/*
 * The processes except not_pid (0: none) that have this open. Not cached. pipeholders: the end of
 * the pipe that writes, or reads. lockholders: a file with this lock, in the form of /proc/locks
 * without its number, whose path ends with the name.
 */
void pipeholders__find(const char *proc, uint64_t inode, bool writes, pid_t not_pid,
		       struct fd_holders *ret);
void socketholders__find(const char *proc, uint64_t inode, pid_t not_pid, struct fd_holders *ret);
void lockholders__find(const char *proc, const char *lock, const char *name,
		       struct fd_holders *ret);

/*
 * The processes that have the master of a pseudo-terminal open: they read what is written to the
 * terminal. mount, inode: of the terminal; none if it is another one. The last answer is cached for
 * a second. One thread only. proc: "/proc".
 */
void ttyreaders__find(const char *proc, const struct mount *mount, uint64_t inode, uint64_t now_ns,
		      struct fd_holders *ret);

#endif
