/* SPDX-License-Identifier: GPL-2.0 */
/* The user of sudo, by files of our own in the place of /etc/passwd and /etc/group. */
#include "files/user_account.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/scratch.h"

#define PASSWD "root:x:0:0::/root:/bin/sh\n4242:x:77:77:::\njank:x:4242:4243::/home:/bin/sh\n"
#define GROUP  "one:x:4244:root,jank\nown:x:4243:jank\nother:x:99:jan\n"

static void set(const char *uid, const char *gid)
{
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	if (uid)
		setenv("SUDO_UID", uid, 1);
	if (gid)
		setenv("SUDO_GID", gid, 1);
}

static void test_none(const char *uid, const char *what)
{
	struct user_account account;
	uid_t got;

	set(uid, NULL);
	ok(!user_account__is_sudo(&got), "no user of sudo: %s", what);
	is_int(user_account__of_sudo(&account), -ENOENT, "… nor an account");
}

static void test_known(void)
{
	struct user_account account;
	uid_t uid = 0;

	set("4242", NULL);
	ok(user_account__is_sudo(&uid) && uid == 4242, "a user of sudo");
	is_int(user_account__of_sudo(&account), 0, "… has an account");
	is_str(account.name, "jank", "… by its number, not by a name like that number");
	ok(account.uid == 4242 && account.gid == 4243, "… with its ids");
	ok(account.group_cnt == 2 && account.groups[0] == 4243 && account.groups[1] == 4244,
	   "… and its groups");
	user_account__free(&account);
	set("4242", "5");
	is_int(user_account__of_sudo(&account), 0, "SUDO_GID");
	ok(account.gid == 5 && account.groups[0] == 5, "… is the group");
	user_account__free(&account);
}

static void test_unknown(void)
{
	struct user_account account;

	set("5000", "6000");
	is_int(user_account__of_sudo(&account), 0, "a user who is not in /etc/passwd");
	ok(account.uid == 5000 && account.gid == 6000 && account.group_cnt == 1, "… has the ids");
	user_account__free(&account);
	set("5000", "6000x");
	is_int(user_account__of_sudo(&account), 0, "no valid SUDO_GID");
	ok(account.gid == 5000, "… is not used");
	user_account__free(&account);
}

int main(void)
{
	scratch__init();
	if (geteuid() || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		skip_all("needs root");
	if (mount(scratch__write_text("passwd", PASSWD), "/etc/passwd", NULL, MS_BIND, NULL) ||
	    mount(scratch__write_text("group", GROUP), "/etc/group", NULL, MS_BIND, NULL))
		skip_all("no bind mounts here");
	test_none(NULL, "not set");
	test_none("0", "root");
	test_none("", "empty");
	test_none("42x", "no number");
	test_none("-1", "negative");
	test_none("4294967295", "no uid");
	test_known();
	test_unknown();
	umount("/etc/passwd");
	umount("/etc/group");
	return tap__done();
}
