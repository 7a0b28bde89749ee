/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "deliver/confine.h"

#include <cap-ng.h>
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/syscall_filter.h"
#include "deliver/calls.h"
#include "files/user_account.h"

#define FILES_MAX 32 /* the directory sink has at most ten open */

static int become_user(struct err *err)
{
	struct user_account account;
	int res = user_account__of_sudo(&account);

	if (res == -ENOENT)
		return 0;
	if (!res)
		res = user_account__take_ids(&account);
	if (res)
		err__set(err, -res,
			 "cannot write records as the user of sudo (user id %u): %s; to write them "
			 "as root, unset SUDO_UID",
			 account.uid, strerror(-res));
	user_account__free(&account);
	return res;
}

/* Only at the start of a trace may the bounding set still be changed. */
static int drop_bounding_set(void)
{
	capng_get_caps_process();
	if (!capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP))
		return 0;
	capng_clear(CAPNG_SELECT_BOUNDS);
	return capng_apply(CAPNG_SELECT_BOUNDS) ? -EPERM : 0;
}

static int drop_capabilities(void)
{
	capng_clear(CAPNG_SELECT_CAPS);
	if (capng_apply(CAPNG_SELECT_CAPS))
		return -EPERM;
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) ? -errno : 0;
}

static int limit_process(void)
{
	const struct syscall_list *const lists[] = { &syscalls_base, &deliver_calls, NULL };
	const struct rlimit files = { FILES_MAX, FILES_MAX };
	int res;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ||
	    prctl(PR_SET_PDEATHSIG, CONFINE_ORPHANED, 0, 0, 0) || setrlimit(RLIMIT_NOFILE, &files))
		return -errno;
	res = syscall_filter__install(lists);
	return res == -EOPNOTSUPP ? 0 : res;
}

int confine(struct err *err)
{
	int res = drop_bounding_set();

	if (!res) {
		res = become_user(err);
		if (res)
			return res;
		res = drop_capabilities();
	}
	if (!res)
		res = limit_process();
	return res ? err__set(err, -res,
			      "the process that writes records cannot give up privileges: %s: a "
			      "security module or container may forbid it",
			      strerror(-res))
		   : 0;
}
