/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads that may never end, made by a process apart: of a traced program's memory, and of files on
 * file systems whose answers come from somebody's daemon or over a network.
 *
 * A thread would not do. A request that a FUSE daemon has taken and does not answer cannot be
 * killed, and a process with such a thread does not end. The process apart holds nothing but its
 * socket; one that takes longer than half a second is left behind, and what it was asked for (a
 * process's memory, a file system) is asked for no more. Any thread may call; one at a time is
 * served, the others wait.
 */
#ifndef JANK_BASE_APART_H
#define JANK_BASE_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Starts the process now, or does nothing when it runs. Without, the first read does: later, when
 * there is more memory to be shared with it, and somebody waits. 0 or -errno.
 */
int apart__start(void);

/* Ends it, if it runs: at our own end, when nobody reads any more. Waits for 100 ms at most. */
void apart__stop(void);

/*
 * As process_vm_readv of one range: how many bytes, or -errno. -ETIMEDOUT: given up, now or before.
 */
ssize_t apart__memory(uint32_t pid, uint64_t addr, void *buf, size_t len);

/* As pread of the regular file behind an O_PATH descriptor. */
ssize_t apart__pread(int handle, void *buf, size_t len, uint64_t off);

/*
 * An O_PATH descriptor of the file, in the root directory (NULL: ours), which no link leads out of;
 * or -errno.
 */
int apart__open(const char *root, const char *path);

/* As fstat of any descriptor, by what the kernel knows without asking anybody. 0 or -errno. */
int apart__stat(int fd, struct stat *ret);

/* The same of what a link of /proc's leads to (exe, fd/N). */
int apart__stat_link(const char *path, struct stat *ret);

/*
 * Does a file system answer by itself: on a block device, or mounted in our own namespace and of no
 * kind that asks a daemon or a server? Others' files stay O_PATH descriptors, which image__read
 * reads apart.
 */
bool apart__trusts(dev_t dev);

/*
 * The same of a file that a process sees (0: none), by its own mounts: of those only what lies in
 * memory is trusted. The file is to be held by a descriptor.
 */
bool apart__trusts_for(dev_t dev, uint32_t pid);

/* How often something took too long, or was asked for again after that. */
uint64_t apart__refused_cnt(void);

#endif
