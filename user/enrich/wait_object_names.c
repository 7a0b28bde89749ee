/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each part is found separately, so that a missing one does not hide the others. */
#include "enrich/block_facts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "enrich/deadlock.h"
#include "enrich/open_syncers.h"
#include "enrich/partner.h"
#include "files/proc.h"
#include "procfs/descriptor.h"
#include "procfs/filepath.h"
#include "procfs/procinfo.h"
#include "procfs/socket.h"

#define PROC	 "/proc"
#define SYS	 "/sys"
#define FRESH_NS NS_PER_SEC

/*
 * Futex word of a mutex with sleeping waiters, in glibc and Rust. glibc's normal mutex has its
 * owner 8 bytes further on.
 */
#define WORD_WAITED_FOR 2
/*
 * From uapi/linux/futex.h. musl keeps the owner there, too, except for a normal mutex, which has
 * EBUSY.
 */
#define WORD_HAS_WAITERS 0x80000000u
#define WORD_TID	 0x3fffffffu

struct naming {
	struct wait_object *waited;
	const struct mountinfo *mounts;
	uint32_t pid;
	uint32_t tid;  /* a live thread of the process */
	uint32_t view; /* thread whose mounts are used; our own once the process ended */
};

/*
 * Returns the mounts of the most recent process: the spans of a block mostly share it. Once it has
 * ended, returns our own mounts. *ret_view is the thread that sees them.
 */
static const struct mountinfo *mounts_of(uint32_t pid, uint32_t *ret_view)
{
	static struct mountinfo mounts;
	static uint32_t mounts_pid, view;
	static uint64_t until_ns;
	uint64_t now_ns = clock__mono_ns();

	if (mounts_pid != pid || now_ns >= until_ns) {
		mountinfo__free(&mounts);
		mounts_pid = pid;
		until_ns = now_ns + FRESH_NS;
		view = live_tid__thread(PROC, pid);
		if (mountinfo__read(PROC, (pid_t)view, &mounts) || !mounts.cnt) {
			view = (uint32_t)getpid();
			mountinfo__free(&mounts);
			mountinfo__read(PROC, (pid_t)view, &mounts);
		}
	}
	*ret_view = view;
	return &mounts;
}

/* Copies the text of sb, if any, to *ret; frees sb. */
static int keep(struct strbuf *sb, char **ret)
{
	int res = sb->failed ? -ENOMEM : 0;

	if (!res && sb->len) {
		free(*ret);
		*ret = strdup(sb->data);
		res = *ret ? 0 : -ENOMEM;
	}
	strbuf__free(sb);
	return res;
}

static struct file_number number_of(const struct jank_rec_waited *raw)
{
	return (struct file_number){ raw->inode, makedev(raw->dev >> 20, raw->dev & 0xfffff) };
}

static void add_names(struct strbuf *sb, const struct naming *n, const struct file_number *number)
{
	const struct jank_rec_waited *raw = &n->waited->raw;

	filepath__add_names(sb, PROC, (pid_t)n->view, n->mounts, number, raw->name,
			    sizeof(raw->name));
}

static int name_mapped(const struct naming *n, const struct file_number *number)
{
	uint64_t now_ns = clock__mono_ns();
	struct strbuf sb = STRBUF_INIT;
	const char *before = mapped_paths__get(n->pid, number, now_ns);

	if (!filepath__add_mapped(&sb, PROC, (pid_t)n->tid, number, n->waited->raw.name))
		mapped_paths__put(n->pid, number, strbuf__str(&sb), now_ns);
	else if (before)
		strbuf__adds(&sb, before);
	else
		add_names(&sb, n, number);
	return keep(&sb, &n->waited->path);
}

/* *ret_stale: the descriptor belongs to another file by now. */
static int name_file(const struct naming *n, const struct file_number *number, bool *ret_stale)
{
	const struct jank_rec_waited *raw = &n->waited->raw;
	struct strbuf sb = STRBUF_INIT;
	char task[64];
	int res;

	snprintf(task, sizeof(task), PROC "/%u/task/%u", n->pid, n->tid);
	res = filepath__add_fd(&sb, task, raw->fd, n->mounts, number);
	*ret_stale = res == -ESTALE;
	if (res)
		strbuf__reset(&sb);
	return keep(&sb, &n->waited->path);
}

/*
 * True for an inode of anon_inodefs, such as "[eventpoll]". It is the only component of its path;
 * the name of a file in a directory is followed by the directory's.
 */
static bool is_anonymous(const struct jank_rec_waited *raw)
{
	size_t len = strnlen(raw->name, sizeof(raw->name));

	return len > 2 && len + 1 < sizeof(raw->name) && raw->name[0] == '[' &&
	       raw->name[len - 1] == ']' && !raw->name[len + 1] && !(raw->dev >> 20);
}

/* Uses the name that the open descriptor would have. */
static int name_anonymous(const struct naming *n)
{
	struct strbuf link = STRBUF_INIT, sb = STRBUF_INIT;

	strbuf__addf(&link, "anon_inode:%s", n->waited->raw.name);
	fdtarget__add_link(&sb, strbuf__str(&link), "");
	sb.failed |= link.failed;
	strbuf__free(&link);
	return keep(&sb, &n->waited->target);
}

/* The rest is gone: use the kernel's names alone. */
static int name_gone(const struct naming *n, const struct file_number *number)
{
	struct strbuf sb = STRBUF_INIT;

	add_names(&sb, n, number);
	return keep(&sb, &n->waited->path);
}

/* Names a file without a path; once it was closed, only its kind is known. */
static int name_target(const struct naming *n, bool stale)
{
	const struct jank_rec_waited *raw = &n->waited->raw;
	struct strbuf sb = STRBUF_INIT;

	if ((stale || fdtarget__add(&sb, n->pid, n->tid, raw->fd, raw->inode)) &&
	    S_ISFIFO(raw->mode))
		strbuf__addf(&sb, "pipe:[%llu]", (unsigned long long)raw->inode);
	return keep(&sb, &n->waited->target);
}

static int name_device(const struct naming *n, const struct file_number *number)
{
	struct strbuf sb = STRBUF_INIT;

	devname__add(&sb, SYS, n->mounts, number->dev);
	return keep(&sb, &n->waited->device);
}

/* The process's main thread stands for all of its threads: which one answers is not known. */
static bool set_task(struct other_task *ret, uint32_t pid, uint32_t tid)
{
	char comm[JANK_COMM_SZ + 1];

	if (threadname__read(PROC, pid, tid, comm))
		return false;
	ret->pid = pid;
	ret->tid = tid;
	memcpy(ret->comm, comm, sizeof(comm));
	return true;
}

/*
 * If a program serves the file system or reads the terminal, the thread waits for that program,
 * whether it answers or not.
 */
static void find_server(const struct naming *n, const struct mount *mount)
{
	uint64_t now_ns = clock__mono_ns();
	struct fd_holders servers;
	pid_t pid;

	fusedaemons__find(PROC, mount, now_ns, &servers);
	if (!servers.cnt)
		ttyreaders__find(PROC, mount, n->waited->raw.inode, now_ns, &servers);
	pid = fd_holders__only(&servers);
	if (pid)
		set_task(&n->waited->peer_task, (uint32_t)pid, (uint32_t)pid);
}

static int name_descriptor(const struct naming *n)
{
	const struct jank_rec_waited *raw = &n->waited->raw;
	const struct file_number number = number_of(raw);
	bool stale = false;
	int res = 0;

	if (!S_ISSOCK(raw->mode))
		res = raw->fd < 0 ? name_mapped(n, &number) : name_file(n, &number, &stale);
	if (!res && !n->waited->path && raw->fd >= 0)
		res = name_target(n, stale);
	if (!res && !n->waited->path && !n->waited->target && !S_ISSOCK(raw->mode))
		res = is_anonymous(raw) ? name_anonymous(n) : name_gone(n, &number);
	if (!res && !n->waited->target)
		res = name_device(n, &number);
	if (!res && n->waited->path)
		find_server(n, mountinfo__next_of(n->mounts, number.dev, NULL));
	return res;
}

/*
 * Uses a path as given in the call, relative to the thread's current directory or to the
 * descriptor. Does not access the file: its server may be what the thread waits for. The device is
 * that of the mount, found by the text of the path.
 */
static int name_path(const struct naming *n)
{
	const struct jank_rec_waited *raw = &n->waited->raw;
	struct strbuf sb = STRBUF_INIT, device = STRBUF_INIT;
	const struct mount *mount;
	int res;

	filepath__add_given(&sb, PROC, n->tid, raw->fd, raw->name);
	mount = sb.failed ? NULL : mountinfo__of_path(n->mounts, strbuf__str(&sb));
	if (mount)
		devname__add(&device, SYS, n->mounts, mount->dev);
	find_server(n, mount);
	res = keep(&sb, &n->waited->path);
	return keep(&device, &n->waited->device) || res ? -ENOMEM : 0;
}

/*
 * The peer is the process that has the peer's socket open, else the one that connected or listened,
 * as recorded by the kernel. The process itself is not used: it may have made both ends for another
 * process, and the answering thread is not known.
 */
static void find_peer_task(const struct naming *n)
{
	const struct jank_rec_waited *raw = &n->waited->raw;
	uint64_t inode = socketpeer__inode(PROC, (pid_t)n->pid, raw);
	uint32_t pid = 0;

	if (inode)
		pid = (uint32_t)socketholder__find(PROC, inode, (pid_t)raw->peer_pid, (pid_t)n->pid,
						   clock__mono_ns());
	if (!pid)
		pid = raw->peer_pid;
	if (pid && pid != n->pid)
		set_task(&n->waited->peer_task, pid, pid);
}

static int name_peer(const struct naming *n)
{
	struct strbuf sb = STRBUF_INIT;

	socketpeer__add(&sb, &n->waited->raw);
	find_peer_task(n);
	return keep(&sb, &n->waited->peer);
}

/* Returns the value at the owner's place if the futex word marks such a mutex. 0: not known. */
static uint32_t owner_of(const struct jank_rec_waited *raw)
{
	uint32_t in_word = raw->futex_word & WORD_TID;

	if (raw->futex_word == WORD_WAITED_FOR)
		return raw->owner;
	return raw->futex_word & WORD_HAS_WAITERS && in_word != EBUSY ? in_word : 0;
}

static void name_owner(const struct naming *n)
{
	uint32_t owner = owner_of(&n->waited->raw), tid;

	if (!owner || owner > WORD_TID)
		return;
	tid = threadname__by_ns_tid(PROC, n->pid, owner);
	if (tid)
		set_task(&n->waited->owner, n->pid, tid);
}

/*
 * Returns the thread, or another thread of its process. Threads mostly share files; the file
 * numbers confirm it.
 */
static uint32_t live_tid_of(uint32_t pid, uint32_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), PROC "/%u/task/%u/fd", pid, tid);
	return access(path, F_OK) ? live_tid__thread(PROC, pid) : tid;
}

int wait_object_names__fill(struct wait_object *waited, uint32_t pid, uint32_t tid)
{
	struct naming n = { .waited = waited, .pid = pid, .tid = live_tid_of(pid, tid) };
	uint16_t flags = waited->raw.hdr.flags;
	int res = 0;

	n.mounts = mounts_of(pid, &n.view);
	if (flags & JANK_WAITED_PATH)
		res = name_path(&n);
	if (flags & JANK_WAITED_FILE)
		res = name_descriptor(&n);
	if (!res && flags & JANK_WAITED_SOCKET)
		res = name_peer(&n);
	if (flags & JANK_WAITED_BINDER)
		set_task(&n.waited->peer_task, waited->raw.peer_pid, waited->raw.peer_pid);
	if (flags & JANK_WAITED_FUTEX)
		name_owner(&n);
	return res;
}

int wait_object_names__link(struct link *link)
{
	struct proc_info info;
	int res = 0;

	if (link->process || procinfo__read((pid_t)link->task.pid, &info, NULL))
		return 0;
	link->process = strdup(procinfo__known_as(&info));
	res = link->process ? 0 : -ENOMEM;
	procinfo__free(&info);
	return res;
}

/* --- names of all waits of a block */

static int name_spans(struct block *block)
{
	int res = 0;

	for (size_t i = 0; i < block->sample_cnt && !res; i++)
		if (block->samples[i].waited)
			res = wait_object_names__fill(block->samples[i].waited, block->pid,
						      block->tid);
	return res;
}

static int name_links(struct block *block)
{
	int res = 0;

	for (size_t i = 0; i < block->chain_cnt && !res; i++) {
		struct link *link = &block->chain[i];

		res = wait_object_names__link(link);
		if (!res && link->waited)
			res = wait_object_names__fill(link->waited, link->task.pid, link->task.tid);
	}
	return res;
}

int block_waits__name(void *ctx, struct block *block)
{
	int res = name_spans(block);

	if (!res)
		res = deadlock__find(ctx, block);
	if (!res)
		res = partner__find(block);
	if (!res)
		res = open_syncers__find(block);
	return res ? res : name_links(block);
}
