/* SPDX-License-Identifier: GPL-2.0 */
/* Parses an epoll's fdinfo: "tfd: 8 events: 19 data: 55d0c1  pos:0 ino:40f sdev:10", a line each. */
#include "procfs/epollinfo.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

#define LINE_SZ	   160 /* of an entry, at most */
#define TEXT_MAX   (4096 + 2 * EPOLLINFO_FDS_MAX * LINE_SZ)
#define STATUS_MAX 16384
#define TABLE_MAX  1024 /* a table of descriptors grows by powers of two */

struct entry {
	uint64_t data, inode;
	int32_t fd;
};

/* The number behind a key of the line, or false. */
static bool number_of(const char *line, const char *end, const char *key, int base, uint64_t *ret)
{
	const char *at = memmem(line, end - line, key, strlen(key));
	char *stop;

	if (!at)
		return false;
	at += strlen(key);
	at += strspn(at, " \t");
	if (at >= end || *at == '-')
		return false;
	*ret = strtoull(at, &stop, base);
	return stop > at && stop <= end;
}

static bool parse_line(const char *line, const char *end, struct entry *ret)
{
	uint64_t fd;

	if (strncmp(line, "tfd:", 4) || !number_of(line, end, "tfd:", 10, &fd) || fd > INT32_MAX ||
	    !number_of(line, end, "data:", 16, &ret->data))
		return false;
	if (!number_of(line, end, "ino:", 16, &ret->inode))
		ret->inode = 0;
	ret->fd = (int32_t)fd;
	return true;
}

void epollinfo__parse(const char *text, struct epoll_item *items, size_t cnt)
{
	unsigned found[cnt ? cnt : 1];
	struct entry entry;

	memset(found, 0, sizeof(found));
	for (size_t i = 0; i < cnt; i++)
		items[i].fd = -1;
	for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		if (!parse_line(line, end, &entry))
			continue;
		for (size_t i = 0; i < cnt; i++) {
			if (items[i].data != entry.data)
				continue;
			items[i].fd = found[i]++ ? -1 : entry.fd;
			items[i].inode = entry.inode;
		}
	}
}

/* The size of the table that holds them: at least as many as there are. */
static uint64_t table_size(const char *task)
{
	struct strbuf sb = STRBUF_INIT;
	uint64_t ret = UINT64_MAX;
	char path[96];
	const char *at;

	snprintf(path, sizeof(path), "%s/status", task);
	if (!file__read(path, STATUS_MAX, &sb)) {
		at = strstr(strbuf__str(&sb), "\nFDSize:");
		if (at)
			ret = strtoull(at + strlen("\nFDSize:"), NULL, 10);
	}
	strbuf__free(&sb);
	return ret;
}

/* From 6.2 on the directory's size is how many there are, before it is 0. */
static bool are_too_many(const char *task)
{
	char path[96];
	struct stat st;

	snprintf(path, sizeof(path), "%s/fd", task);
	if (stat(path, &st))
		return false; /* no thread: reading will tell */
	return st.st_size ? st.st_size > EPOLLINFO_FDS_MAX : table_size(task) > TABLE_MAX;
}

int epollinfo__find(uint32_t pid, uint32_t tid, int32_t epfd, struct epoll_item *items, size_t cnt)
{
	struct strbuf sb = STRBUF_INIT;
	char task[64], path[96];
	int res;

	for (size_t i = 0; i < cnt; i++)
		items[i].fd = -1;
	snprintf(task, sizeof(task), "/proc/%u/task/%u", pid, tid);
	if (are_too_many(task))
		return -E2BIG;
	snprintf(path, sizeof(path), "%s/fdinfo/%d", task, (int)epfd);
	res = file__read(path, TEXT_MAX, &sb);
	if (!res)
		epollinfo__parse(strbuf__str(&sb), items, cnt);
	strbuf__free(&sb);
	return res == -EFBIG ? -E2BIG : res;
}
