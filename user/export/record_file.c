/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A record is appended by one write() under flock(). A record cut short by a full disk can be
 * removed without damage to records of other processes. A record torn by a crash is found and cut
 * off before the next append. O_APPEND alone allows neither.
 */
#include "export/record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/sink.h"

/* Each try needs another process that replaces the file: it may delete many records in a row. */
#define LOCK_TRIES 1000
#define CHUNK	   65536

static const char *const names[][2] = {
	[RECORD_JSON] = { "blocks.jsonl", "blocks.1.jsonl" },
	[RECORD_PROTO] = { "blocks.pb", "blocks.1.pb" },
};

const char *record_file__name(const struct record_file *file)
{
	return names[file->format][0];
}

const char *record_file__old_name(const struct record_file *file)
{
	return names[file->format][1];
}

/* Without a name it has been replaced since it was opened: see still_named. */
static bool is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && st->st_nlink <= 1;
}

bool own_file__size(int dirfd, const char *name, uint64_t *ret_size)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) || !is_ours(&st))
		return false;
	*ret_size = (uint64_t)st.st_size;
	return true;
}

/* O_NONBLOCK: opening a FIFO of that name must not block. It has no effect on regular files. */
static int open_file(const struct record_file *file)
{
	int flags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = openat(file->dirfd, record_file__name(file), flags, 0600);
	struct stat st;

	if (fd < 0)
		return errno == ELOOP ? -EPERM : -errno;
	if (fstat(fd, &st) || !is_ours(&st)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

/* If locks are not supported, no other process can hold one: continue without a lock. */
static int lock_file(int fd, bool no_wait)
{
	while (flock(fd, LOCK_EX | (no_wait ? LOCK_NB : 0))) {
		if (errno == EINTR)
			continue;
		if (errno == EWOULDBLOCK)
			return -EAGAIN;
		return errno == ENOLCK || errno == EOPNOTSUPP || errno == EINVAL ? 0 : -errno;
	}
	return 0;
}

/* Another process may have rotated the file during the wait for its lock. */
static bool still_named(const struct record_file *file)
{
	struct stat open_st, name_st;

	return !fstat(file->fd, &open_st) &&
	       !fstatat(file->dirfd, record_file__name(file), &name_st, AT_SYMLINK_NOFOLLOW) &&
	       open_st.st_dev == name_st.st_dev && open_st.st_ino == name_st.st_ino;
}

/* Finds the size of the file up to and including its last newline. */
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

/*
 * Finds the size of the file in whole messages; the first `known` bytes are whole. An invalid
 * length ends them.
 */
static int whole_messages(int fd, off_t size, off_t known, off_t *ret)
{
	char head[STREAM_VARINT_MAX];
	uint64_t len;

	for (*ret = known; *ret < size; *ret += (off_t)len) {
		ssize_t n = pread(fd, head, sizeof(head), *ret);
		int head_len = n < 0 ? -errno : stream__length(head, (size_t)n, &len);

		if (n < 0)
			return head_len;
		if (head_len <= 0 || len > (uint64_t)(size - *ret) - (uint64_t)head_len)
			break;
		len += (uint64_t)head_len;
	}
	return 0;
}

/* Searches JSON lines from the end, and messages from the last known whole record. */
static int cut_torn_record(struct record_file *file)
{
	struct stat st;
	off_t whole = 0;
	char last;
	int err;

	if (fstat(file->fd, &st))
		return -errno;
	if (file->format == RECORD_JSON) {
		if (!st.st_size || (pread(file->fd, &last, 1, st.st_size - 1) == 1 && last == '\n'))
			return 0;
		err = whole_lines(file->fd, st.st_size, &whole);
	} else {
		off_t known = file->whole <= (uint64_t)st.st_size ? (off_t)file->whole : 0;

		err = whole_messages(file->fd, st.st_size, known, &whole);
	}
	if (err)
		return err;
	file->whole = (uint64_t)whole;
	return whole < st.st_size && ftruncate(file->fd, whole) ? -errno : 0;
}

int record_file__lock(struct record_file *file)
{
	int err;

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (file->fd < 0)
			file->fd = open_file(file);
		if (file->fd < 0) {
			err = file->fd;
			file->fd = -1;
			return err;
		}
		err = lock_file(file->fd, file->no_wait);
		if (err)
			return err;
		if (still_named(file)) {
			err = cut_torn_record(file);
			if (err)
				record_file__unlock(file);
			return err;
		}
		record_file__close(file);
	}
	return -EBUSY;
}

void record_file__unlock(struct record_file *file)
{
	if (file->fd >= 0)
		flock(file->fd, LOCK_UN);
}

int record_file__append(struct record_file *file, const void *record, size_t len)
{
	return output__write(file->fd, record, len);
}

uint64_t record_file__size(const struct record_file *file)
{
	struct stat st;

	return fstat(file->fd, &st) ? 0 : (uint64_t)st.st_size;
}

bool record_file__holds(int fd, uint64_t offset, const void *bytes, size_t len)
{
	char chunk[4096];

	for (size_t at = 0; at < len;) {
		size_t part = len - at < sizeof(chunk) ? len - at : sizeof(chunk);
		ssize_t n = pread(fd, chunk, part, (off_t)(offset + at));

		if (n <= 0 || memcmp(chunk, (const char *)bytes + at, (size_t)n))
			return false;
		at += (size_t)n;
	}
	return true;
}

/* Replaces only a file of ours. */
int record_file__rotate(struct record_file *file)
{
	struct stat st;
	uint64_t size;

	if (!fstatat(file->dirfd, record_file__old_name(file), &st, AT_SYMLINK_NOFOLLOW) &&
	    !own_file__size(file->dirfd, record_file__old_name(file), &size))
		return -EPERM;
	if (renameat(file->dirfd, record_file__name(file), file->dirfd,
		     record_file__old_name(file)))
		return -errno;
	record_file__close(file);
	return record_file__lock(file);
}

void record_file__close(struct record_file *file)
{
	if (file->fd >= 0)
		close(file->fd); /* and its lock */
	file->fd = -1;
	file->whole = 0;
}
