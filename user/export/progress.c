/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Progress of a sink, kept in shared memory by a process that may be killed at any instruction. So
 * each step is stored before or after the system call that it describes, in this order.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/sink.h"

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
