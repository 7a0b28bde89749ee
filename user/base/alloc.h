/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts allocations that fail. The Makefile includes this header in every file of user/, so that
 * no caller of malloc has to count: what a caller leaves out then is reported as `out_of_memory`.
 * Any thread.
 */
#ifndef JANK_BASE_ALLOC_H
#define JANK_BASE_ALLOC_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Failed allocations of all threads, and of the calling thread. */
uint64_t alloc__failed_cnt(void);
uint64_t alloc__own_cnt(void);

void alloc__count_failure(void);

/* Gives what the heaps keep for later back to the system, if it is much. */
void alloc__trim(void);

#define ALLOC_INLINE static inline __attribute__((always_inline))

/* Counts if an allocation did not succeed. Returns its result. */
ALLOC_INLINE void *alloc__checked(void *allocated)
{
	if (__builtin_expect(!allocated, 0))
		alloc__count_failure();
	return allocated;
}

ALLOC_INLINE void *alloc__malloc(size_t size)
{
	return alloc__checked(malloc(size));
}

ALLOC_INLINE void *alloc__calloc(size_t cnt, size_t size)
{
	return alloc__checked(calloc(cnt, size));
}

ALLOC_INLINE char *alloc__strdup(const char *text)
{
	return alloc__checked(strdup(text));
}

ALLOC_INLINE char *alloc__strndup(const char *text, size_t len)
{
	return alloc__checked(strndup(text, len));
}

ALLOC_INLINE int alloc__printed(int len)
{
	if (__builtin_expect(len < 0, 0))
		alloc__count_failure();
	return len;
}

#undef strdup
#undef strndup
#define malloc			     alloc__malloc
#define calloc			     alloc__calloc
#define realloc(old, size)	     alloc__checked(realloc(old, size))
#define reallocarray(old, cnt, size) alloc__checked(reallocarray(old, cnt, size))
#define strdup			     alloc__strdup
#define strndup			     alloc__strndup
#define asprintf(...)		     alloc__printed(asprintf(__VA_ARGS__))
#define vasprintf(...)		     alloc__printed(vasprintf(__VA_ARGS__))

#endif
