/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "deliver/confine.h"

#include <errno.h>
#include <string.h>

#include "base/confine.h"
#include "base/syscall_filter.h"
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

int confine(struct err *err)
{
	const struct confine_limits limits = { FILES_MAX, CONFINE_ORPHANED, &deliver_calls };
	int res = confine__drop_bounding_set();

	if (!res) {
		res = become_user(err);
		if (res)
			return res;
		res = confine__drop_capabilities();
	}
	if (!res)
		res = confine__limit(&limits);
	return res ? err__set(err, -res,
			      "the process that writes records cannot give up privileges: %s: a "
			      "security module or container may forbid it",
			      strerror(-res))
		   : 0;
}
