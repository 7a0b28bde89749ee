/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The link in /proc/PID/task/TID/fd shows a descriptor's kind, its fdinfo which object it is. */
#include "procfs/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "files/file.h"
#include "procfs/socket.h"

/* --- fdinfo: it contains the inode since 5.14 */

#define FDINFO_MAX 4096
#define PATH_SZ	   4096

/* Adds the fdinfo of the descriptor; adds nothing if it is not readable. task: "/proc/1/task/2". */
static void fdinfo__read(const char *task, int32_t fd, struct strbuf *sb)
{
	char path[PATH_SZ];

	snprintf(path, sizeof(path), "%s/fdinfo/%d", task, (int)fd);
	file__read(path, FDINFO_MAX, sb);
}

/*
 * Sets *ret to the text after "KEY:" at the start of a line, without leading blanks. False: no such
 * line.
 */
static bool fdinfo__value(const char *text, const char *key, const char **ret)
{
	size_t len = strlen(key);

	for (const char *at = text; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
		if (strncmp(at, key, len) || at[len] != ':')
			continue;
		*ret = at + len + 1 + strspn(at + len + 1, " \t");
		return true;
	}
	return false;
}

static uint64_t number_of(const char *text, const char *key)
{
	const char *value;

	return fdinfo__value(text, key, &value) ? strtoull(value, NULL, 10) : 0;
}

/* Uses the cached attributes: does not wait for another machine or a daemon. */
static uint64_t stat_inode(const char *task, int32_t fd)
{
	char path[PATH_SZ];
	struct statx stx;

	snprintf(path, sizeof(path), "%s/fd/%d", task, (int)fd);
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &stx))
		return 0;
	return stx.stx_ino;
}

uint64_t fdinfo__inode(const char *task, int32_t fd, int *ret_mount)
{
	struct strbuf info = STRBUF_INIT;
	uint64_t inode;

	fdinfo__read(task, fd, &info);
	inode = number_of(strbuf__str(&info), "ino");
	if (ret_mount)
		*ret_mount = (int)number_of(strbuf__str(&info), "mnt_id");
	strbuf__free(&info);
	return inode ? inode : stat_inode(task, fd);
}

#define ANON "anon_inode:"

static void add_number(struct strbuf *sb, const char *fdinfo, const char *key)
{
	const char *value;
	long long number;

	if (!fdinfo__value(fdinfo, key, &value))
		return;
	number = strtoll(value, NULL, 10);
	if (number >= 0)
		strbuf__addf(sb, " %lld", number);
}

static void add_eventfd(struct strbuf *sb, const char *fdinfo)
{
	add_number(sb, fdinfo, "eventfd-id");
}

static void add_pidfd(struct strbuf *sb, const char *fdinfo)
{
	add_number(sb, fdinfo, "Pid");
}

/* "it_interval: (SECONDS, NANOSECONDS)" */
static void add_timerfd(struct strbuf *sb, const char *fdinfo)
{
	unsigned long long seconds, ns;
	const char *value;

	if (!fdinfo__value(fdinfo, "it_interval", &value) ||
	    sscanf(value, "(%llu, %llu)", &seconds, &ns) != 2 || (!seconds && !ns) ||
	    seconds > UINT32_MAX || ns >= NS_PER_SEC)
		return;
	strbuf__adds(sb, " every ");
	clock__add_duration(sb, seconds * NS_PER_SEC + ns);
}

/* Kinds by the prefix of the link; the rest, a bracket or a number, adds nothing. */
static const struct kind {
	const char *link, *name;
	void (*add)(struct strbuf *sb, const char *fdinfo);
} kinds[] = {
	{ ANON "[eventfd]", "eventfd", add_eventfd },
	{ ANON "[timerfd]", "timerfd", add_timerfd },
	{ ANON "[eventpoll]", "epoll", NULL },
	{ ANON "[pidfd]", "pidfd", add_pidfd },
	{ "pidfd:[", "pidfd", add_pidfd },
};

static const struct kind *kind_of(const char *link)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strncmp(link, kinds[i].link, strlen(kinds[i].link)))
			return &kinds[i];
	return NULL;
}

/* Adds "anon_inode:[io_uring]" and "anon_inode:inotify" by their names, all others unchanged. */
static void add_plain(struct strbuf *sb, const char *link)
{
	size_t len;

	if (strncmp(link, ANON, strlen(ANON))) {
		strbuf__adds(sb, link);
		return;
	}
	link += strlen(ANON);
	link += *link == '[';
	len = strlen(link);
	strbuf__add(sb, link, len && link[len - 1] == ']' ? len - 1 : len);
}

void fdtarget__add_link(struct strbuf *sb, const char *link, const char *fdinfo)
{
	const struct kind *kind = kind_of(link);

	if (!kind) {
		add_plain(sb, link);
		return;
	}
	strbuf__adds(sb, kind->name);
	if (kind->add)
		kind->add(sb, fdinfo);
}

static void add_with_info(struct strbuf *sb, const char *task, int32_t fd, const char *link)
{
	const struct kind *kind = kind_of(link);
	struct strbuf info = STRBUF_INIT;

	if (kind && kind->add)
		fdinfo__read(task, fd, &info);
	fdtarget__add_link(sb, link, strbuf__str(&info));
	strbuf__free(&info);
}

/*
 * True if the descriptor refers to another file than `inode`. A link such as "socket:[1234]"
 * contains the inode.
 */
static bool is_other(const char *task, int32_t fd, const char *link, uint64_t inode)
{
	const char *number = strstr(link, ":[");

	if (!inode)
		return false;
	if (*link == '/' || !number || !strncmp(link, ANON, strlen(ANON)))
		return fdinfo__inode(task, fd, NULL) != inode;
	return strtoull(number + 2, NULL, 10) != inode;
}

int fdtarget__add(struct strbuf *sb, uint32_t pid, uint32_t tid, int32_t fd, uint64_t inode)
{
	char task[64], path[96], link[PATH_MAX];
	uint64_t socket;
	ssize_t len;

	snprintf(task, sizeof(task), "/proc/%u/task/%u", pid, tid);
	snprintf(path, sizeof(path), "%s/fd/%d", task, (int)fd);
	len = readlink(path, link, sizeof(link) - 1);
	if (len < 0)
		return errno == ENOENT ? -EBADF : -errno;
	link[len] = 0;
	if (is_other(task, fd, link, inode))
		return -ESTALE;
	if (sscanf(link, "socket:[%lu]", &socket) == 1)
		return socketinfo__add(sb, pid, fd, socket);
	add_with_info(sb, task, fd, link);
	return 0;
}

/*
 * --- epoll's fdinfo: one line "tfd: 8 events: 19 data: 55d0c1  pos:0 ino:40f sdev:10" per
 * descriptor
 */

#define LINE_SZ	   160 /* maximum size of an entry */
#define TEXT_MAX   (4096 + 2 * EPOLLINFO_FDS_MAX * LINE_SZ)
#define STATUS_MAX 16384
#define TABLE_MAX  1024 /* a table of descriptors grows by powers of two */

struct entry {
	uint64_t data, inode, events;
	int32_t fd;
};

/* The number after a key of the line, or false. */
static bool epollinfo_number_of(const char *line, const char *end, const char *key, int base,
				uint64_t *ret)
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

	if (strncmp(line, "tfd:", 4) || !epollinfo_number_of(line, end, "tfd:", 10, &fd) ||
	    fd > INT32_MAX || !epollinfo_number_of(line, end, "data:", 16, &ret->data))
		return false;
	if (!epollinfo_number_of(line, end, "events:", 16, &ret->events))
		ret->events = 0;
	if (!epollinfo_number_of(line, end, "ino:", 16, &ret->inode))
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

/* Size of the process's descriptor table: an upper bound of the number of descriptors. */
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

/* Since 6.2 the directory's size is the number of descriptors; before, it is 0. */
static bool are_too_many(const char *task)
{
	char path[96];
	struct stat st;

	snprintf(path, sizeof(path), "%s/fd", task);
	if (stat(path, &st))
		return false; /* no such thread: the read reports it */
	return st.st_size ? st.st_size > EPOLLINFO_FDS_MAX : table_size(task) > TABLE_MAX;
}

static int read_list(uint32_t pid, uint32_t tid, int32_t epfd, struct strbuf *sb)
{
	char task[64], path[96];
	int res;

	snprintf(task, sizeof(task), "/proc/%u/task/%u", pid, tid);
	if (are_too_many(task))
		return -E2BIG;
	snprintf(path, sizeof(path), "%s/fdinfo/%d", task, (int)epfd);
	res = file__read(path, TEXT_MAX, sb);
	return res == -EFBIG ? -E2BIG : res;
}

int epollinfo__find(uint32_t pid, uint32_t tid, int32_t epfd, struct epoll_item *items, size_t cnt)
{
	struct strbuf sb = STRBUF_INIT;
	int res;

	for (size_t i = 0; i < cnt; i++)
		items[i].fd = -1;
	res = read_list(pid, tid, epfd, &sb);
	if (!res)
		epollinfo__parse(strbuf__str(&sb), items, cnt);
	strbuf__free(&sb);
	return res;
}

int epollinfo__members(uint32_t pid, uint32_t tid, int32_t epfd, struct epoll_member *members,
		       size_t max)
{
	struct strbuf sb = STRBUF_INIT;
	struct entry entry;
	size_t cnt = 0;
	int res = read_list(pid, tid, epfd, &sb);

	for (const char *line = res ? "" : strbuf__str(&sb), *end; *line;
	     line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		if (!parse_line(line, end, &entry))
			continue;
		if (cnt < max)
			members[cnt] = (struct epoll_member){ entry.fd, (uint32_t)entry.events };
		cnt++;
	}
	strbuf__free(&sb);
	return res ? res : cnt > max ? -E2BIG : (int)cnt;
}
