/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Never queries a file that another machine or a daemon serves: the thread may be waiting for
 * exactly that.
 */
#include "procfs/filepath.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "files/apart.h"
#include "files/proc.h"
#include "procfs/descriptor.h"

#define NAMES_MAX  64
#define MOUNTS_MAX 16 /* mounts of one device that are tried for a path */

static bool is_other(const char *task, int32_t fd, const struct mountinfo *mi,
		     const struct file_number *want)
{
	const struct mount *mount;
	uint64_t inode;
	int mount_id;

	inode = fdinfo__inode(task, fd, &mount_id);
	mount = mountinfo__by_id(mi, mount_id);
	return inode != want->inode || (mount && mount->dev != want->dev);
}

int filepath__add_fd(struct strbuf *sb, const char *task, int32_t fd, const struct mountinfo *mi,
		     const struct file_number *want)
{
	char path[PATH_MAX], link[PATH_MAX];
	ssize_t len;

	snprintf(path, sizeof(path), "%s/fd/%d", task, (int)fd);
	len = readlink(path, link, sizeof(link) - 1);
	if (len < 0)
		return -errno;
	link[len] = 0;
	if (link[0] != '/' || !strncmp(link, "/memfd:", strlen("/memfd:")))
		return -ENOENT;
	if (is_other(task, fd, mi, want))
		return -ESTALE;
	maps_lines__decode_path(link);
	strbuf__adds(sb, link);
	return 0;
}

void filepath__add_given(struct strbuf *sb, const char *proc, uint32_t tid, int32_t folder,
			 const char *path)
{
	char link[PATH_MAX], target[PATH_MAX];
	ssize_t len;

	if (path[0] != '/') {
		if (folder >= 0)
			snprintf(link, sizeof(link), "%s/%u/fd/%d", proc, tid, folder);
		else
			snprintf(link, sizeof(link), "%s/%u/cwd", proc, tid);
		len = readlink(link, target, sizeof(target));
		if (len > 0)
			strbuf__add(sb, target, len);
		if (len > 1)
			strbuf__addc(sb, '/');
	}
	strbuf__adds(sb, path);
}

struct search {
	struct strbuf *sb;
	const struct file_number *want;
	const char *leaf;
};

static bool ends_in(const char *path, const char *leaf)
{
	const char *slash = strrchr(path, '/');

	return leaf && slash && !strcmp(slash + 1, leaf);
}

static int on_line(void *ctx, const struct proc_maps_line *line)
{
	const struct search *search = ctx;

	if (line->inode != search->want->inode ||
	    (line->dev != search->want->dev && !ends_in(line->path, search->leaf)))
		return 0;
	strbuf__adds(search->sb, line->path);
	return 1;
}

int filepath__add_mapped(struct strbuf *sb, const char *proc, pid_t pid,
			 const struct file_number *want, const char *leaf)
{
	struct search search = { sb, want, leaf };
	char path[PATH_MAX];
	int res;

	snprintf(path, sizeof(path), "%s/%d/maps", proc, (int)pid);
	res = maps_lines__each_file(path, on_line, &search);
	return res > 0 ? 0 : res ? res : -ENOENT;
}

struct names {
	const char *parts[NAMES_MAX];
	size_t cnt;
	bool leaf_cut, complete;
};

/*
 * The probe stops at half of the buffer; the last name may fill the other half, and be cut there.
 */
static struct names split(const char *text, size_t sz)
{
	struct names ret = { .complete = true };
	size_t at = 0;

	while (at < sz && text[at] && ret.cnt < NAMES_MAX) {
		size_t len = strnlen(text + at, sz - at);
		bool cut = at + len == sz || len + 1 >= sz / 2;

		if (at + len == sz && ret.cnt)
			break;
		ret.leaf_cut |= cut && !ret.cnt;
		ret.complete &= !cut;
		ret.parts[ret.cnt++] = text + at;
		at += len + 1;
	}
	ret.complete &= at < sz / 2;
	return ret;
}

static void add_path(struct strbuf *sb, const struct names *names, size_t sz)
{
	strbuf__addc(sb, '/');
	for (size_t i = names->cnt; i > 0; i--) {
		strbuf__add(sb, names->parts[i - 1], strnlen(names->parts[i - 1], sz));
		if (i > 1)
			strbuf__addc(sb, '/');
	}
}

/*
 * True if the path leads to the file in the process's own root. The process has made the path:
 * another file system or a link may be at any part of it by now, so only names that the kernel has
 * cached are followed.
 */
static bool is_there(const char *proc, pid_t pid, const char *path, const struct file_number *want)
{
	struct stat st = {};
	char root[PATH_MAX];
	int fd;

	snprintf(root, sizeof(root), "%s/%d/root", proc, (int)pid);
	fd = apart__open_below(root, path, RESOLVE_CACHED | RESOLVE_NO_SYMLINKS);
	if (fd == -EINVAL)
		fd = apart__open(root, path, RESOLVE_NO_SYMLINKS);
	if (fd < 0)
		return false;
	apart__stat(fd, &st);
	close(fd);
	return st.st_ino == want->inode;
}

/*
 * Sets the path as it appears below the mount. False: the mount does not contain that part of the
 * file system.
 */
static bool set_under(struct strbuf *ret, const struct mount *mount, const char *path)
{
	size_t len = strcmp(mount->root, "/") ? strlen(mount->root) : 0;

	if (strncmp(path, mount->root, len) || path[len] != '/')
		return false;
	strbuf__reset(ret);
	strbuf__addf(ret, "%s%s", strcmp(mount->point, "/") ? mount->point : "", path + len);
	return true;
}

/*
 * Finds the path below the mount that has the file. A complete path is also accepted if its device
 * has only one mount.
 */
static bool find_under(struct strbuf *ret, const char *proc, pid_t pid, const struct mountinfo *mi,
		       const struct file_number *want, const char *path, bool complete)
{
	const struct mount *mount = mountinfo__next_of(mi, want->dev, NULL), *only = mount;
	int cnt = 0;

	for (; mount && cnt < MOUNTS_MAX; mount = mountinfo__next_of(mi, want->dev, mount)) {
		cnt++;
		if (!mount__is_remote(mount) && set_under(ret, mount, path) &&
		    is_there(proc, pid, strbuf__str(ret), want))
			return true;
	}
	return complete && cnt == 1 && set_under(ret, only, path);
}

int filepath__add_names(struct strbuf *sb, const char *proc, pid_t pid, const struct mountinfo *mi,
			const struct file_number *want, const char *text, size_t sz)
{
	struct strbuf path = STRBUF_INIT, found = STRBUF_INIT;
	struct names names = split(text, sz);

	if (!names.cnt)
		return -ENOENT;
	add_path(&path, &names, sz);
	if (find_under(&found, proc, pid, mi, want, strbuf__str(&path), names.complete))
		strbuf__adds(sb, strbuf__str(&found));
	else
		strbuf__addf(sb, "…%s%s", strbuf__str(&path), names.leaf_cut ? "…" : "");
	strbuf__free(&path);
	strbuf__free(&found);
	return 0;
}

/* --- cache of mapped paths: a few entries, the oldest is replaced */

#define KEPT_CNT 16
#define KEPT_NS	 (60 * NS_PER_SEC)

struct kept {
	uint32_t pid; /* 0: none */
	struct file_number number;
	uint64_t until_ns;
	char *path;
};

static struct kept kept[KEPT_CNT];

static bool is_of(const struct kept *entry, uint32_t pid, const struct file_number *number)
{
	return entry->pid == pid && entry->number.inode == number->inode &&
	       entry->number.dev == number->dev;
}

/* The entry of this file, or the oldest one. */
static struct kept *place_of(uint32_t pid, const struct file_number *number)
{
	struct kept *ret = &kept[0];

	for (unsigned i = 0; i < KEPT_CNT; i++) {
		if (is_of(&kept[i], pid, number))
			return &kept[i];
		if (kept[i].until_ns < ret->until_ns)
			ret = &kept[i];
	}
	return ret;
}

void mapped_paths__put(uint32_t pid, const struct file_number *number, const char *path,
		       uint64_t now_ns)
{
	struct kept *entry = place_of(pid, number);

	free(entry->path);
	*entry = (struct kept){ pid, *number, now_ns + KEPT_NS, strdup(path) };
}

const char *mapped_paths__get(uint32_t pid, const struct file_number *number, uint64_t now_ns)
{
	for (unsigned i = 0; i < KEPT_CNT; i++)
		if (is_of(&kept[i], pid, number) && now_ns < kept[i].until_ns)
			return kept[i].path;
	return NULL;
}
