/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A user of /etc/passwd with the groups of /etc/group. Not by getpwnam and initgroups: a static
 * program has no NSS, and a directory service may block for ever.
 */
#ifndef JANK_FILES_USER_ACCOUNT_H
#define JANK_FILES_USER_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct user_account {
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* the own one and those that list the user */
	size_t group_cnt;
	char *name, *home, *shell;
};

/*
 * Finds a user by name, or by number where no user has that name. Returns 0, -ENOENT or -ENOMEM.
 * On success the caller frees ret with user_account__free.
 */
int user_account__find(const char *user, struct user_account *ret);
void user_account__free(struct user_account *account); /* accepts one of zeros */

/* True if root runs us for another user by sudo: SUDO_UID is the uid of a user who is not root. */
bool user_account__is_sudo(uid_t *ret);

/*
 * That user, with SUDO_GID as the group if it is set. A uid without an entry in /etc/passwd has
 * neither name nor further groups. -ENOENT: there is no such user. Else as user_account__find.
 */
int user_account__of_sudo(struct user_account *ret);

/* Takes the groups, gid and uid of that user. 0 or -errno; then the process must end. */
int user_account__take_ids(const struct user_account *account);

/*
 * Makes this process that user's: groups, gid, uid, and HOME, USER, LOGNAME, SHELL. For a child
 * with one thread, before its exec. Returns 0 or -errno; then the process must end.
 */
int user_account__become(const struct user_account *account);

#endif
