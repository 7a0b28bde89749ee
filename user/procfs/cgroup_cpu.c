/* SPDX-License-Identifier: GPL-2.0 */
/* "HIERARCHY:CONTROLLERS:PATH" lines; a hierarchy of version 1 may have several controllers. */
#include "procfs/cgroup_cpu.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"

#define TEXT_MAX   (64u << 10)
#define NUMBER_MAX 128

/* How well a line's controllers say who gives out CPU time; 0: not at all. */
static int rank(const char *controllers, size_t len)
{
	for (const char *at = controllers; at < controllers + len; at += strcspn(at, ",:") + 1)
		if (!strncmp(at, "cpu", 3) && (at[3] == ',' || at[3] == ':'))
			return 4;
	if (!len)
		return 3; /* version 2 */
	if (!strncmp(controllers, "name=systemd:", strlen("name=systemd:")))
		return 2;
	return !strncmp(controllers, "memory:", strlen("memory:"));
}

const char *cgroup_cpu__parse(char *text)
{
	const char *ret = NULL;
	char *save = NULL;
	int best = 0;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;
		int value;

		if (!path || path[1] != '/')
			continue;
		value = rank(controllers + 1, (size_t)(path - controllers - 1));
		if (value && path[2])
			value += 4; /* more than the root */
		if (value <= best)
			continue;
		best = value;
		ret = path + 1;
	}
	return ret;
}

int cgroup_cpu__path(const char *proc, uint32_t pid, uint32_t tid, char **ret)
{
	struct strbuf sb = STRBUF_INIT;
	char path[PATH_MAX];
	const char *found;
	int res = 0;

	*ret = NULL;
	snprintf(path, sizeof(path), "%s/%u/task/%u/cgroup", proc, pid, tid);
	if (!file__read(path, TEXT_MAX, &sb) && sb.len) {
		found = cgroup_cpu__parse(sb.data);
		*ret = found ? strdup(found) : NULL;
		res = found && !*ret ? -ENOMEM : 0;
	}
	strbuf__free(&sb);
	return res;
}

/* The numbers that a file of a cgroup begins with, of two at most; how many there are. "max" and -1 are none. */
static int read_numbers(const char *dir, const char *name, unsigned long long ret[2])
{
	struct strbuf sb = STRBUF_INIT;
	char path[PATH_MAX];
	int cnt = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (!file__read(path, NUMBER_MAX, &sb) && !strchr(strbuf__str(&sb), '-'))
		cnt = sscanf(strbuf__str(&sb), "%llu %llu", &ret[0], &ret[1]);
	strbuf__free(&sb);
	return cnt;
}

static bool read_quota(const char *dir, struct cgroup_quota *ret)
{
	unsigned long long us[2], period_us[2];

	if (read_numbers(dir, "cpu.max", us) != 2) {
		if (read_numbers(dir, "cpu.cfs_quota_us", us) != 1 ||
		    read_numbers(dir, "cpu.cfs_period_us", period_us) != 1)
			return false;
		us[1] = period_us[0];
	}
	if (!us[0] || !us[1] || us[0] > UINT64_MAX / NS_PER_US || us[1] > UINT64_MAX / NS_PER_US)
		return false;
	*ret = (struct cgroup_quota){ us[0] * NS_PER_US, us[1] * NS_PER_US };
	return true;
}

/* Whichever hierarchy gives out CPU time: where the others have a cgroup of that name, it has no such file. */
static bool quota_of(const char *mount, const char *path, struct cgroup_quota *ret)
{
	static const char *const hierarchies[] = { "/cpu", "/cpu,cpuacct", "/cpuacct,cpu", "",
						   "/unified" };
	char dir[PATH_MAX];

	for (size_t i = 0; i < sizeof(hierarchies) / sizeof(*hierarchies); i++) {
		snprintf(dir, sizeof(dir), "%s%s%s", mount, hierarchies[i], path);
		if (read_quota(dir, ret))
			return true;
	}
	return false;
}

static double share(const struct cgroup_quota *quota)
{
	return (double)quota->quota_ns / (double)quota->period_ns;
}

bool cgroup_cpu__quota(const char *mount, char *path, struct cgroup_quota *ret)
{
	char at[PATH_MAX], *slash;
	struct cgroup_quota quota;
	bool found = false;
	size_t len = 0;

	/* One outside of our own cgroup namespace begins with "/..". */
	if (strlen(path) >= sizeof(at) || strstr(path, "/../"))
		return false;
	strcpy(at, path);
	for (; (slash = strrchr(at, '/')) && slash[1]; *slash = 0) {
		if (!quota_of(mount, at, &quota) || (found && share(&quota) >= share(ret)))
			continue;
		found = true;
		*ret = quota;
		len = strlen(at);
	}
	if (found)
		path[len] = 0;
	return found;
}
