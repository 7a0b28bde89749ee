/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a descriptor of a thread is, in words: "tcp 127.0.0.1:80->127.0.0.1:5012", "eventfd 12", a
 * path.
 */
#ifndef JANK_PROCFS_DESCRIPTOR_H
#define JANK_PROCFS_DESCRIPTOR_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Adds what descriptor fd of the thread is now; any bytes, where it has a path. inode: what its
 * file's number must be, or 0. 0; -ESTALE: it is another file's by now; -EBADF: closed; or -errno.
 * Nothing is added on failure.
 */
int fdtarget__add(struct strbuf *sb, uint32_t pid, uint32_t tid, int32_t fd, uint64_t inode);

/* The part that reads the link and the fdinfo of what is no socket, for tests. */
void fdtarget__add_link(struct strbuf *sb, const char *link, const char *fdinfo);

/*
 * What the kernel tells of an open descriptor in /proc/PID/task/TID/fdinfo: "KEY: value", a line
 * each.
 */

/*
 * The kernel's own number of the file behind the descriptor; *ret_mount, unless NULL: its mount's,
 * 0: not known. No file system is asked that may take its time. 0: closed, or not known.
 */
uint64_t fdinfo__inode(const char *task, int32_t fd, int *ret_mount);

/*
 * Which descriptor an epoll event stands for. The event has only what the program put there: a
 * descriptor, a pointer, a number. The kernel lists what is registered with it in /proc/PID/fdinfo.
 *
 * The kernel makes that list whole before its first byte can be read, and keeps the program from
 * using the epoll meanwhile: 0.9 µs an entry. So it isn't asked for where there may be too many.
 */

#define EPOLLINFO_FDS_MAX 1000 /* descriptors of a process whose epolls are looked at */

struct epoll_item {
	uint64_t data;	/* asked for */
	int32_t fd;	/* found: the one descriptor with this data; -1: none, or several */
	uint64_t inode; /* of its file; 0: not known */
};

/*
 * Finds the descriptors registered with the thread's epoll epfd. 0; -E2BIG: the process has too
 * many descriptors; or -errno.
 */
int epollinfo__find(uint32_t pid, uint32_t tid, int32_t epfd, struct epoll_item *items, size_t cnt);

/* The part that parses, for tests. */
void epollinfo__parse(const char *text, struct epoll_item *items, size_t cnt);

#endif
