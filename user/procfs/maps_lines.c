/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the file in pieces and parses only the wanted lines. */
#include "procfs/maps_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define BUF_SZ	 (64u << 10) /* four times the longest path, each byte escaped */
#define MAPS_MAX (256ull << 20)
#define DELETED	 " (deleted)"

struct reader {
	int (*fn)(void *ctx, const struct proc_maps_line *line);
	void *ctx;
	bool any; /* not only executable ones */
	int res;  /* of fn */
};

void maps_lines__decode_path(char *path)
{
	size_t len = strlen(path), cut = strlen(DELETED);
	char *to = path;

	if (len > cut && !strcmp(path + len - cut, DELETED))
		path[len - cut] = 0;
	for (const char *from = path; *from; to++) {
		if (!strncmp(from, "\\012", 4)) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = 0;
}

/* Parses a file mapping; only executable ones unless `any`. False for all other lines. */
static bool parse_line(char *line, bool any, struct proc_maps_line *ret)
{
	unsigned long long start, end, offset, inode;
	unsigned major, minor;
	const char *space = strchr(line, ' ');
	char perms[5];
	int at = 0;

	if (!space || strnlen(space, 5) < 5 || (space[3] != 'x' && !any))
		return false; /* cheap check first: most lines fail it */
	if (sscanf(line, "%16llx-%16llx %4s %16llx %8x:%8x %20llu %n", &start, &end, perms, &offset,
		   &major, &minor, &inode, &at) != 7 ||
	    !at || !inode || line[at] != '/')
		return false;
	maps_lines__decode_path(line + at);
	*ret = (struct proc_maps_line){ .path = line + at,
					.start = start,
					.end = end,
					.offset = offset,
					.dev = makedev(major, minor),
					.inode = inode };
	return ret->path[0] && strlen(ret->path) < PATH_MAX;
}

/*
 * Passes on the whole lines in buf. Returns the size of the last, unfinished line, which stays in
 * buf.
 */
static size_t take_lines(struct reader *reader, char *buf, size_t len)
{
	char *line = buf, *end;

	while (!reader->res && (end = memchr(line, '\n', len - (size_t)(line - buf)))) {
		struct proc_maps_line parsed;

		*end = 0;
		if (parse_line(line, reader->any, &parsed))
			reader->res = reader->fn(reader->ctx, &parsed);
		line = end + 1;
	}
	len -= (size_t)(line - buf);
	memmove(buf, line, len);
	return len;
}

static int read_lines(struct reader *reader, int fd)
{
	char *buf = malloc(BUF_SZ);
	uint64_t total = 0;
	size_t kept = 0;
	ssize_t n;

	if (!buf)
		return -ENOMEM;
	while (!reader->res && kept < BUF_SZ) { /* no line of the kernel is longer */
		n = read(fd, buf + kept, BUF_SZ - kept);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			reader->res = -errno;
		if (n <= 0 || (total += (uint64_t)n) > MAPS_MAX)
			break;
		kept = take_lines(reader, buf, kept + (size_t)n);
	}
	free(buf);
	return reader->res;
}

static int read_file(struct reader *reader, const char *maps_path)
{
	int fd = open(maps_path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	err = read_lines(reader, fd);
	close(fd);
	return err;
}

int maps_lines__each(const char *maps_path, int (*fn)(void *ctx, const struct proc_maps_line *line),
		     void *ctx)
{
	return read_file(&(struct reader){ .fn = fn, .ctx = ctx }, maps_path);
}

int maps_lines__each_file(const char *maps_path,
			  int (*fn)(void *ctx, const struct proc_maps_line *line), void *ctx)
{
	return read_file(&(struct reader){ .fn = fn, .ctx = ctx, .any = true }, maps_path);
}
