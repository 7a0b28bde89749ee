/* SPDX-License-Identifier: GPL-2.0 */
/* O_PATH opens nothing; what it names is looked at, then opened by way of /proc/self/fd. See openfile.h. */
#include "base/openfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/apart.h"

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

/* The process whose files a path of /proc leads to; 0: it is no such path. */
static uint32_t pid_of(const char *path)
{
	uint32_t pid;
	int end = 0;

	return path && sscanf(path, "/proc/%" SCNu32 "/%n", &pid, &end) == 1 && end ? pid : 0;
}

/* 0: a regular file; it is to be read apart where *ret_trusted is false. from: what led to it, NULL: not known. */
static int look_at(int handle, const char *from, struct stat *st, bool *ret_trusted)
{
	int res = apart__stat(handle, st);

	if (!res && !S_ISREG(st->st_mode))
		res = -EINVAL;
	if (!res)
		*ret_trusted = apart__trusts_for(st->st_dev, pid_of(from));
	return res;
}

static int open_again(int handle)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int openfile__handle(int handle, struct stat *st)
{
	struct stat own;
	bool trusted;
	int fd = look_at(handle, NULL, st ? st : &own, &trusted);

	if (!fd)
		fd = trusted ? open_again(handle) : -EACCES;
	close(handle);
	return fd;
}

/* Where opening may ask somebody who does not answer, the handle itself, which image__read reads apart. Takes `handle`. */
static int reopen(int handle, const char *from, struct stat *st)
{
	struct stat own;
	bool trusted;
	int fd = look_at(handle, from, st ? st : &own, &trusted);

	if (!fd && !trusted)
		return handle;
	if (!fd)
		fd = open_again(handle);
	close(handle);
	return fd;
}

int openfile__link(const char *path, struct stat *st)
{
	int handle = open(path, O_PATH | O_CLOEXEC);

	return handle < 0 ? -errno : reopen(handle, path, st);
}

/* As far as the names are known to the kernel: a look into a directory may ask somebody as well. */
static int open_cached(const char *root, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_CACHED };
	int dir = AT_FDCWD, fd;

	if (root) {
		how.resolve |= RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
		dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			return -errno;
	}
	fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
	if (fd < 0)
		fd = -errno;
	if (dir >= 0)
		close(dir);
	return fd;
}

static int open_by_name(const char *root, const char *path, struct stat *st)
{
	int handle = open_cached(root, path);

	if (handle == -EAGAIN || handle == -EINVAL) /* the flag is of 5.12 */
		handle = apart__open(root, path);
	return handle < 0 ? handle : reopen(handle, root ? root : path, st);
}

int openfile__path(const char *path, struct stat *st)
{
	return open_by_name(NULL, path, st);
}

int openfile__in_root(const char *root, const char *path, struct stat *st)
{
	return open_by_name(root, path, st);
}
