/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds a process by the links of its descriptors. The number of links read is bounded: each costs
 * about a microsecond.
 */
#include "procfs/descriptor.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "files/file.h"
#include "procfs/filepath.h"

/* True if this descriptor (its number as text) is the wanted one. */
typedef bool fdscan_fn(void *ctx, pid_t pid, const char *fd, const char *link);

#define LINKS_MAX 20000
#define LINK_SZ	  64 /* of the link's text; the rest is cut */
#define TEXT_MAX  4096

struct scan {
	fdscan_fn *is;
	void *ctx;
	unsigned left;
};

static bool has_link(const struct scan *scan, pid_t pid, int dir, const char *fd)
{
	char link[LINK_SZ];
	ssize_t len = readlinkat(dir, fd, link, sizeof(link) - 1);

	if (len <= 0)
		return false;
	link[len] = 0;
	return scan->is(scan->ctx, pid, fd, link);
}

static bool has(struct scan *scan, const char *proc, pid_t pid)
{
	struct dirent *entry;
	char path[PATH_MAX];
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%d/fd", proc, (int)pid);
	dir = opendir(path);
	while (dir && !found && scan->left && (entry = readdir(dir))) {
		scan->left--;
		found = has_link(scan, pid, dirfd(dir), entry->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* proc: "/proc". */
static bool fdscan__has(const char *proc, pid_t pid, fdscan_fn *is, void *ctx)
{
	struct scan scan = { is, ctx, LINKS_MAX };

	return pid && has(&scan, proc, pid);
}

/* 0: no process except not_pid has it, or the limit was reached. */
static pid_t search_all(struct scan *scan, const char *proc, pid_t not_pid)
{
	struct dirent *entry;
	DIR *dir = opendir(proc);
	pid_t ret = 0;

	while (dir && !ret && scan->left && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtoul(entry->d_name, NULL, 10);

		if (pid && pid != not_pid && has(scan, proc, pid))
			ret = pid;
	}
	if (dir)
		closedir(dir);
	return ret;
}

static pid_t fdscan__find(const char *proc, pid_t not_pid, fdscan_fn *is, void *ctx)
{
	struct scan scan = { is, ctx, LINKS_MAX };

	return search_all(&scan, proc, not_pid);
}

struct all {
	fdscan_fn *is;
	void *ctx;
	struct fd_holders *ret;
};

/* True: there are too many. */
static bool adds_one(void *ctx, pid_t pid, const char *fd, const char *link)
{
	struct all *all = ctx;
	struct fd_holders *ret = all->ret;

	if ((ret->cnt && ret->pids[ret->cnt - 1] == pid) || !all->is(all->ctx, pid, fd, link))
		return false;
	if (ret->cnt == FD_HOLDER_MAX)
		return true;
	ret->pids[ret->cnt++] = pid;
	return false;
}

/* All processes except not_pid. */
static void fdscan__all(const char *proc, pid_t not_pid, fdscan_fn *is, void *ctx,
			struct fd_holders *ret)
{
	struct all all = { is, ctx, ret };
	struct scan scan = { adds_one, &all, LINKS_MAX };

	*ret = (struct fd_holders){ 0 };
	if (search_all(&scan, proc, not_pid) || !scan.left)
		*ret = (struct fd_holders){ 0 };
}

pid_t fd_holders__only(const struct fd_holders *holders)
{
	return holders->cnt == 1 ? *holders->pids : 0;
}

/*
 * Adds the descriptor's fdinfo to sb. Returns the text after the key ("\nflags:"), or NULL.
 */
static const char *fdinfo_of(const char *proc, pid_t pid, const char *fd, const char *key,
			     struct strbuf *sb)
{
	char path[PATH_MAX];
	const char *at;

	snprintf(path, sizeof(path), "%s/%d/fdinfo/%s", proc, (int)pid, fd);
	file__read(path, TEXT_MAX, sb);
	at = strbuf__str(sb) ? strstr(strbuf__str(sb), key) : NULL;
	return at ? at + strlen(key) : NULL;
}

/*
 * --- FUSE daemons: the last connection is cached for a second, because a block's waits are mostly
 * for one connection
 */

#define KEPT_NS NS_PER_SEC

struct search {
	const char *proc;
	unsigned long number; /* the kernel's dev_t of the file system */
	pid_t unsaid;	      /* has /dev/fuse open; fdinfo does not show the connection */
	bool several;	      /* more than one process does */
};

static bool is_daemon(void *ctx, pid_t pid, const char *fd, const char *link)
{
	struct search *search = ctx;
	struct strbuf text = STRBUF_INIT;
	const char *at;
	bool ret;

	if (strcmp(link, "/dev/fuse"))
		return false;
	at = fdinfo_of(search->proc, pid, fd, "\nfuse_connection:", &text);
	ret = at && strtoul(at, NULL, 10) == search->number;
	if (!at) {
		search->several |= search->unsaid && search->unsaid != pid;
		search->unsaid = pid;
	}
	strbuf__free(&text);
	return ret;
}

static void find(const char *proc, dev_t dev, struct fd_holders *ret)
{
	struct search search = { proc, (unsigned long)major(dev) << 20 | minor(dev), 0, false };

	fdscan__all(proc, 0, is_daemon, &search, ret);
	if (!ret->cnt && search.unsaid && !search.several)
		*ret = (struct fd_holders){ { search.unsaid }, 1 };
}

static bool is_fuse(const struct mount *mount)
{
	return !strcmp(mount->type, "fuse") || !strcmp(mount->type, "fuseblk") ||
	       !strncmp(mount->type, "fuse.", 5) || !strncmp(mount->type, "fuseblk.", 8);
}

void fusedaemons__find(const char *proc, const struct mount *mount, uint64_t now_ns,
		       struct fd_holders *ret)
{
	static struct {
		dev_t dev;
		struct fd_holders holders;
		uint64_t until_ns;
	} last;

	*ret = (struct fd_holders){ 0 };
	if (!mount || !is_fuse(mount))
		return;
	if (last.dev != mount->dev || now_ns >= last.until_ns) {
		last.dev = mount->dev;
		find(proc, mount->dev, &last.holders);
		last.until_ns = now_ns + KEPT_NS;
	}
	*ret = last.holders;
}

/* --- socket holders: answers are cached for a second */

#define KEPT_CNT 16

static struct {
	uint64_t inode, until_ns;
	pid_t pid;
} kept[KEPT_CNT];
static unsigned next_kept;

static bool is_socket(void *ctx, pid_t pid, const char *fd, const char *link)
{
	const uint64_t *inode = ctx;
	unsigned long long number;

	(void)pid;
	(void)fd;
	return sscanf(link, "socket:[%llu]", &number) == 1 && number == *inode;
}

static pid_t socketholder_find(const char *proc, uint64_t inode, pid_t hint, pid_t not_pid)
{
	pid_t pid;

	if (hint != not_pid && fdscan__has(proc, hint, is_socket, &inode))
		return hint;
	pid = fdscan__find(proc, not_pid, is_socket, &inode);
	return pid ? pid : fdscan__has(proc, not_pid, is_socket, &inode) ? not_pid : 0;
}

pid_t socketholder__find(const char *proc, uint64_t inode, pid_t hint, pid_t not_pid,
			 uint64_t now_ns)
{
	unsigned at = next_kept;

	for (unsigned i = 0; i < KEPT_CNT; i++)
		if (kept[i].inode == inode && now_ns < kept[i].until_ns)
			return kept[i].pid;
	next_kept = (at + 1) % KEPT_CNT;
	kept[at].inode = inode;
	kept[at].pid = socketholder_find(proc, inode, hint, not_pid);
	kept[at].until_ns = now_ns + KEPT_NS;
	return kept[at].pid;
}

void socketholders__find(const char *proc, uint64_t inode, pid_t not_pid, struct fd_holders *ret)
{
	fdscan__all(proc, not_pid, is_socket, &inode, ret);
}

/* --- pipes */

struct pipe_end {
	const char *proc;
	uint64_t inode;
	bool writes;
};

static bool is_pipe_end(void *ctx, pid_t pid, const char *fd, const char *link)
{
	const struct pipe_end *end = ctx;
	struct strbuf text = STRBUF_INIT;
	unsigned long long inode;
	const char *at;
	int mode;

	if (sscanf(link, "pipe:[%llu]", &inode) != 1 || inode != end->inode)
		return false;
	at = fdinfo_of(end->proc, pid, fd, "\nflags:", &text);
	mode = at ? (int)(strtoul(at, NULL, 8) & O_ACCMODE) : O_RDWR;
	strbuf__free(&text);
	return mode != (end->writes ? O_RDONLY : O_WRONLY);
}

void pipeholders__find(const char *proc, uint64_t inode, bool writes, pid_t not_pid,
		       struct fd_holders *ret)
{
	struct pipe_end end = { proc, inode, writes };

	fdscan__all(proc, not_pid, is_pipe_end, &end, ret);
}

/* --- locks of files */

struct lock {
	const char *proc, *text, *name;
};

/* Is it one of the locks that fdinfo lists: "lock:\t1: FLOCK …"? */
static bool is_listed(const char *info, const char *lock)
{
	size_t len = strlen(lock);

	for (const char *at = info; (at = strstr(at, lock)); at++)
		if (at - info > 2 && at[-2] == ':' && (!at[len] || at[len] == '\n'))
			return true;
	return false;
}

static bool has_lock(void *ctx, pid_t pid, const char *fd, const char *link)
{
	const struct lock *lock = ctx;
	struct strbuf text = STRBUF_INIT;
	bool whole = strlen(link) < LINK_SZ - 1, ret;

	if (*link != '/' || (whole && strcmp(text__base_name(link), lock->name)))
		return false;
	fdinfo_of(lock->proc, pid, fd, "", &text);
	ret = is_listed(strbuf__str(&text), lock->text);
	strbuf__free(&text);
	return ret;
}

void lockholders__find(const char *proc, const char *text, const char *name, struct fd_holders *ret)
{
	struct lock lock = { proc, text, name };

	fdscan__all(proc, 0, has_lock, &lock, ret);
}

/* --- terminals */

#define MASTER	    "/ptmx"
#define SLAVES	    "/pts/"
#define FIRST_INODE 3 /* of the terminal with number 0 (devpts_pty_new) */

struct tty {
	const char *proc;
	dev_t dev;
	uint32_t number;
};

/*
 * The file system of a master's slave: the one in which the master lies, or "pts" beside it
 * (devpts_mntget in fs/devpts/inode.c).
 */
static bool is_in(const struct tty *tty, pid_t pid, int mount_id, const char *link)
{
	const struct mount *mount;
	struct mountinfo mounts;
	char path[PATH_MAX];
	bool ret;

	if (mountinfo__read(tty->proc, pid, &mounts))
		return false;
	mount = mountinfo__by_id(&mounts, mount_id);
	if (mount && strcmp(mount->type, "devpts")) {
		snprintf(path, sizeof(path), "%.*s" SLAVES, (int)(strlen(link) - strlen(MASTER)),
			 link);
		mount = mountinfo__of_path(&mounts, path);
	}
	ret = mount && mount->dev == tty->dev;
	mountinfo__free(&mounts);
	return ret;
}

static bool is_master(void *ctx, pid_t pid, const char *fd, const char *link)
{
	const struct tty *tty = ctx;
	struct strbuf text = STRBUF_INIT;
	size_t len = strlen(link);
	const char *at;
	char task[PATH_MAX];
	int mount_id = 0;
	bool ret;

	if (len < strlen(MASTER) || strcmp(link + len - strlen(MASTER), MASTER))
		return false;
	at = fdinfo_of(tty->proc, pid, fd, "\ntty-index:", &text);
	ret = at && strtoul(at, NULL, 10) == tty->number;
	strbuf__free(&text);
	if (!ret)
		return false;
	snprintf(task, sizeof(task), "%s/%d", tty->proc, (int)pid);
	fdinfo__inode(task, (int32_t)strtol(fd, NULL, 10), &mount_id);
	return is_in(tty, pid, mount_id, link);
}

void ttyreaders__find(const char *proc, const struct mount *mount, uint64_t inode, uint64_t now_ns,
		      struct fd_holders *ret)
{
	static struct {
		struct tty tty;
		struct fd_holders holders;
		uint64_t until_ns;
	} last;
	struct tty tty = { proc, mount ? mount->dev : 0, (uint32_t)inode - FIRST_INODE };

	*ret = (struct fd_holders){ 0 };
	if (!mount || strcmp(mount->type, "devpts") || inode < FIRST_INODE)
		return;
	if (last.tty.dev != tty.dev || last.tty.number != tty.number || now_ns >= last.until_ns) {
		last.tty = tty;
		fdscan__all(proc, 0, is_master, &tty, &last.holders);
		last.until_ns = now_ns + KEPT_NS;
	}
	*ret = last.holders;
}
