/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/confine.h"

#include <cap-ng.h>
#include <errno.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>

int confine__drop_bounding_set(void)
{
	capng_get_caps_process();
	if (!capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP))
		return 0;
	capng_clear(CAPNG_SELECT_BOUNDS);
	return capng_apply(CAPNG_SELECT_BOUNDS) ? -EPERM : 0;
}

int confine__drop_capabilities(void)
{
	capng_clear(CAPNG_SELECT_CAPS);
	if (capng_apply(CAPNG_SELECT_CAPS))
		return -EPERM;
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) ? -errno : 0;
}

/* A lower hard limit of ours stays. */
static int limit_files(unsigned max)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return -errno;
	if (files.rlim_max > max)
		files.rlim_max = max;
	files.rlim_cur = files.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &files) ? -errno : 0;
}

int confine__limit(const struct confine_limits *limits)
{
	const struct syscall_list *const lists[] = { &syscalls_base, limits->calls, limits->more,
						     NULL };
	int res;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ||
	    prctl(PR_SET_PDEATHSIG, limits->orphan_signal, 0, 0, 0))
		return -errno;
	res = limit_files(limits->file_max);
	if (!res)
		res = syscall_filter__install(lists, limits->end);
	return res == -EOPNOTSUPP ? 0 : res;
}
