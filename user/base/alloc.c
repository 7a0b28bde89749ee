/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of failed allocations. See alloc.h. */
#include "base/alloc.h"

#ifdef __GLIBC__
#undef malloc
#undef calloc
#undef realloc
#undef reallocarray
#include <malloc.h>
#endif

#define KEPT_MAX (4u << 20) /* free bytes in a heap that are not worth a system call */

static uint64_t failed_cnt;
static _Thread_local uint64_t own_cnt;

void alloc__count_failure(void)
{
	own_cnt++;
	__atomic_fetch_add(&failed_cnt, 1, __ATOMIC_RELAXED);
}

uint64_t alloc__failed_cnt(void)
{
	return __atomic_load_n(&failed_cnt, __ATOMIC_RELAXED);
}

uint64_t alloc__own_cnt(void)
{
	return own_cnt;
}

void alloc__trim(void)
{
#ifdef __GLIBC__
	if (mallinfo2().fordblks > KEPT_MAX)
		malloc_trim(0);
#endif
}
