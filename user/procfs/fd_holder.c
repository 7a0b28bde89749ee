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
#include "files/file.h"
#include "procfs/filepath.h"

/* True if this descriptor (its number as text) is the wanted one. */
typedef bool fdscan_fn(void *ctx, pid_t pid, const char *fd, const char *link);

#define LINKS_MAX 20000

struct scan {
	fdscan_fn *is;
	void *ctx;
	unsigned left;
};

static bool has_link(const struct scan *scan, pid_t pid, int dir, const char *fd)
{
	char link[64];
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

/*
 * --- FUSE daemons: the last connection is cached for a second, because a block's waits are mostly
 * for one connection
 */

#define KEPT_NS	 NS_PER_SEC
#define TEXT_MAX 4096
#define KEY	 "\nfuse_connection:"

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
	char path[PATH_MAX];
	const char *at;
	bool ret;

	if (strcmp(link, "/dev/fuse"))
		return false;
	snprintf(path, sizeof(path), "%s/%d/fdinfo/%s", search->proc, (int)pid, fd);
	file__read(path, TEXT_MAX, &text);
	at = strbuf__str(&text) ? strstr(strbuf__str(&text), KEY) : NULL;
	ret = at && strtoul(at + strlen(KEY), NULL, 10) == search->number;
	if (!at) {
		search->several |= search->unsaid && search->unsaid != pid;
		search->unsaid = pid;
	}
	strbuf__free(&text);
	return ret;
}

static pid_t find(const char *proc, dev_t dev)
{
	struct search search = { proc, (unsigned long)major(dev) << 20 | minor(dev), 0, false };
	pid_t pid = fdscan__find(proc, 0, is_daemon, &search);

	return pid || search.several ? pid : search.unsaid;
}

static bool is_fuse(const struct mount *mount)
{
	return !strcmp(mount->type, "fuse") || !strcmp(mount->type, "fuseblk") ||
	       !strncmp(mount->type, "fuse.", 5) || !strncmp(mount->type, "fuseblk.", 8);
}

pid_t fusedaemon__find(const char *proc, const struct mount *mount, uint64_t now_ns)
{
	static struct {
		dev_t dev;
		pid_t pid;
		uint64_t until_ns;
	} kept;

	if (!mount || !is_fuse(mount))
		return 0;
	if (kept.dev == mount->dev && now_ns < kept.until_ns)
		return kept.pid;
	kept.dev = mount->dev;
	kept.pid = find(proc, mount->dev);
	kept.until_ns = now_ns + KEPT_NS;
	return kept.pid;
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

/* --- pipes */

struct pipe_end {
	const char *proc;
	uint64_t inode;
	bool writes;
	pid_t pid; /* the first process that has it */
};

/* True if a second process has it. */
static bool is_of_second(void *ctx, pid_t pid, const char *fd, const char *link)
{
	static const char key[] = "\nflags:";
	struct pipe_end *end = ctx;
	struct strbuf text = STRBUF_INIT;
	unsigned long long inode;
	char path[PATH_MAX];
	const char *at;
	int mode;

	if (sscanf(link, "pipe:[%llu]", &inode) != 1 || inode != end->inode || pid == end->pid)
		return false;
	snprintf(path, sizeof(path), "%s/%d/fdinfo/%s", end->proc, (int)pid, fd);
	file__read(path, TEXT_MAX, &text);
	at = strbuf__str(&text) ? strstr(strbuf__str(&text), key) : NULL;
	mode = at ? (int)(strtoul(at + strlen(key), NULL, 8) & O_ACCMODE) : O_RDWR;
	strbuf__free(&text);
	if (mode == (end->writes ? O_RDONLY : O_WRONLY))
		return false;
	if (end->pid)
		return true;
	end->pid = pid;
	return false;
}

pid_t pipeholder__find(const char *proc, uint64_t inode, bool writes, pid_t not_pid)
{
	struct pipe_end end = { proc, inode, writes, 0 };
	struct scan scan = { is_of_second, &end, LINKS_MAX };

	return search_all(&scan, proc, not_pid) || !scan.left ? 0 : end.pid;
}
