/* SPDX-License-Identifier: GPL-2.0 */
/*
 * blocks.jsonl. A line is appended by one write() under flock(): a line cut short by a full disk
 * can be taken back without hurting a line of another process, and one torn by a crash is seen,
 * and cut off, before the next is appended. O_APPEND alone could do neither.
 */
#include "export/records.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/output.h"

#define LOCK_TRIES 16
#define CHUNK	   65536

static bool is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && st->st_nlink == 1;
}

bool own_file__size(int dirfd, const char *name, uint64_t *ret_size)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) || !is_ours(&st))
		return false;
	*ret_size = (uint64_t)st.st_size;
	return true;
}

/* O_NONBLOCK: a FIFO of that name must not hold us; for a regular file it has no meaning. */
static int open_records(int dirfd)
{
	int flags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = openat(dirfd, RECORDS_NAME, flags, 0600);
	struct stat st;

	if (fd < 0)
		return errno == ELOOP ? -EPERM : -errno;
	if (fstat(fd, &st) || !is_ours(&st)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

/* Where locks are not supported there is no second process to fear that had one. */
static int lock_file(int fd)
{
	while (flock(fd, LOCK_EX)) {
		if (errno == EINTR)
			continue;
		return errno == ENOLCK || errno == EOPNOTSUPP || errno == EINVAL ? 0 : -errno;
	}
	return 0;
}

/* Another process may have rotated the file while we waited for its lock. */
static bool still_named(const struct records *records)
{
	struct stat open_st, name_st;

	return !fstat(records->fd, &open_st) &&
	       !fstatat(records->dirfd, RECORDS_NAME, &name_st, AT_SYMLINK_NOFOLLOW) &&
	       open_st.st_dev == name_st.st_dev && open_st.st_ino == name_st.st_ino;
}

/* Bytes of the file up to and with its last newline. */
static int whole_lines(int fd, off_t size, off_t *ret)
{
	char chunk[CHUNK], *newline;

	while (size > 0) {
		off_t from = size > CHUNK ? size - CHUNK : 0;
		ssize_t n = pread(fd, chunk, (size_t)(size - from), from);

		if (n != size - from)
			return n < 0 ? -errno : -EIO;
		newline = memrchr(chunk, '\n', (size_t)n);
		if (newline) {
			*ret = from + (newline - chunk) + 1;
			return 0;
		}
		size = from;
	}
	*ret = 0;
	return 0;
}

static int cut_torn_line(int fd)
{
	struct stat st;
	off_t whole;
	char last;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!st.st_size || (pread(fd, &last, 1, st.st_size - 1) == 1 && last == '\n'))
		return 0;
	err = whole_lines(fd, st.st_size, &whole);
	if (err)
		return err;
	return ftruncate(fd, whole) ? -errno : 0;
}

int records__lock(struct records *records)
{
	int err;

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (records->fd < 0)
			records->fd = open_records(records->dirfd);
		if (records->fd < 0) {
			err = records->fd;
			records->fd = -1;
			return err;
		}
		err = lock_file(records->fd);
		if (err)
			return err;
		if (still_named(records)) {
			err = cut_torn_line(records->fd);
			if (err)
				records__unlock(records);
			return err;
		}
		records__close(records);
	}
	return -EBUSY;
}

void records__unlock(struct records *records)
{
	if (records->fd >= 0)
		flock(records->fd, LOCK_UN);
}

int records__append(struct records *records, const void *line, size_t len)
{
	return output__write(records->fd, line, len);
}

uint64_t records__size(const struct records *records)
{
	struct stat st;

	return fstat(records->fd, &st) ? 0 : (uint64_t)st.st_size;
}

/* Only a file of ours is replaced. */
int records__rotate(struct records *records)
{
	struct stat st;
	uint64_t size;

	if (!fstatat(records->dirfd, RECORDS_OLD_NAME, &st, AT_SYMLINK_NOFOLLOW) &&
	    !own_file__size(records->dirfd, RECORDS_OLD_NAME, &size))
		return -EPERM;
	if (renameat(records->dirfd, RECORDS_NAME, records->dirfd, RECORDS_OLD_NAME))
		return -errno;
	records__close(records);
	return records__lock(records);
}

void records__close(struct records *records)
{
	if (records->fd >= 0)
		close(records->fd); /* and its lock */
	records->fd = -1;
}
