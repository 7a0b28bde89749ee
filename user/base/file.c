/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small file helpers: bounded reads that a hostile path cannot block, complete writes, mkdir -p. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/apart.h"

#define READ_CHUNK 16384

static ssize_t read_retry(int fd, void *buf, size_t len)
{
	ssize_t n;

	do {
		n = read(fd, buf, len);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* Reads one byte more than max, to distinguish "exactly max" from "more". */
static int read_all(int fd, size_t max, struct strbuf *sb)
{
	char chunk[READ_CHUNK];
	ssize_t n;

	for (;;) {
		n = read_retry(fd, chunk, max < sizeof(chunk) ? max + 1 : sizeof(chunk));
		if (n <= 0)
			return (int)n;
		if ((size_t)n > max)
			return -EFBIG;
		max -= (size_t)n;
		strbuf__add(sb, chunk, (size_t)n);
		if (sb->failed)
			return -ENOMEM;
	}
}

int file__read(const char *path, size_t max, struct strbuf *sb)
{
	return file__read_at(AT_FDCWD, path, max, sb);
}

int file__read_at(int dirfd, const char *path, size_t max, struct strbuf *sb)
{
	size_t len = sb->len;
	int fd, code;

	/* O_NONBLOCK: opening a FIFO must not block. */
	do {
		fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	} while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return -errno;
	code = read_all(fd, max, sb);
	close(fd);
	if (code && sb->data) {
		sb->len = len;
		sb->data[len] = '\0';
	}
	return code;
}

ssize_t file__pread(int fd, void *to, size_t len, uint64_t offset)
{
	ssize_t n;

	do {
		n = pread(fd, to, len, (off_t)offset);
		n = n < 0 ? -errno : n;
		if (n == -EBADF)
			n = apart__pread(fd, to, len, offset);
	} while (n == -EINTR);
	return n;
}

int file__read_exactly(int fd, void *to, size_t len, uint64_t offset)
{
	char *at = to;

	while (len) {
		ssize_t n = file__pread(fd, at, len, offset);

		if (n <= 0)
			return n ? (int)n : -ENOEXEC;
		at += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int file__write_all(int fd, const void *data, size_t len)
{
	const char *pos = data;
	ssize_t n;

	while (len) {
		n = write(fd, pos, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		pos += n;
		len -= (size_t)n;
	}
	return 0;
}

/* mkdir fails on an existing directory with EEXIST, EROFS or EACCES; all of these are success. */
static int make_dir(const char *path, mode_t mode)
{
	struct stat st;
	int code;

	if (!mkdir(path, mode))
		return 0;
	code = -errno;
	if (stat(path, &st))
		return code;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int file__mkdirs(const char *path, mode_t mode)
{
	char part[PATH_MAX];
	size_t len = strlen(path);
	int code;

	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, len + 1);
	for (char *slash = part + 1; len && (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		code = make_dir(part, mode);
		if (code)
			return code;
		*slash = '/';
	}
	return make_dir(part, mode);
}

/*
 * --- openfile: O_PATH does not open the file. The file is checked first, then opened through
 * /proc/self/fd. See file.h.
 */

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

/* The process of a path below /proc/PID; 0: another path. */
static uint32_t pid_of(const char *path)
{
	uint32_t pid;
	int end = 0;

	return path && sscanf(path, "/proc/%" SCNu32 "/%n", &pid, &end) == 1 && end ? pid : 0;
}

/*
 * 0: a regular file. *ret_trusted is false if it must be read through the helper process. from: the
 * path that led to it; NULL: not known.
 */
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

/*
 * Returns the handle itself where opening the file may block; image__read reads it through the
 * helper process. Takes `handle`.
 */
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

/*
 * Uses only names that the kernel has cached: reading a directory may also block on a daemon or
 * server.
 */
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

	if (handle == -EAGAIN || handle == -EINVAL) /* the flag exists since 5.12 */
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
