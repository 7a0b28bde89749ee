/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables are generated: one from the C library's numbers (see the Makefile), one from
 * syscalls_32.tbl.
 */
#include "base/syscall_name.h"

#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

/* From this number on, a call has the same number on all architectures. */
#define FIRST_COMMON 424

static const char *const names[] = {
#include "syscall_names.h"
};

static const char *const names_32[] = {
#include "syscall_names_32.h"
};

const char *syscall__name_32(int nr)
{
	return nr >= 0 && (size_t)nr < sizeof(names_32) / sizeof(names_32[0]) ? names_32[nr] : NULL;
}

/* The 32-bit table also has calls that are newer than the C library's headers. */
const char *syscall__name(int nr)
{
	if (nr >= 0 && (size_t)nr < sizeof(names) / sizeof(names[0]) && names[nr])
		return names[nr];
	return nr >= FIRST_COMMON ? syscall__name_32(nr) : NULL;
}

int syscall__nr(const char *name)
{
	const size_t cnt = sizeof(names) / sizeof(names[0]);
	const size_t cnt_32 = sizeof(names_32) / sizeof(names_32[0]);
	const int end = (int)(cnt > cnt_32 ? cnt : cnt_32);

	for (int nr = 0; name && nr < end; nr++)
		if (syscall__name(nr) && !strcmp(syscall__name(nr), name))
			return nr;
	return -1;
}
