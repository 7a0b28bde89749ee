/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "deliver/records_user.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/record_file.h"
#include "export/spool/spool.h"
#include "files/own_path.h"

#define SERVICE_USER "jankbpf"

int records_user__find(const struct options *opts, struct user_account *ret, struct err *err)
{
	const char *name = opts->records_user;
	int res;

	if (!name && (opts->command != CMD_AGENT || geteuid()))
		return -ENOENT;
	res = user_account__find(name ?: SERVICE_USER, ret);
	if (!name || !res)
		return res;
	err__set_exit(err, JANK_EXIT_USAGE, -res,
		      "--records-user '%s': %s; give a user of /etc/passwd", name,
		      res == -ENOENT ? "there is no such user" : strerror(-res));
	return -EINVAL;
}

/* Of those that a run makes: a file with one of its names, or a spool. */
static bool is_of_run(int dirfd, const char *name, const struct stat *st)
{
	char agent[NAME_MAX + 8];

	if (S_ISREG(st->st_mode))
		return st->st_nlink == 1 && (record_dir__knows(name) || spool_dir__knows(name));
	snprintf(agent, sizeof(agent), "%s/agent", name);
	return S_ISDIR(st->st_mode) && !faccessat(dirfd, agent, F_OK, AT_SYMLINK_NOFOLLOW);
}

/*
 * Calls fn for each entry until one returns false. False then, and ret_name (NAME_MAX + 1 bytes) is
 * that entry; or if the directory cannot be read: ret_name is empty.
 */
static bool each_entry(int dirfd, const struct user_account *account, char *ret_name,
		       bool (*fn)(int dirfd, const char *name, const struct stat *st,
				  const struct user_account *account))
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	bool ret = dir;
	struct stat st;

	*ret_name = '\0';
	if (!dir && fd >= 0)
		close(fd);
	while (ret && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		ret = !fstatat(dirfd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		      fn(dirfd, entry->d_name, &st, account);
		if (!ret)
			snprintf(ret_name, NAME_MAX + 1, "%s", entry->d_name);
	}
	if (dir)
		closedir(dir);
	return ret;
}

static bool is_taken(int dirfd, const char *name, const struct stat *st,
		     const struct user_account *account)
{
	(void)account;
	return is_of_run(dirfd, name, st);
}

static bool take_file(int dirfd, const char *name, const struct stat *st,
		      const struct user_account *account)
{
	return !S_ISREG(st->st_mode) || st->st_uid ||
	       !fchownat(dirfd, name, account->uid, account->gid, AT_SYMLINK_NOFOLLOW);
}

/*
 * A directory of root's with other files, such as /root, must not get another owner, who could
 * replace them. 0, or -errno with a message.
 */
static int take(int fd, const struct user_account *account, const char *path, struct err *err)
{
	char name[NAME_MAX + 1];
	struct stat st;

	if (fstat(fd, &st))
		return err__set(err, errno, "'%s': %s", path, strerror(errno));
	if (st.st_uid || st.st_mode & (S_IRWXG | S_IRWXO))
		return 0;
	if (!each_entry(fd, account, name, is_taken))
		return err__set(
			err, EPERM,
			"'%s' belongs to root, and '%.60s' in it is of no run: it is not given "
			"to the user %s; choose a directory for records alone, or chown it",
			path, name, account->name);
	if (!each_entry(fd, account, name, take_file) || fchown(fd, account->uid, account->gid))
		return err__set(err, errno,
				"'%s': cannot give it to the user %s: %s; do so by chown -R", path,
				account->name, strerror(errno));
	return 0;
}

/* Missing ones above it are made, too. */
static int take_parent(const struct user_account *account, const char *path, struct err *err)
{
	char parent[PATH_MAX];
	char *slash;

	if (snprintf(parent, sizeof(parent), "%s", path) >= (int)sizeof(parent))
		return err__set(err, ENAMETOOLONG, "'%.60s…': the path is too long", path);
	slash = strrchr(parent, '/');
	while (slash && slash > parent && !slash[1]) {
		*slash = '\0';
		slash = strrchr(parent, '/');
	}
	if (!slash || slash == parent)
		return 0;
	*slash = '\0';
	return access(parent, F_OK) ? records_user__take_dir(account, parent, err) : 0;
}

int records_user__take_dir(const struct user_account *account, const char *path, struct err *err)
{
	int fd, res = 0;

	if (geteuid() || !account->uid)
		return 0;
	if (access(path, F_OK))
		res = take_parent(account, path, err);
	if (res)
		return res;
	fd = own_path__dir(path, 0700, NULL);
	if (fd < 0) /* whoever it belongs to is checked when it is opened as that user */
		return 0;
	res = take(fd, account, path, err);
	close(fd);
	return res;
}
