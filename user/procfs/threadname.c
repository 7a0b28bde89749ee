/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads are searched only for a process in its own pid namespace: status lists all tids of a
 * thread.
 */
#include "procfs/threadname.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/strbuf.h"

#define STATUS_MAX  16384
#define THREADS_MAX 1024

int threadname__read(const char *proc, uint32_t pid, uint32_t tid, char ret[JANK_COMM_SZ + 1])
{
	struct strbuf sb = STRBUF_INIT;
	char path[PATH_MAX];
	int res;

	snprintf(path, sizeof(path), "%s/%u/task/%u/comm", proc, pid, tid);
	res = file__read(path, STATUS_MAX, &sb);
	if (!res) {
		size_t len = sb.len;

		len -= len && sb.data[len - 1] == '\n';
		snprintf(ret, JANK_COMM_SZ + 1, "%.*s", (int)len, strbuf__str(&sb));
	}
	strbuf__free(&sb);
	return res == -ENOENT ? -ESRCH : res;
}

/*
 * The last number of the line NSpid is that of the innermost namespace. *ret_nested: there are
 * several. 0: no such line.
 */
static uint32_t ns_tid_of(const char *proc, uint32_t pid, uint32_t tid, bool *ret_nested)
{
	struct strbuf sb = STRBUF_INIT;
	const char *line, *last;
	char path[PATH_MAX];
	uint32_t ret = 0;

	snprintf(path, sizeof(path), "%s/%u/task/%u/status", proc, pid, tid);
	file__read(path, STATUS_MAX, &sb);
	line = strstr(strbuf__str(&sb), "\nNSpid:\t");
	if (line) {
		line += strlen("\nNSpid:\t");
		last = line + strcspn(line, "\n");
		while (last > line && last[-1] != '\t')
			last--;
		*ret_nested = last > line;
		ret = (uint32_t)strtoul(last, NULL, 10);
	}
	strbuf__free(&sb);
	return ret;
}

static uint32_t search(const char *proc, uint32_t pid, uint32_t ns_tid)
{
	char path[PATH_MAX];
	struct dirent *entry;
	uint32_t ret = 0;
	bool nested;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%u/task", proc, pid);
	dir = opendir(path);
	for (int left = THREADS_MAX; dir && !ret && left && (entry = readdir(dir)); left--) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (tid && ns_tid_of(proc, pid, tid, &nested) == ns_tid)
			ret = tid;
	}
	if (dir)
		closedir(dir);
	return ret;
}

uint32_t threadname__by_ns_tid(const char *proc, uint32_t pid, uint32_t ns_tid)
{
	char comm[JANK_COMM_SZ + 1];
	bool nested = false;

	ns_tid_of(proc, pid, pid, &nested);
	if (nested)
		return search(proc, pid, ns_tid);
	return threadname__read(proc, pid, ns_tid, comm) ? 0 : ns_tid;
}
