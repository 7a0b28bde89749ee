/* SPDX-License-Identifier: GPL-2.0 */
/* Bounded by the number of descriptors looked at: each costs about a microsecond. */
#include "kernel/socketholder.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

#define LINKS_MAX 20000
#define KEPT_CNT  16
#define KEPT_NS	  NS_PER_SEC

static struct {
	uint64_t inode, until_ns;
	pid_t pid;
} kept[KEPT_CNT];
static unsigned next_kept;

static bool is_socket(int dir, const char *name, uint64_t inode)
{
	unsigned long long number;
	char link[64];
	ssize_t len = readlinkat(dir, name, link, sizeof(link) - 1);

	if (len <= 0)
		return false;
	link[len] = 0;
	return sscanf(link, "socket:[%llu]", &number) == 1 && number == inode;
}

static bool holds(const char *proc, pid_t pid, uint64_t inode, unsigned *left)
{
	struct dirent *entry;
	char path[PATH_MAX];
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%d/fd", proc, (int)pid);
	dir = opendir(path);
	while (dir && !found && *left && (entry = readdir(dir))) {
		(*left)--;
		found = is_socket(dirfd(dir), entry->d_name, inode);
	}
	if (dir)
		closedir(dir);
	return found;
}

static pid_t find_anywhere(const char *proc, uint64_t inode, pid_t not_pid)
{
	unsigned left = LINKS_MAX;
	struct dirent *entry;
	DIR *dir = opendir(proc);
	pid_t ret = 0;

	while (dir && !ret && left && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtoul(entry->d_name, NULL, 10);

		if (pid && pid != not_pid && holds(proc, pid, inode, &left))
			ret = pid;
	}
	if (dir)
		closedir(dir);
	return ret;
}

static bool holds_it(const char *proc, pid_t pid, uint64_t inode)
{
	unsigned left = LINKS_MAX;

	return pid && holds(proc, pid, inode, &left);
}

static pid_t find(const char *proc, uint64_t inode, pid_t hint, pid_t not_pid)
{
	pid_t pid;

	if (hint != not_pid && holds_it(proc, hint, inode))
		return hint;
	pid = find_anywhere(proc, inode, not_pid);
	return pid ? pid : holds_it(proc, not_pid, inode) ? not_pid : 0;
}

pid_t socketholder__find(const char *proc, uint64_t inode, pid_t hint, pid_t not_pid,
			 uint64_t now_ns)
{
	unsigned at = next_kept;

	for (unsigned i = 0; i < KEPT_CNT; i++)
		if (kept[i].inode == inode && now_ns < kept[i].until_ns)
			return kept[i].pid;
	next_kept = (at + 1) % KEPT_CNT;
	kept[at].inode = inode;
	kept[at].pid = find(proc, inode, hint, not_pid);
	kept[at].until_ns = now_ns + KEPT_NS;
	return kept[at].pid;
}
