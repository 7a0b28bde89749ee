/* SPDX-License-Identifier: GPL-2.0 */
/* The library of copied.c. */
#include <unistd.h>

void copied_handle(unsigned ms);

static __attribute__((noinline)) void copied_inner(unsigned ms)
{
	usleep(ms * 1000);
	__asm__ volatile("");
}

void copied_handle(unsigned ms)
{
	copied_inner(ms);
	__asm__ volatile("");
}
