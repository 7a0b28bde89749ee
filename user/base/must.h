/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocations that never return NULL: if one fails, the process ends with a message and
 * JANK_EXIT_FAILED. Only for code that runs in a process that its parent starts again, and in
 * commands that can be repeated; not in the tracer, nor in the writer (docs/design.md).
 */
#ifndef JANK_BASE_MUST_H
#define JANK_BASE_MUST_H

#include <stddef.h>

void *must__malloc(size_t size);
void *must__calloc(size_t cnt, size_t size);
void *must__realloc(void *old, size_t size);
char *must__strdup(const char *text);

/* The array with room for one more element of that size; sets *cap. Call before each addition. */
void *must__grow(void *array, size_t cnt, size_t *cap, size_t size);

#endif
