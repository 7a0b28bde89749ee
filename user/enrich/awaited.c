/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "enrich/awaited.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "catalogue/syscalls.h"
#include "enrich/lock_owner.h"
#include "files/file.h"
#include "files/proc.h"
#include "procfs/procinfo.h"

#define PROC	     "/proc"
#define TEXT_MAX     (256 << 10)
#define CHILDREN_MAX 1024

/* --- locks, and ends of threads */

static bool find_owner(uint32_t pid, uint32_t tid, struct awaited *ret)
{
	struct lock_owner owner;
	struct futex_wait lock;

	if (futex_wait__read(PROC, pid, tid, &lock) || lock.kind == LOCK_REFUSED ||
	    !lock_owner__find(PROC, pid, &lock, &owner) || owner.gone)
		return false;
	*ret = (struct awaited){ owner.pid, owner.tid, .is_thread = true, .holds = true };
	return true;
}

static bool find_joined(uint32_t pid, const struct blocked_call *call, struct awaited *ret)
{
	*ret = (struct awaited){ pid, joined_thread__find(PROC, pid, call), .is_thread = true };
	return ret->tid;
}

/* --- children */

struct children {
	uint32_t ns_pid; /* the wanted one in the parent's pid namespace; 0: any */
	uint32_t pid;
	unsigned cnt;
};

static void take_child(struct children *children, uint32_t pid)
{
	struct proc_info info = { 0 };
	char state;

	if (procinfo__read_stat((pid_t)pid, &info, &state) || state == 'Z')
		return;
	if (children->ns_pid) {
		if (procinfo__read((pid_t)pid, &info, NULL))
			return;
		procinfo__free(&info);
		if (info.ns_pid != children->ns_pid)
			return;
	}
	children->pid = pid;
	children->cnt++;
}

static void take_children(struct children *children, uint32_t pid, const char *tid)
{
	struct strbuf text = STRBUF_INIT;
	char path[PATH_MAX], *at, *end;

	snprintf(path, sizeof(path), PROC "/%u/task/%s/children", pid, tid);
	if (!file__read(path, TEXT_MAX, &text)) {
		at = text.data;
		for (unsigned i = 0; at && i < CHILDREN_MAX; i++, at = end) {
			unsigned long child = strtoul(at, &end, 10);

			if (end == at)
				break;
			take_child(children, (uint32_t)child);
		}
	}
	strbuf__free(&text);
}

/* The first argument of wait4 is a process, of waitid a kind (P_PID), then a process. */
static uint32_t wanted_child(const struct blocked_call *call)
{
	bool by_kind = !strcmp(syscall__name((int)call->nr) ?: "", "waitid");
	int32_t pid = (int32_t)call->args[by_kind];

	if (by_kind)
		return call->args[0] == P_PID ? (uint32_t)pid : 0;
	return pid > 0 ? (uint32_t)pid : 0;
}

static bool find_child(uint32_t pid, const struct blocked_call *call, struct awaited *ret)
{
	struct children children = { .ns_pid = wanted_child(call) };
	struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), PROC "/%u/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (*entry->d_name != '.')
			take_children(&children, pid, entry->d_name);
	if (dir)
		closedir(dir);
	*ret = (struct awaited){ .pid = children.pid, .tid = children.pid };
	return children.cnt == 1;
}

/* --- locks of files */

/*
 * A line is "1: FLOCK ADVISORY WRITE 612 fe:00:1234 0 EOF"; those that wait for it follow, with its
 * number and "->" (locks_show in fs/locks.c).
 */
uint32_t file_locks__holder(const char *text, uint32_t pid)
{
	unsigned long long number, held = 0;
	uint32_t holder = 0, ret = 0;
	long process;

	for (; text && *text; text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL) {
		const char *at = strchr(text, ':');
		bool waits;

		if (!at || sscanf(text, "%llu:", &number) != 1)
			continue;
		at += 1 + strspn(at + 1, " ");
		waits = text__begins(at, "->");
		if (sscanf(waits ? at + 2 : at, "%*s %*s %*s %ld", &process) != 1)
			continue;
		if (!waits) {
			held = number;
			holder = process > 0 ? (uint32_t)process : 0;
		} else if (process == (long)pid && number == held) {
			if (!holder || (ret && ret != holder))
				return 0;
			ret = holder;
		}
	}
	return ret;
}

static bool find_file_lock(uint32_t pid, struct awaited *ret)
{
	struct strbuf text = STRBUF_INIT;
	uint32_t holder = 0;

	if (!file__read(PROC "/locks", TEXT_MAX, &text))
		holder = file_locks__holder(strbuf__str(&text), pid);
	strbuf__free(&text);
	*ret = (struct awaited){ holder, holder, .holds = true };
	return holder && holder != pid;
}

bool awaited__find(uint32_t pid, uint32_t tid, const struct blocked_call *call,
		   const struct jank_rec_waited *known, struct awaited *ret)
{
	const char *name = syscall__name((int)call->nr);

	switch (syscalls__class((int)call->nr)) {
	case JANK_CLASS_FUTEX:
		return find_owner(pid, tid, ret) || find_joined(pid, call, ret);
	case JANK_CLASS_CHILD:
		return find_child(pid, call, ret);
	}
	if (name && (!strcmp(name, "flock") || !strcmp(name, "fcntl")))
		return find_file_lock(pid, ret);
	return awaited__other_end(pid, tid, call, known, ret);
}
