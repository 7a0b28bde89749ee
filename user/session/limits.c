/* SPDX-License-Identifier: GPL-2.0 */
/* The soft limit on open files is low for the sake of programs that use select(); we don't. */
#include "session/limits.h"

#include <sys/resource.h>

void limits__raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}
