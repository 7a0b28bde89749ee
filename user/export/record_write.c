/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a record to a descriptor: completely or not at all, also if the process is killed. */
#include "export/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * --- output: each record is one write(), so that two appending writers do not mix theirs, and a
 * full disk leaves no torn line
 */

static ssize_t write_retry(int fd, const void *data, size_t len)
{
	ssize_t n;

	do {
		n = write(fd, data, len);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* Removes the n bytes written last, if they are still the end of the file. */
static void take_back(int fd, ssize_t n)
{
	off_t pos = lseek(fd, 0, SEEK_CUR);
	struct stat st;

	if (n <= 0 || pos < n || fstat(fd, &st) || st.st_size != pos)
		return;
	if (!ftruncate(fd, pos - n))
		lseek(fd, pos - n, SEEK_SET);
}

/* After a short write, writing the rest returns the actual error. */
static int write_to_file(int fd, const char *data, size_t len)
{
	ssize_t n = write_retry(fd, data, len), rest;

	if (n < 0)
		return (int)n;
	if ((size_t)n == len)
		return 0;
	rest = write_retry(fd, data + n, len - n);
	if (rest == (ssize_t)len - n)
		return 0;
	take_back(fd, n + (rest > 0 ? rest : 0));
	return rest < 0 ? (int)rest : -ENOSPC;
}

static int write_to_stream(int fd, const char *data, size_t len)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };

	while (len) {
		ssize_t n = write_retry(fd, data, len);

		if (n == -EAGAIN) {
			if (poll(&pfd, 1, -1) < 0 && errno != EINTR)
				return -errno;
			continue;
		}
		if (n < 0)
			return (int)n;
		data += n;
		len -= n;
	}
	return 0;
}

int output__write(int fd, const void *data, size_t len)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? write_to_file(fd, data, len) : write_to_stream(fd, data, len);
}

/*
 * --- progress of a sink, kept in shared memory by a process that may be killed at any instruction.
 * So each step is stored before or after the system call that it describes, in this order.
 */

/* The compiler must not move or merge these stores. */
static void store(uint64_t *to, uint64_t value)
{
	__atomic_store_n(to, value, __ATOMIC_RELEASE);
}

bool sink_progress__begin(struct sink_progress *progress, uint64_t nr)
{
	if (!progress)
		return true;
	if (progress->done == nr)
		return false;
	if (progress->begun != nr) {
		store(&progress->base, 0);
		store(&progress->sent, 0);
		store(&progress->begun, nr);
	}
	return true;
}

void sink_progress__end(struct sink_progress *progress, uint64_t nr, int result)
{
	if (!progress)
		return;
	progress->result = result;
	store(&progress->done, nr);
}

/* Where the next write to a regular file begins. */
static uint64_t position(int fd, const struct stat *st)
{
	int flags = fcntl(fd, F_GETFL);
	off_t pos = lseek(fd, 0, SEEK_CUR);

	if (flags >= 0 && flags & O_APPEND)
		return (uint64_t)st->st_size;
	return pos < 0 ? 0 : (uint64_t)pos;
}

/*
 * The position belongs to the open file, which outlives the process: what it moved, was written. A
 * part of a record is removed, if it is still the end of the file.
 */
static int write_file(struct sink_progress *progress, int fd, const void *data, size_t len,
		      const struct stat *st)
{
	if (progress->base) {
		uint64_t base = progress->base - 1;
		off_t pos = lseek(fd, 0, SEEK_CUR);
		uint64_t moved = pos > 0 && (uint64_t)pos > base ? (uint64_t)pos - base : 0;

		if (moved >= len)
			return 0;
		if (moved && st->st_size == pos && !ftruncate(fd, (off_t)base))
			lseek(fd, (off_t)base, SEEK_SET);
	} else {
		store(&progress->base, position(fd, st) + 1);
	}
	return output__write(fd, data, len);
}

/*
 * A write of at most PIPE_BUF bytes to a pipe is complete or not done at all, so a process that is
 * killed while it waits for the reader leaves no uncounted bytes.
 */
static int write_stream(struct sink_progress *progress, int fd, const char *data, size_t len)
{
	while (progress->sent < len) {
		size_t left = len - progress->sent, part = left < PIPE_BUF ? left : PIPE_BUF;
		int res = output__write(fd, data + progress->sent, part);

		if (res)
			return res;
		store(&progress->sent, progress->sent + part);
	}
	return 0;
}

int sink_progress__write(struct sink_progress *progress, int fd, const void *data, size_t len)
{
	struct stat st;

	if (!progress)
		return output__write(fd, data, len);
	if (fstat(fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? write_file(progress, fd, data, len, &st)
				   : write_stream(progress, fd, data, len);
}
