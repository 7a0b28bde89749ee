/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks a path one component at a time, because openat2 either follows every link or none. */
#include "files/own_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/user_account.h"

#define LINKS_MAX 40 /* as in the kernel */

struct walk {
	const char *path; /* as the user wrote it, for messages */
	struct err *err;
	int fd;	     /* the directory reached, O_PATH */
	mode_t mode; /* of directories to create; 0: create none */
	unsigned link_cnt;
	char rest[PATH_MAX]; /* still to walk, relative to fd */
};

static bool is_us(uid_t uid)
{
	uid_t sudo;

	return !uid || uid == geteuid() || (user_account__is_sudo(&sudo) && uid == sudo);
}

bool own_path__is_private(const struct stat *st)
{
	return is_us(st->st_uid) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static int fail(const struct walk *w, int code)
{
	return err__set(w->err, code, "'%s': %s: choose a directory that can be written", w->path,
			strerror(code));
}

/* May the link in the directory w->fd be followed? */
static bool is_trusted(const struct walk *w, const struct stat *link)
{
	struct stat dir;

	if (fstat(w->fd, &dir))
		return false;
	if (own_path__is_private(&dir))
		return true;
	return (dir.st_mode & S_ISVTX) && is_us(dir.st_uid) && is_us(link->st_uid);
}

/* Puts the link's content before the rest of the path. */
static int follow(struct walk *w, int link_fd, const char *name, const struct stat *st)
{
	char text[PATH_MAX], joined[2 * PATH_MAX];
	ssize_t len;

	if (!is_trusted(w, st))
		return err__set(w->err, ELOOP,
				"'%s': the symbolic link '%s' in it may be another user's: name "
				"its target instead",
				w->path, name);
	if (++w->link_cnt > LINKS_MAX)
		return fail(w, ELOOP);
	len = readlinkat(link_fd, "", text, sizeof(text) - 1);
	if (len < 0)
		return fail(w, errno);
	text[len] = '\0';
	snprintf(joined, sizeof(joined), "%s/%s", text, w->rest);
	if (strlen(joined) >= sizeof(w->rest))
		return fail(w, ENAMETOOLONG);
	memcpy(w->rest, joined, strlen(joined) + 1);
	if (text[0] != '/')
		return 0;
	close(w->fd);
	w->fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return w->fd < 0 ? fail(w, errno) : 0;
}

static int step(struct walk *w, const char *name)
{
	const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(w->fd, name, flags), res = 0;
	struct stat st;

	if (fd < 0 && errno == ENOENT && w->mode) {
		if (mkdirat(w->fd, name, w->mode) && errno != EEXIST)
			return fail(w, errno);
		fd = openat(w->fd, name, flags);
	}
	if (fd < 0 || fstat(fd, &st)) {
		res = fail(w, errno);
	} else if (S_ISLNK(st.st_mode)) {
		res = follow(w, fd, name, &st);
	} else if (!S_ISDIR(st.st_mode)) {
		res = fail(w, ENOTDIR);
	} else {
		close(w->fd);
		w->fd = fd;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	return res;
}

/* Walks the first `len` bytes of the path. Returns an O_PATH descriptor or -errno. */
static int walk(struct walk *w, size_t len)
{
	int res = 0;

	if (!*w->path)
		return fail(w, ENOENT);
	if (len >= sizeof(w->rest))
		return fail(w, ENAMETOOLONG);
	memcpy(w->rest, w->path, len);
	w->rest[len] = '\0';
	w->fd = open(*w->path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w->fd < 0)
		return fail(w, errno);
	while (!res) {
		char name[NAME_MAX + 1], *begin = w->rest + strspn(w->rest, "/");
		size_t name_len = strcspn(begin, "/");

		if (!name_len)
			return w->fd;
		if (name_len >= sizeof(name)) {
			res = fail(w, ENAMETOOLONG);
			break;
		}
		memcpy(name, begin, name_len);
		name[name_len] = '\0';
		memmove(w->rest, begin + name_len, strlen(begin + name_len) + 1);
		res = step(w, name);
	}
	if (w->fd >= 0)
		close(w->fd);
	return res;
}

int own_path__refuse(const char *path, uid_t owner, struct err *err)
{
	return err__set(err, EACCES,
			"'%s': this directory belongs to user id %u, but records are written as "
			"user id %u: chown it, or choose another one",
			path, owner, geteuid());
}

int own_path__dir(const char *path, mode_t mode, struct err *err)
{
	struct walk w = { .path = path, .err = err, .mode = mode };
	int at = walk(&w, strlen(path)), fd, code;
	struct stat st;

	if (at < 0)
		return at;
	code = fstat(at, &st) ? errno : 0;
	fd = code ? -1 : openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	code = fd < 0 && !code ? errno : code;
	close(at);
	if (code == EACCES && st.st_uid != geteuid())
		return own_path__refuse(path, st.st_uid, err);
	if (code)
		return fail(&w, code);
	if (own_path__is_private(&st))
		return fd;
	close(fd);
	if (is_us(st.st_uid))
		return err__set(err, EPERM,
				"'%s': other users can write to this directory: chmod go-w it, or "
				"choose one below it that does not exist yet",
				path);
	return err__set(err, EPERM,
			"'%s': this directory belongs to user id %u: chown it, or choose another "
			"one",
			path, st.st_uid);
}

int own_path__parent(const char *path, const char **ret_name, struct err *err)
{
	const char *slash = strrchr(path, '/');
	struct walk w = { .path = path, .err = err };

	*ret_name = slash ? slash + 1 : path;
	return walk(&w, slash ? (size_t)(slash - path) + 1 : 0);
}
