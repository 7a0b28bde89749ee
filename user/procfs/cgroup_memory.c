/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that the limits of a process's cgroup and of its parents still allow. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/file.h"
#include "procfs/cgroup.h"

#define LIST_MAX (64u << 10)
#define FILE_MAX (16u << 10)

/* The files of a version, and where it is mounted. */
struct version {
	const char *mount, *limit, *usage, *inactive, *active;
};

static const struct version versions[] = {
	{ "/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "\ntotal_inactive_file ",
	  "\ntotal_active_file " },
	{ "", "memory.max", "memory.current", "\ninactive_file ", "\nactive_file " },
};

/* Reads a number after `key`, or at the begin (NULL). False: there is none, as with "max". */
static bool read_number(const char *dir, const char *name, const char *key, uint64_t *ret)
{
	struct strbuf sb = STRBUF_INIT;
	unsigned long long number;
	char path[PATH_MAX];
	const char *at = NULL;
	bool found;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (!file__read(path, FILE_MAX, &sb))
		at = key ? strstr(strbuf__str(&sb), key) : strbuf__str(&sb);
	found = at && sscanf(at + (key ? strlen(key) : 0), "%llu", &number) == 1;
	if (found)
		*ret = number;
	strbuf__free(&sb);
	return found;
}

/* The kernel can take pages of files back. */
static uint64_t left_in(const char *dir, const struct version *version)
{
	uint64_t limit, used, inactive = 0, active = 0;

	if (!read_number(dir, version->limit, NULL, &limit) ||
	    !read_number(dir, version->usage, NULL, &used))
		return UINT64_MAX;
	read_number(dir, "memory.stat", version->inactive, &inactive);
	read_number(dir, "memory.stat", version->active, &active);
	used -= inactive + active < used ? inactive + active : used;
	return limit > used ? limit - used : 0;
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

/* Returns the version whose line of /proc/PID/cgroup this is, and *ret_path in it; or NULL. */
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
