/* SPDX-License-Identifier: GPL-2.0 */
/* The link in /proc/PID/task/TID/fd says what kind it is, its fdinfo which one. */
#include "procfs/fdtarget.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "procfs/fdinfo.h"
#include "procfs/socketinfo.h"

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

/* By the begin of the link; its end, a bracket or a number, says nothing more. */
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

/* "anon_inode:[io_uring]" and "anon_inode:inotify" by their names, all others as they are. */
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

/* Whether its file is another than the one that was meant: "socket:[1234]" says so itself. */
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
