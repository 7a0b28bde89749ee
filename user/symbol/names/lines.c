/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Line reader with bounded memory. See lines.h. */
#include "symbol/names/lines.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/apart.h"

#define BUF_SZ	    65536
#define LINE_MAX_SZ 32768

struct state {
	char *buf;
	size_t len;
	uint64_t off;  /* offset of buf[0] in the file */
	bool skipping; /* inside a line that is too long */
};

/* Passes the complete lines in the buffer to fn and moves the rest to the front. */
static int hand_out(struct state *st, lines_fn fn, void *ctx)
{
	char *line = st->buf, *end = st->buf + st->len, *newline;
	int ret = 0;

	while (!ret && (newline = memchr(line, '\n', end - line))) {
		*newline = 0;
		if (!st->skipping)
			ret = fn(line, newline - line, st->off + (line - st->buf), ctx);
		st->skipping = false;
		line = newline + 1;
	}
	if (end - line > LINE_MAX_SZ) {
		st->skipping = true;
		line = end;
	}
	st->off += line - st->buf;
	st->len = end - line;
	memmove(st->buf, line, st->len);
	return ret;
}

/*
 * read, not pread: seeking is expensive in /proc files that are generated on the fly. An O_PATH
 * descriptor (file.h) has no file position and needs pread.
 */
static ssize_t read_next(int fd, void *buf, size_t len, uint64_t off)
{
	ssize_t n = read(fd, buf, len);

	if (n < 0 && errno == EBADF) {
		n = apart__pread(fd, buf, len, off);
		errno = n < 0 ? -n : 0;
	}
	return n;
}

int lines__read(int fd, uint64_t *off, uint64_t max, lines_fn fn, void *ctx)
{
	struct state st = { .buf = malloc(BUF_SZ), .off = *off };
	uint64_t seen = 0;
	int ret = 0;

	if (!st.buf)
		return -ENOMEM;
	if (lseek(fd, *off, SEEK_SET) < 0 && errno != EBADF)
		ret = -errno;
	while (!ret && seen < max) {
		ssize_t n = read_next(fd, st.buf + st.len, BUF_SZ - st.len, st.off + st.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			ret = -errno;
		if (n <= 0)
			break;
		seen += n;
		st.len += n;
		ret = hand_out(&st, fn, ctx);
	}
	*off = st.off;
	free(st.buf);
	return ret;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int lines__hex(char **p, uint64_t *ret)
{
	const char *begin;
	uint64_t v = 0;

	if ((*p)[0] == '0' && (*p)[1] == 'x' && digit((*p)[2]) >= 0)
		*p += 2;
	begin = *p;
	for (; digit(**p) >= 0; (*p)++) {
		if (v >> 60)
			return -EINVAL;
		v = v << 4 | digit(**p);
	}
	if (*p == begin)
		return -EINVAL;
	*ret = v;
	return 0;
}
