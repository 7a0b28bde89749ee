/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounded reads, complete writes. See file.h. */
#include "files/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "files/broker.h"

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

int file__open_own(const char *path)
{
	int fd;

	if (broker_client__is_on())
		return broker_client__open(BROKER_OWN, NULL, path, NULL);
	do {
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	} while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

/* Takes over fd. */
static int read_and_close(int fd, size_t max, struct strbuf *sb)
{
	size_t len = sb->len;
	int code;

	if (fd < 0)
		return fd;
	code = read_all(fd, max, sb);
	close(fd);
	if (code && sb->data) {
		sb->len = len;
		sb->data[len] = '\0';
	}
	return code;
}

int file__read(const char *path, size_t max, struct strbuf *sb)
{
	return read_and_close(file__open_own(path), max, sb);
}

int file__read_at(int dirfd, const char *path, size_t max, struct strbuf *sb)
{
	int fd;

	/* O_NONBLOCK: opening a FIFO must not block. */
	do {
		fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	} while (fd < 0 && errno == EINTR);
	return read_and_close(fd < 0 ? -errno : fd, max, sb);
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
