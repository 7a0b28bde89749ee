/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Never queries a file that another machine or a daemon serves. The mount of a descriptor is
 * certain. That of a path is judged by its text, so the kernel's function must confirm that the
 * wait is for FUSE.
 */
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "catalogue/syscalls.h"
#include "enrich/awaited.h"
#include "files/file.h"
#include "files/proc.h"
#include "procfs/descriptor.h"
#include "procfs/filepath.h"
#include "procfs/procinfo.h"
#include "procfs/socket.h"

#define PROC	   "/proc"
#define PAGE_SZ	   4096
#define WCHAN_MAX  128
#define PTS_MAJOR  136			 /* UNIX98_PTY_SLAVE_MAJOR */
#define WAIT_FUSE  "request_wait_answer" /* fs/fuse/dev.c */
#define OTHER_FUSE "fuse_"

bool awaited__set(struct awaited *ret, const struct fd_holders *found)
{
	uint32_t pid = (uint32_t)fd_holders__only(found);

	*ret = (struct awaited){ .pid = pid, .tid = pid };
	if (found->cnt > 1)
		ret->several = *found;
	return pid;
}

/* The waiting thread, and what it waits for. */
struct end {
	uint32_t pid, tid;
	int32_t fd;
	bool sends;
	const struct jank_rec_waited *known; /* the socket's ends, or NULL */
	uint64_t peer;			     /* result: the socket at the other end; 0: none */
	bool is_x;			     /* result: of an X server */
};

/* --- kinds of descriptors: the processes at the other end */

/* A process that waits in its only thread does not end the wait itself. */
static pid_t not_itself(uint32_t pid)
{
	struct proc_info info = { 0 };
	char state;

	return !procinfo__read_stat((pid_t)pid, &info, &state) && info.thread_cnt < 2 ? (pid_t)pid
										      : 0;
}

static void find_peers(struct end *end, uint64_t inode, struct fd_holders *ret)
{
	struct jank_rec_waited asked;
	const struct jank_rec_waited *raw = end->known;

	if (!raw || raw->inode != inode) {
		raw = &asked;
		if (socketinfo__ends(end->pid, end->fd, &asked) || asked.inode != inode)
			return;
	}
	end->peer = socketpeer__inode(PROC, (pid_t)end->pid, raw);
	end->is_x = raw->family == AF_UNIX && strstr(raw->name, X_SOCKETS);
	if (end->peer)
		socketholders__find(PROC, end->peer, not_itself(end->pid), ret);
}

/* Who writes to a terminal waits for a process; who reads, for a person. */
static void find_servers(const struct end *end, struct fd_holders *ret)
{
	struct mountinfo mounts;
	const struct mount *mount;
	uint64_t inode;
	char task[64];
	int id = 0;

	snprintf(task, sizeof(task), PROC "/%u/task/%u", end->pid, end->tid);
	inode = fdinfo__inode(task, end->fd, &id);
	if (mountinfo__read(PROC, (pid_t)end->tid, &mounts))
		return;
	mount = mountinfo__by_id(&mounts, id);
	fusedaemons__find(PROC, mount, clock__mono_ns(), ret);
	if (!ret->cnt && end->sends)
		ttyreaders__find(PROC, mount, inode, clock__mono_ns(), ret);
	mountinfo__free(&mounts);
}

static void find_holders(struct end *end, struct fd_holders *ret)
{
	unsigned long long inode;
	char path[64], link[64];
	ssize_t len;

	snprintf(path, sizeof(path), PROC "/%u/task/%u/fd/%d", end->pid, end->tid, end->fd);
	len = readlink(path, link, sizeof(link) - 1);
	if (len < 0)
		return;
	link[len] = 0;
	if (sscanf(link, "pipe:[%llu]", &inode) == 1)
		pipeholders__find(PROC, inode, !end->sends, not_itself(end->pid), ret);
	else if (sscanf(link, "socket:[%llu]", &inode) == 1)
		find_peers(end, inode, ret);
	else if (*link == '/')
		find_servers(end, ret);
}

/* --- a path on a file system that a daemon serves */

/* The path at this address of the process. */
static bool read_path(uint32_t pid, uint64_t address, char ret[PATH_MAX])
{
	for (size_t at = 0; at < PATH_MAX;) {
		size_t len = PAGE_SZ - (address + at) % PAGE_SZ;

		if (len > PATH_MAX - at)
			len = PATH_MAX - at;
		if (memory__read(PROC, pid, address + at, ret + at, len))
			return false;
		if (memchr(ret + at, 0, len))
			return true;
		at += len;
	}
	return false;
}

static bool waits_in_fuse(uint32_t pid, uint32_t tid)
{
	struct strbuf text = STRBUF_INIT;
	char path[64];
	bool ret;

	snprintf(path, sizeof(path), PROC "/%u/task/%u/wchan", pid, tid);
	ret = !file__read(path, WCHAN_MAX, &text) &&
	      (strstr(strbuf__str(&text), WAIT_FUSE) || strstr(strbuf__str(&text), OTHER_FUSE));
	strbuf__free(&text);
	return ret;
}

static void find_daemons(uint32_t tid, int32_t folder, const char *name, struct fd_holders *ret)
{
	struct strbuf path = STRBUF_INIT;
	struct mountinfo mounts;

	filepath__add_given(&path, PROC, tid, folder, name);
	if (!path.failed && !mountinfo__read(PROC, (pid_t)tid, &mounts)) {
		fusedaemons__find(PROC, mountinfo__of_path(&mounts, strbuf__str(&path)),
				  clock__mono_ns(), ret);
		mountinfo__free(&mounts);
	}
	strbuf__free(&path);
}

/* Of two paths, as of rename, either may be the one. */
static void find_servers_of(uint32_t pid, uint32_t tid, const struct blocked_call *call, bool at,
			    struct fd_holders *ret)
{
	const char *call_name = syscall__name((int)call->nr);
	char name[PATH_MAX];

	if (!call_name || strstr(call_name, "rename") || !strncmp(call_name, "link", 4) ||
	    !waits_in_fuse(pid, tid) || !read_path(pid, call->args[at], name))
		return;
	find_daemons(tid, at ? (int32_t)call->args[0] : -1, name, ret);
}

/* --- the descriptor of a call */

/* A poll of one descriptor waits for its other end. */
static bool read_polled(const struct blocked_call *call, struct end *end)
{
	struct pollfd polled;

	if (call->args[1] != 1 ||
	    memory__read_across(PROC, end->pid, call->args[0], &polled, sizeof(polled)))
		return false;
	end->fd = polled.fd;
	end->sends = polled.events & POLLOUT && !(polled.events & POLLIN);
	return true;
}

bool awaited__other_end(uint32_t pid, uint32_t tid, const struct blocked_call *call,
			const struct jank_rec_waited *known, struct awaited *ret)
{
	unsigned class = syscalls__class((int)call->nr);
	struct end end = { pid,
			   tid,
			   (int32_t)call->args[0],
			   syscall__sends(syscall__name((int)call->nr)),
			   known,
			   0,
			   false };
	struct fd_holders found = { 0 };

	switch (class) {
	case JANK_CLASS_PATH:
	case JANK_CLASS_PATH_AT:
		find_servers_of(pid, tid, call, class == JANK_CLASS_PATH_AT, &found);
		break;
	case JANK_CLASS_POLL_FDS:
		if (read_polled(call, &end))
			find_holders(&end, &found);
		break;
	case JANK_CLASS_FD:
	case JANK_CLASS_FILE_FD:
	case JANK_CLASS_SOCKET:
	case JANK_CLASS_RECV:
		find_holders(&end, &found);
	}
	if (!awaited__set(ret, &found) || ret->pid == pid)
		return false;
	ret->socket = end.peer;
	ret->is_thread = end.is_x;
	return true;
}
