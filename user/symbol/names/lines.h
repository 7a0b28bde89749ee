/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a file by lines through a fixed buffer: /proc files, maps of JIT compilers. */
#ifndef JANK_SYMBOL_NAMES_LINES_H
#define JANK_SYMBOL_NAMES_LINES_H

#include <stddef.h>
#include <stdint.h>

/* A line without its newline, NUL-terminated, writable; off is where it begins in the file. */
typedef int (*lines_fn)(char *line, size_t len, uint64_t off, void *ctx);

/*
 * Calls fn for each complete line of fd from *off on, which moves past the lines seen. Stops when
 * fn returns non-zero (and returns that), or after max bytes. Lines over 32 KiB are skipped. 0 or
 * -errno.
 */
int lines__read(int fd, uint64_t *off, uint64_t max, lines_fn fn, void *ctx);

/*
 * A hexadecimal number at *p, with 0x before it or without, which moves past it: 0, or -EINVAL when
 * there is none or too large a one.
 */
int lines__hex(char **p, uint64_t *ret);

#endif
