/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The user that writes and sends records: of --records-user; else, under the agent, jankbpf. */
#ifndef JANK_DELIVER_RECORDS_USER_H
#define JANK_DELIVER_RECORDS_USER_H

#include "base/err.h"
#include "files/user_account.h"
#include "options/options.h"

/*
 * 0; -ENOENT without a message: there is none, so that of sudo applies; else -errno with a message.
 * The caller frees ret.
 */
int records_user__find(const struct options *opts, struct user_account *ret, struct err *err);

/*
 * Gives the user a directory of root that is closed to others and holds nothing but files of a run
 * and spools, with these files; makes it if it does not exist. Refuses one of root that holds other
 * files; leaves those of other users as they are. 0, or -errno with a message.
 */
int records_user__take_dir(const struct user_account *account, const char *path, struct err *err);

#endif
