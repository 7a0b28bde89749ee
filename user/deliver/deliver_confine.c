/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "deliver/deliver_confine.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/syscall_filter.h"
#include "deliver/records_user.h"
#include "files/user_account.h"

#define DELIVER_FILE_MAX 32 /* the directory sink has at most ten open */
#define FETCH_FILE_MAX	 64 /* sockets and files of a download */

/* Also its HOME, for the cache of debuginfod; a uid without an account has none. */
static int take_user(struct user_account *account)
{
	int res = user_account__of_sudo(account);

	if (res == -ENOENT)
		return 0;
	if (res)
		return res;
	return account->name ? user_account__become(account) : user_account__take_ids(account);
}

/* err: of the user of sudo, if there is one. 0 or -errno. */
static int become_user(const char *task, struct err *err)
{
	struct user_account account = {};
	int res = take_user(&account);

	if (res)
		err__set(err, -res,
			 "cannot %s as the user of sudo (user id %u): %s; to do it as "
			 "root, unset SUDO_UID",
			 task, account.uid, strerror(-res));
	user_account__free(&account);
	return res;
}

/* The user that writes and sends records; else that of sudo. */
static int become_records_user(const struct options *opts, const char *task, struct err *err)
{
	struct user_account account = {};
	int res = records_user__find(opts, &account, err);

	if (res == -ENOENT)
		return become_user(task, err);
	if (!res && opts->output_dir)
		res = records_user__take_dir(&account, opts->output_dir, err);
	if (!res && opts->spool)
		res = records_user__take_dir(&account, opts->spool, err);
	if (!res && account.uid != geteuid()) {
		res = user_account__become(&account);
		if (res)
			err__set(err, -res,
				 "cannot %s as the user %s: %s; start it as root, or "
				 "leave out --records-user",
				 task, account.name, strerror(-res));
	}
	user_account__free(&account);
	return res;
}

/* opts: of the user that writes records; NULL: as the user of sudo. */
static int confine(const struct confine_limits *limits, const struct options *opts,
		   const char *task, struct err *err)
{
	int res = confine__drop_bounding_set();

	if (!res) {
		res = opts ? become_records_user(opts, task, err) : become_user(task, err);
		if (res)
			return res;
		res = confine__drop_capabilities();
	}
	if (!res)
		res = confine__limit(limits);
	return res ? err__set(err, -res,
			      "the process to %s cannot give up privileges: %s: a security module "
			      "or container may forbid it",
			      task, strerror(-res))
		   : 0;
}

int confine__deliver(enum deliver_kind kind, const struct options *opts, struct err *err)
{
	const struct confine_limits limits = { DELIVER_FILE_MAX, CONFINE_ORPHANED, &deliver_calls,
					       deliver__more_calls(kind), NULL };

	return confine(&limits, opts, "write records", err);
}

int confine__downloader(struct err *err)
{
	const struct confine_limits limits = { FETCH_FILE_MAX, SIGKILL, &fetch_calls,
					       &syscalls_file_code, NULL };

	return confine(&limits, NULL, "download debug files", err);
}

int confine__sender(const struct options *opts, struct err *err)
{
	const struct confine_limits limits = { FETCH_FILE_MAX, SIGKILL, &fetch_calls,
					       &syscalls_file_code, NULL };

	return confine(&limits, opts, "send records", err);
}

int confine__react(struct err *err)
{
	int res = become_user("run commands", err);

	if (res)
		return res;
	if (geteuid())
		res = confine__drop_capabilities();
	if (!res && (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ||
		     prctl(PR_SET_PDEATHSIG, CONFINE_ORPHANED, 0, 0, 0)))
		res = -errno;
	return res ? err__set(err, -res,
			      "the process to run commands cannot give up privileges: %s",
			      strerror(-res))
		   : 0;
}
