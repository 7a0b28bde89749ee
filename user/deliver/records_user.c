/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "deliver/records_user.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static bool is_name(const char *name)
{
	return strcmp(name, ".") && strcmp(name, "..");
}

/* Files of root with one name: no link can lead elsewhere. */
static int take_files(int dirfd, const struct user_account *account, bool only_count)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), cnt = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	struct stat st;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return -errno;
	}
	while ((entry = readdir(dir))) {
		cnt += is_name(entry->d_name);
		if (!only_count && !fstatat(dirfd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode) && !st.st_uid && st.st_nlink == 1 &&
		    fchownat(dirfd, entry->d_name, account->uid, account->gid, AT_SYMLINK_NOFOLLOW))
			cnt = -errno;
		if (cnt < 0)
			break;
	}
	closedir(dir);
	return cnt;
}

int records_user__take_dir(const struct user_account *account, const char *path, struct err *err)
{
	struct stat st;
	int fd, res = 0;

	if (geteuid() || !account->uid)
		return 0;
	if (!stat(path, &st) && st.st_uid) /* whoever it belongs to is checked when it is opened */
		return 0;
	fd = own_path__dir(path, 0700, err);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		res = -errno;
	/* A directory of the system's, such as /var/log, must not get another owner. */
	if (!res && (!(st.st_mode & (S_IRWXG | S_IRWXO)) || !take_files(fd, account, true))) {
		res = take_files(fd, account, false);
		if (res >= 0)
			res = fchown(fd, account->uid, account->gid) ? -errno : 0;
	}
	close(fd);
	return res ? err__set(err, -res,
			      "'%s': cannot give it to the user %s: %s; do so by chown -R", path,
			      account->name, strerror(-res))
		   : 0;
}
