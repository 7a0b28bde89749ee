/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which processes and threads live, since when, of whom, with which numbers. See proc.h. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/broker.h"
#include "files/broker_request.h"
#include "files/file.h"
#include "files/proc.h"

/* --- a live thread: state Z in /proc/PID/stat, then the first thread that is alive */

#define STAT_MAX   4096
#define STATUS_MAX 16384

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

bool proc__has_thread(const char *proc, uint32_t pid, uint32_t tid)
{
	char path[PATH_MAX];

	if (broker_client__is_on())
		return broker_client__ask(BROKER_HAS_TID, pid, tid, NULL) > 0;
	snprintf(path, sizeof(path), "%s/%u/task/%u", proc, pid, tid);
	return !access(path, F_OK);
}

/* Field 22 of stat, counted from the end of comm, which may contain any character. */
uint64_t proc__start_time(const char *proc, uint32_t pid)
{
	struct strbuf sb = STRBUF_INIT;
	char path[PATH_MAX], *at = NULL;
	uint64_t ret = 0;
	unsigned i;

	snprintf(path, sizeof(path), "%s/%u/stat", proc, pid);
	if (!file__read(path, STAT_MAX, &sb))
		at = strrchr(strbuf__str(&sb), ')');
	for (i = 0; at && i < 20; i++)
		at = strchr(at + 1, ' ');
	if (at)
		ret = strtoull(at, NULL, 10);
	strbuf__free(&sb);
	return ret;
}

bool proc__uids(const char *proc, uint32_t pid, struct proc_uids *ret)
{
	struct strbuf sb = STRBUF_INIT;
	char path[PATH_MAX];
	const char *line;
	bool known;

	snprintf(path, sizeof(path), "%s/%u/status", proc, pid);
	file__read(path, STATUS_MAX, &sb);
	line = strstr(strbuf__str(&sb), "\nUid:"); /* a name has no newline there */
	known = line && sscanf(line, "\nUid: %u %u %u %u", &ret->real, &ret->effective, &ret->saved,
			       &ret->fs) == 4;
	strbuf__free(&sb);
	return known;
}

bool proc__exists(uint32_t pid)
{
	return !kill(pid, 0) || errno != ESRCH;
}

uint32_t live_tid__thread(const char *proc, uint32_t pid)
{
	uint32_t ret = pid;
	char path[PATH_MAX];
	struct dirent *entry;
	int64_t told;
	DIR *dir;

	if (broker_client__is_on()) {
		told = broker_client__ask(BROKER_LIVE_TID, pid, 0, NULL);
		return told > 0 ? (uint32_t)told : pid;
	}
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

/* --- numbers in a pid namespace: the last one of the line NSpid is that of the innermost */

uint32_t ns_tid__of(const char *proc, uint32_t pid, uint32_t tid, bool *ret_nested)
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

uint32_t ns_tid__find(const char *proc, uint32_t pid, uint32_t ns_tid, unsigned max)
{
	char path[PATH_MAX];
	struct dirent *entry;
	uint32_t ret = 0;
	int64_t told;
	bool nested;
	DIR *dir;

	if (broker_client__is_on()) {
		told = broker_client__ask(BROKER_NS_TID, pid, ns_tid, NULL);
		return told > 0 ? (uint32_t)told : 0;
	}

	snprintf(path, sizeof(path), "%s/%u/task", proc, pid);
	dir = opendir(path);
	for (; dir && !ret && max && (entry = readdir(dir)); max--) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (tid && ns_tid__of(proc, pid, tid, &nested) == ns_tid)
			ret = tid;
	}
	if (dir)
		closedir(dir);
	return ret;
}
