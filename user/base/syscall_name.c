/* SPDX-License-Identifier: GPL-2.0 */
/* The table is generated from the C library's numbers, see the Makefile. */
#include "base/syscall_name.h"

#include <stddef.h>

static const char *const names[] = {
#include "syscall_names.h"
};

const char *syscall__name(int nr)
{
	return nr >= 0 && (size_t)nr < sizeof(names) / sizeof(names[0]) ? names[nr] : NULL;
}
