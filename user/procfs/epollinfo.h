/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which descriptor an epoll event stands for. The event has only what the program put there: a descriptor,
 * a pointer, a number. The kernel lists what is registered with it in /proc/PID/fdinfo.
 *
 * The kernel makes that list whole before its first byte can be read, and keeps the program from using
 * the epoll meanwhile: 0.9 µs an entry. So it isn't asked for where there may be too many.
 */
#ifndef JANK_PROCFS_EPOLLINFO_H
#define JANK_PROCFS_EPOLLINFO_H

#include <stddef.h>
#include <stdint.h>

#define EPOLLINFO_FDS_MAX 1000 /* descriptors of a process whose epolls are looked at */

struct epoll_item {
	uint64_t data;	/* asked for */
	int32_t fd;	/* found: the one descriptor with this data; -1: none, or several */
	uint64_t inode; /* of its file; 0: not known */
};

/* Finds the descriptors registered with the thread's epoll epfd. 0; -E2BIG: the process has too many
 * descriptors; or -errno. */
int epollinfo__find(uint32_t pid, uint32_t tid, int32_t epfd, struct epoll_item *items, size_t cnt);

/* The part that parses, for tests. */
void epollinfo__parse(const char *text, struct epoll_item *items, size_t cnt);

#endif
