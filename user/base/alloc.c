/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of failed allocations. See alloc.h. */
#include "base/alloc.h"

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
