/* SPDX-License-Identifier: GPL-2.0 */
#include "procfs/fdscan.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LINKS_MAX 20000

struct scan {
	fdscan_fn *is;
	void *ctx;
	unsigned left;
};

static bool has_link(const struct scan *scan, pid_t pid, int dir, const char *fd)
{
	char link[64];
	ssize_t len = readlinkat(dir, fd, link, sizeof(link) - 1);

	if (len <= 0)
		return false;
	link[len] = 0;
	return scan->is(scan->ctx, pid, fd, link);
}

static bool has(struct scan *scan, const char *proc, pid_t pid)
{
	struct dirent *entry;
	char path[PATH_MAX];
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%d/fd", proc, (int)pid);
	dir = opendir(path);
	while (dir && !found && scan->left && (entry = readdir(dir))) {
		scan->left--;
		found = has_link(scan, pid, dirfd(dir), entry->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

bool fdscan__has(const char *proc, pid_t pid, fdscan_fn *is, void *ctx)
{
	struct scan scan = { is, ctx, LINKS_MAX };

	return pid && has(&scan, proc, pid);
}

pid_t fdscan__find(const char *proc, pid_t not_pid, fdscan_fn *is, void *ctx)
{
	struct scan scan = { is, ctx, LINKS_MAX };
	struct dirent *entry;
	DIR *dir = opendir(proc);
	pid_t ret = 0;

	while (dir && !ret && scan.left && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtoul(entry->d_name, NULL, 10);

		if (pid && pid != not_pid && has(&scan, proc, pid))
			ret = pid;
	}
	if (dir)
		closedir(dir);
	return ret;
}
