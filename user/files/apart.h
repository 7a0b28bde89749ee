/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads that may block forever, made by a helper process: reads of a traced program's memory, and
 * of files on FUSE or network file systems.
 *
 * A thread would not do: a request that a FUSE daemon has taken and does not answer cannot be
 * killed, and a process with such a thread does not end. The helper process holds nothing but its
 * socket. A helper that takes longer than PATIENCE_MS (apart.c) is abandoned, and the object that
 * it read (a process's memory, a file system) is not read again. After two such reads of a user's
 * processes, nothing of that user is read for a minute, and as long as both helpers are stuck. Any
 * thread may call; requests are served one at a time.
 */
#ifndef JANK_FILES_APART_H
#define JANK_FILES_APART_H

#include <linux/openat2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#ifndef RESOLVE_CACHED /* of openat2, since 5.12; before: -EINVAL */
#define RESOLVE_CACHED 0x20
#endif

/*
 * Starts the helper process; does nothing when it already runs. Without this call the first read
 * starts it: later, with more memory to share, while the caller waits. 0 or -errno.
 */
int apart__start(void);

/*
 * Ends the helper process if it runs. Call it at the end of the run, after the last read. Waits for
 * END_MS (apart.c) at most.
 */
void apart__stop(void);

/*
 * Like process_vm_readv of one range. Returns the number of bytes, or -errno; -ETIMEDOUT: the read
 * timed out now or earlier.
 */
ssize_t apart__memory(uint32_t pid, uint64_t addr, void *buf, size_t len);

/*
 * Reads the pieces of memory__read_pieces (proc.h) that `present` names. Returns a bit mask of
 * those that were read.
 */
uint32_t apart__memory_pieces(uint32_t pid, const uint64_t *addrs, size_t cnt, uint32_t present,
			      void *buf);

/* Like pread of the regular file behind an O_PATH descriptor. */
ssize_t apart__pread(int handle, void *buf, size_t len, uint64_t off);

/*
 * Opens an O_PATH descriptor of the file below the root directory (NULL: ours); no link leads out
 * of root. resolve: more flags of openat2(2). Returns the descriptor or -errno.
 */
int apart__open(const char *root, const char *path, uint64_t resolve);

/* Like apart__open, in the calling thread, which may wait for a directory. */
int apart__open_below(const char *root, const char *path, uint64_t resolve);

/*
 * Like fstat of any descriptor, from what the kernel has cached: no file system is queried. 0 or
 * -errno.
 */
int apart__stat(int fd, struct stat *ret);

/* Like apart__stat, of the target of a /proc link (exe, fd/N). */
int apart__stat_link(const char *path, struct stat *ret);

/* How many reads timed out, or were refused because of earlier timeouts. */
uint64_t apart__refused_cnt(void);

/*
 * True for a file that the kernel makes while it is read (procfs, debugfs, tracefs, …): its mode
 * lets anybody read it, but its content is that of the privileges with which it is opened, or only
 * a directory above it is closed to others. fd: not O_PATH; st: of it. May wait for the file's
 * daemon where an open may.
 */
bool apart__is_generated(int fd, const struct stat *st);

#endif
