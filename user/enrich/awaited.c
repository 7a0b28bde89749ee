/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "enrich/awaited.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "catalogue/syscalls.h"
#include "enrich/lock_owner.h"
#include "files/file.h"
#include "files/proc.h"
#include "procfs/descriptor.h"
#include "procfs/filepath.h"
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
	struct fd_holders found;
	bool too_many;
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
	if (children->found.cnt < FD_HOLDER_MAX)
		children->found.pids[children->found.cnt++] = (pid_t)pid;
	else
		children->too_many = true;
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
	return !children.too_many && awaited__set(ret, &children.found);
}

/* --- locks of files */

#define FCNTL_OFD_WAIT 38 /* F_OFD_SETLKW */

static bool is_of_file(const char *lock, const char *file)
{
	char at[48];

	return sscanf(lock, "%*s %*s %*s %*d %47s", at) == 1 && !strcmp(at, file);
}

/*
 * A line is "1: FLOCK ADVISORY WRITE 612 fe:00:1234 0 EOF"; those that wait for it follow, with its
 * number and "->" (locks_show in fs/locks.c). A process's threads may wait for several locks; those
 * that wait for a lock of an open file (OFD) have no number.
 */
bool file_locks__blocker(const char *text, int64_t pid, const char *file, char ret[FILE_LOCK_SZ])
{
	unsigned long long number, held = 0;
	const char *lock = NULL, *found = NULL;
	size_t len;
	long process;

	for (; text && *text; text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL) {
		const char *at = strchr(text, ':');

		if (!at || sscanf(text, "%llu:", &number) != 1)
			continue;
		at += 1 + strspn(at + 1, " ");
		if (!text__begins(at, "->")) {
			held = number;
			lock = at;
		} else if (lock && number == held && lock != found &&
			   sscanf(at + 2, "%*s %*s %*s %ld", &process) == 1 && process == pid &&
			   (!file || is_of_file(at + 2, file))) {
			if (found)
				return false;
			found = lock;
		}
	}
	len = found ? strcspn(found, "\n") : 0;
	if (!len || len >= FILE_LOCK_SZ)
		return false;
	memcpy(ret, found, len);
	ret[len] = 0;
	return true;
}

/* The file of the descriptor in the form of /proc/locks. */
static bool name_file(uint32_t pid, uint32_t tid, int32_t fd, char ret[48])
{
	const struct mount *mount;
	struct mountinfo mounts;
	uint64_t inode;
	char task[64];
	int id = 0;

	snprintf(task, sizeof(task), PROC "/%u/task/%u", pid, tid);
	inode = fdinfo__inode(task, fd, &id);
	if (!inode || mountinfo__read(PROC, (pid_t)tid, &mounts))
		return false;
	mount = mountinfo__by_id(&mounts, id);
	if (mount)
		snprintf(ret, 48, "%02x:%02x:%" PRIu64, major(mount->dev), minor(mount->dev),
			 inode);
	mountinfo__free(&mounts);
	return mount;
}

/*
 * A lock of flock has the number of the process that took it, which may have ended since: its open
 * file remains with the processes that have inherited it.
 */
static void find_holders(const char *lock, uint32_t pid, int32_t fd, struct fd_holders *ret)
{
	char path[64], link[PATH_MAX];
	int process = 0;
	ssize_t len;

	if (text__begins(lock, "POSIX") && sscanf(lock, "%*s %*s %*s %d", &process) == 1) {
		*ret = (struct fd_holders){ { process }, process > 0 };
		return;
	}
	snprintf(path, sizeof(path), PROC "/%u/fd/%d", pid, fd);
	len = readlink(path, link, sizeof(link) - 1);
	if (len < 0)
		return;
	link[len] = 0;
	lockholders__find(PROC, lock, text__base_name(link), ret);
}

static bool find_file_lock(uint32_t pid, uint32_t tid, const struct blocked_call *call,
			   struct awaited *ret)
{
	bool of_open_file =
		call->args[1] == FCNTL_OFD_WAIT && strcmp(syscall__name((int)call->nr), "flock");
	int32_t fd = (int32_t)call->args[0];
	struct strbuf text = STRBUF_INIT;
	char lock[FILE_LOCK_SZ], file[48];
	bool known = name_file(pid, tid, fd, file);
	struct fd_holders holders = { 0 };

	if ((known || !of_open_file) && !file__read(PROC "/locks", TEXT_MAX, &text) &&
	    file_locks__blocker(strbuf__str(&text), of_open_file ? -1 : (int64_t)pid,
				known ? file : NULL, lock))
		find_holders(lock, pid, fd, &holders);
	strbuf__free(&text);
	known = awaited__set(ret, &holders);
	ret->holds = true;
	return known && ret->pid != pid;
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
		return find_file_lock(pid, tid, call, ret);
	return awaited__other_end(pid, tid, call, known, ret);
}
