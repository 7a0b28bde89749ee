/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks for state Z in /proc/PID/stat, then takes the first thread in /proc/PID/task that is
 * alive.
 */
#include "base/live_tid.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define STAT_MAX 4096

/* A thread that cannot be read has ended too. The state follows the last parenthesis of comm. */
static bool has_ended(const char *proc, uint32_t tid)
{
	struct strbuf sb = STRBUF_INIT;
	char path[PATH_MAX];
	const char *end;
	bool ended;

	snprintf(path, sizeof(path), "%s/%u/stat", proc, tid);
	file__read(path, STAT_MAX, &sb);
	end = strrchr(strbuf__str(&sb), ')');
	ended = !end || end[1] != ' ' || strchr("ZXx", end[2]);
	strbuf__free(&sb);
	return ended;
}

uint32_t live_tid__thread(const char *proc, uint32_t pid)
{
	uint32_t ret = pid;
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	if (!has_ended(proc, pid))
		return pid;
	snprintf(path, sizeof(path), "%s/%u/task", proc, pid);
	dir = opendir(path);
	while (dir && ret == pid && (entry = readdir(dir))) {
		uint32_t tid = strtoul(entry->d_name, NULL, 10);

		if (tid && tid != pid && !has_ended(proc, tid))
			ret = tid;
	}
	if (dir)
		closedir(dir);
	return ret;
}
