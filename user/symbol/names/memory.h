/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the memory of a process, but only pages that are present. A missing page may come from a
 * slow disk, or from a file system or userfaultfd of the program itself. It would block the reader
 * for as long as that program likes.
 */
#ifndef JANK_SYMBOL_NAMES_MEMORY_H
#define JANK_SYMBOL_NAMES_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Reads exactly len bytes within one page. Returns 0; -ENODATA: the page was never loaded, so its
 * content is that of the mapped file; -EFAULT: swapped out; -EINVAL: more than a page; or -errno.
 */
int memory__read(const char *proc, uint32_t pid, uint64_t addr, void *buf, size_t len);

/* --- the vdso: an ELF file that exists only in processes, not in a file system */

/*
 * Copies [start, end) of the process's memory (PROC/PID/mem) to malloc'ed memory that the caller
 * owns. Returns 0 or -errno.
 */
int vdso__copy(uint32_t pid, uint64_t start, uint64_t end, void **ret, size_t *ret_size);

#endif
