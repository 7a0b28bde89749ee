/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "files/user_account.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "files/file.h"

#define FILE_MAX   (4u << 20)
#define GROUPS_MAX 65536 /* the kernel's own limit */

/* Calls fn(ctx, file) with the content of a file, if it can be read. */
static void with_content(const char *path, void (*fn)(void *ctx, FILE *file), void *ctx)
{
	struct strbuf text = STRBUF_INIT;
	FILE *file = NULL;

	if (!file__read(path, FILE_MAX, &text) && text.len)
		file = fmemopen(text.data, text.len, "r");
	if (file) {
		fn(ctx, file);
		fclose(file);
	}
	strbuf__free(&text);
}

struct search {
	const char *user; /* a name, or a number */
	bool by_number;
	struct user_account *account;
	int code;
};

static bool is_user(const struct search *search, const struct passwd *entry)
{
	char number[16];

	if (!search->by_number)
		return !strcmp(entry->pw_name, search->user);
	snprintf(number, sizeof(number), "%u", entry->pw_uid);
	return !strcmp(number, search->user);
}

static int copy(struct user_account *account, const struct passwd *entry)
{
	int res;

	account->uid = entry->pw_uid;
	account->gid = entry->pw_gid;
	res = text__copy(&account->name, entry->pw_name);
	if (!res)
		res = text__copy(&account->home, *entry->pw_dir ? entry->pw_dir : "/");
	if (!res)
		res = text__copy(&account->shell, *entry->pw_shell ? entry->pw_shell : "/bin/sh");
	return res;
}

static void find_user(void *ctx, FILE *file)
{
	struct search *search = ctx;
	const struct passwd *entry;

	while (search->code == -ENOENT && (entry = fgetpwent(file)))
		if (is_user(search, entry))
			search->code = copy(search->account, entry);
}

static int add_group(struct user_account *account, gid_t gid)
{
	gid_t *groups;

	if (account->group_cnt == GROUPS_MAX)
		return 0;
	groups = reallocarray(account->groups, account->group_cnt + 1, sizeof(*groups));
	if (!groups)
		return -ENOMEM;
	account->groups = groups;
	account->groups[account->group_cnt++] = gid;
	return 0;
}

static void find_groups(void *ctx, FILE *file)
{
	struct search *search = ctx;
	struct user_account *account = search->account;
	const struct group *entry;

	while (!search->code && (entry = fgetgrent(file)))
		for (char **member = entry->gr_mem; *member; member++)
			if (entry->gr_gid != account->gid && !strcmp(*member, account->name)) {
				search->code = add_group(account, entry->gr_gid);
				break;
			}
}

static int add_groups(struct search *search)
{
	search->code = add_group(search->account, search->account->gid);
	if (!search->code && search->account->name)
		with_content("/etc/group", find_groups, search);
	if (search->code)
		user_account__free(search->account);
	return search->code;
}

int user_account__find(const char *user, struct user_account *ret)
{
	struct search search = { .user = user, .account = ret, .code = -ENOENT };

	*ret = (struct user_account){};
	with_content("/etc/passwd", find_user, &search);
	search.by_number = true;
	if (search.code == -ENOENT)
		with_content("/etc/passwd", find_user, &search);
	if (search.code) {
		user_account__free(ret);
		return search.code;
	}
	return add_groups(&search);
}

/* The value of an environment variable, if it is a user or group id. */
static bool id_of(const char *variable, id_t *ret)
{
	const char *text = getenv(variable);
	struct strbuf number = STRBUF_INIT;
	bool is_id;

	*ret = text ? (id_t)strtoul(text, NULL, 10) : 0;
	strbuf__addf(&number, "%u", *ret);
	is_id = text && !strcmp(text, strbuf__str(&number)) && *ret != (id_t)-1;
	strbuf__free(&number);
	return is_id;
}

bool user_account__is_sudo(uid_t *ret)
{
	return !geteuid() && id_of("SUDO_UID", ret) && *ret;
}

int user_account__of_sudo(struct user_account *ret)
{
	struct search search = {
		.user = getenv("SUDO_UID"), .by_number = true, .account = ret, .code = -ENOENT
	};
	uid_t uid;
	gid_t gid;

	*ret = (struct user_account){};
	if (!user_account__is_sudo(&uid))
		return -ENOENT;
	with_content("/etc/passwd", find_user, &search);
	if (search.code && search.code != -ENOENT) {
		user_account__free(ret);
		return search.code;
	}
	if (search.code)
		ret->uid = ret->gid = uid;
	if (id_of("SUDO_GID", &gid))
		ret->gid = gid;
	return add_groups(&search);
}

void user_account__free(struct user_account *account)
{
	free(account->groups);
	free(account->name);
	free(account->home);
	free(account->shell);
	*account = (struct user_account){};
}

int user_account__take_ids(const struct user_account *account)
{
	if (setgroups(account->group_cnt, account->groups) ||
	    setresgid(account->gid, account->gid, account->gid) ||
	    setresuid(account->uid, account->uid, account->uid))
		return -errno;
	return 0;
}

int user_account__become(const struct user_account *account)
{
	int res = user_account__take_ids(account);

	if (res)
		return res;
	if (setenv("HOME", account->home, 1) || setenv("USER", account->name, 1) ||
	    setenv("LOGNAME", account->name, 1) || setenv("SHELL", account->shell, 1))
		return -ENOMEM;
	return 0;
}
