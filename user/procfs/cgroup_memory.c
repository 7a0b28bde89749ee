/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that the limits of a process's cgroup and of its parents still allow. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/file.h"
#include "procfs/cgroup.h"

#define LIST_MAX (64u << 10)
#define STAT_MAX (16u << 10)

/* The files of a version, and where it is mounted. */
struct version {
	const char *mount, *limit, *usage, *inactive, *active;
};

static const struct version versions[] = {
	{ "/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "\ntotal_inactive_file ",
	  "\ntotal_active_file " },
	{ "", "memory.max", "memory.current", "\ninactive_file ", "\nactive_file " },
};

/* Returns the number after the key in memory.stat; 0: it has none. */
static uint64_t stat_of(const char *dir, const char *key)
{
	struct strbuf sb = STRBUF_INIT;
	unsigned long long ret = 0;
	char path[PATH_MAX];
	const char *at;

	snprintf(path, sizeof(path), "%s/memory.stat", dir);
	at = file__read(path, STAT_MAX, &sb) ? NULL : strstr(strbuf__str(&sb), key);
	if (at)
		ret = strtoull(at + strlen(key), NULL, 10);
	strbuf__free(&sb);
	return ret;
}

/* The kernel can take pages of files back. */
static uint64_t left_in(const char *dir, const struct version *version)
{
	unsigned long long limit[2], used[2], files;

	if (cgroup__read_numbers(dir, version->limit, limit) < 1 ||
	    cgroup__read_numbers(dir, version->usage, used) < 1)
		return UINT64_MAX;
	files = stat_of(dir, version->inactive) + stat_of(dir, version->active);
	used[0] -= files < used[0] ? files : used[0];
	return limit[0] > used[0] ? limit[0] - used[0] : 0;
}

/* path: of the cgroup below the mount; it is cut. */
static uint64_t least(const char *mount, char *path, const struct version *version)
{
	uint64_t ret = UINT64_MAX, left;
	char dir[PATH_MAX], *slash;

	if (strstr(path, "/../")) /* outside our own cgroup namespace */
		return ret;
	do {
		snprintf(dir, sizeof(dir), "%s%s%s", mount, version->mount, path);
		left = left_in(dir, version);
		ret = left < ret ? left : ret;
		slash = strrchr(path, '/');
		if (slash)
			*slash = 0;
	} while (slash);
	return ret;
}

/* Returns the version that a line of /proc/PID/cgroup is about, or NULL. *ret_path: the cgroup. */
static const struct version *version_of(char *line, char **ret_path)
{
	char *controllers = strchr(line, ':'), *path;

	path = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!path)
		return NULL;
	*path = 0;
	*ret_path = path + 1;
	if (!strcmp(controllers + 1, "memory"))
		return &versions[0];
	return controllers[1] ? NULL : &versions[1];
}

uint64_t cgroup_memory__left(const char *mount, const char *list)
{
	uint64_t ret = UINT64_MAX, left;
	struct strbuf sb = STRBUF_INIT;
	char *save = NULL, *path;

	if (!file__read(list, LIST_MAX, &sb) && sb.len)
		for (char *line = strtok_r(sb.data, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save)) {
			const struct version *version = version_of(line, &path);

			left = version ? least(mount, path, version) : UINT64_MAX;
			ret = left < ret ? left : ret;
		}
	strbuf__free(&sb);
	return ret;
}
