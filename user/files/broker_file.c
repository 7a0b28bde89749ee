/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "files/broker_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "files/apart.h"
#include "files/file.h"
#include "files/proc.h"

/* Takes the descriptor if it is refused. */
static int take(int fd, bool allowed)
{
	if (fd < 0 || allowed)
		return fd;
	close(fd);
	return -EPERM;
}

/*
 * An O_PATH descriptor is not asked, because its file system may never answer: the helper process
 * that reads such a file refuses it (apart.c).
 */
static bool is_generated(int fd, const struct stat *st)
{
	return !(fcntl(fd, F_GETFL) & O_PATH) && apart__is_generated(fd, st);
}

static bool is_for_all(int fd, const struct stat *st)
{
	return st->st_mode & S_IROTH && !is_generated(fd, st);
}

int broker_file__open(const char *path, struct stat *st)
{
	int fd = openfile__path(path, st);

	return take(fd, fd >= 0 && is_for_all(fd, st));
}

static int open_in_root(uint32_t pid, const char *path, bool links, struct stat *st)
{
	char root[32];

	snprintf(root, sizeof(root), "/proc/%" PRIu32 "/root", pid);
	return links ? openfile__in_root(root, path, st)
		     : openfile__in_root_no_links(root, path, st);
}

/*
 * True if the process has the power of one user and of no other: a program that may change its user
 * back, or has another one for files, has none. *ret: the user.
 */
static bool has_one_user(uint32_t pid, uid_t *ret)
{
	struct proc_uids uids;

	if (!proc__uids("/proc", pid, &uids))
		return false;
	*ret = uids.fs;
	return uids.real == uids.fs && uids.effective == uids.fs && uids.saved == uids.fs;
}

/*
 * The process may have been another user's when it became known, and may change its user and its
 * mounts at any time: one that gives up root can mount root's file over its own. So its user is
 * read before the lookup and after it, and the file must be of that user both times.
 */
static int open_private(uint32_t pid, const char *path, bool links, struct stat *st)
{
	uid_t before, after;
	int fd;

	if (!has_one_user(pid, &before))
		return -EPERM;
	fd = open_in_root(pid, path, links, st);
	return take(fd, fd >= 0 && has_one_user(pid, &after) && before == after &&
				st->st_uid == after && !is_generated(fd, st));
}

int broker_file__open_in_root(uint32_t pid, const char *path, bool links, struct stat *st)
{
	int fd = open_in_root(pid, path, links, st);

	if (fd < 0 || is_for_all(fd, st))
		return fd;
	close(fd);
	return open_private(pid, path, links, st);
}

int broker_file__follow(const char *path, struct stat *st)
{
	int fd = openfile__link(path, st);

	return take(fd, fd >= 0 && !is_generated(fd, st));
}
