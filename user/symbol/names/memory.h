/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a process's memory without touching what isn't there: a page that must be brought in first
 * (from a slow disk, from a file system or a userfaultfd of the program's own) would hold the
 * reader as long as somebody likes.
 */
#ifndef JANK_SYMBOL_NAMES_MEMORY_H
#define JANK_SYMBOL_NAMES_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Exactly len bytes within one page. -ENODATA: the page was never brought in, so that it is as in
 * the file that is mapped there; -EFAULT: swapped out; -EINVAL: more than a page; or -errno.
 */
int memory__read(const char *proc, uint32_t pid, uint64_t addr, void *buf, size_t len);

/* The vdso: an ELF file that is in no file system, only in processes. */

/* Copies [start, end) from the process's memory (PROC/PID/mem), malloc'ed. 0 or -errno. */
int vdso__copy(uint32_t pid, uint64_t start, uint64_t end, void **ret, size_t *ret_size);

#endif
