/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a file line by line through a fixed buffer: /proc files, maps of JIT compilers. */
#ifndef JANK_SYMBOL_NAMES_LINES_H
#define JANK_SYMBOL_NAMES_LINES_H

#include <stddef.h>
#include <stdint.h>

/* Callback for one line: without newline, NUL-terminated, writable. off: its offset in the file. */
typedef int (*lines_fn)(char *line, size_t len, uint64_t off, void *ctx);

/*
 * Calls fn for each complete line of fd from *off on, and moves *off past those lines. Stops after
 * max bytes, or when fn returns non-zero. Skips lines over 32 KiB. Returns that value, 0 or -errno.
 */
int lines__read(int fd, uint64_t *off, uint64_t max, lines_fn fn, void *ctx);

/*
 * Parses a hexadecimal number at *p, with or without 0x, and moves *p past it. Returns 0, or
 * -EINVAL when there is no number or it is too large.
 */
int lines__hex(char **p, uint64_t *ret);

#endif
