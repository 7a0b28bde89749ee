/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records leave whole or not at all: one write() each, so that two writers that append don't mix
 * theirs, and a disk that filled up in the middle leaves no torn line behind.
 */
#include "export/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

static ssize_t write_retry(int fd, const void *data, size_t len)
{
	ssize_t n;

	do {
		n = write(fd, data, len);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* Takes back the n bytes written last, provided that they are still the file's end. */
static void take_back(int fd, ssize_t n)
{
	off_t pos = lseek(fd, 0, SEEK_CUR);
	struct stat st;

	if (n <= 0 || pos < n || fstat(fd, &st) || st.st_size != pos)
		return;
	if (!ftruncate(fd, pos - n))
		lseek(fd, pos - n, SEEK_SET);
}

/* The errno that a short write hides is the one the rest would meet. */
static int write_file(int fd, const char *data, size_t len)
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

static int write_stream(int fd, const char *data, size_t len)
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
	return S_ISREG(st.st_mode) ? write_file(fd, data, len) : write_stream(fd, data, len);
}
