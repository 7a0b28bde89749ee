/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For unit tests: allocations fail once as many have succeeded as `allocations_left` says. The
 * program is linked with --wrap, see mk/test.mk.
 */
#ifndef TESTS_FAILING_MEMORY_H
#define TESTS_FAILING_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t cnt, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t cnt, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);

static long allocations_left = -1; /* until all fail; -1: none fails */

static bool fails(void)
{
	return allocations_left >= 0 && (allocations_left ? allocations_left-- : 0) == 0;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t cnt, size_t size)
{
	return fails() ? NULL : __real_calloc(cnt, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}

#endif
