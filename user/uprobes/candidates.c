/* SPDX-License-Identifier: GPL-2.0 */
/* Each file once; only a bounded number of different ones is kept. */
#include "uprobes/candidates.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/openfile.h"
#include "base/zip_entry.h"
#include "procfs/maps_lines.h"
#include "uprobes/targets.h"

struct reader {
	const struct target_wants *wants;
	struct candidates *found;
	size_t other_cnt;
	uint64_t exe_dev, exe_inode;
	char exe[TARGET_PATH_MAX];
};

/* An archive holds many libraries. */
static bool is_same(const struct candidate *a, const struct candidate *b)
{
	return a->inode == b->inode && a->dev == b->dev &&
	       (a->offset == b->offset || !zip_entry__is_archive(a->path));
}

static int add(struct reader *reader, const struct candidate *new)
{
	struct candidates *found = reader->found;
	struct candidate *item;

	for (size_t i = 0; i < found->cnt; i++) {
		if (is_same(&found->items[i], new))
			return 0;
	}
	if (new->likely ? found->likely_cnt == CANDIDATES_LIKELY_MAX
			: reader->other_cnt == CANDIDATES_OTHER_MAX)
		return 0;
	item = &found->items[found->cnt];
	*item = *new;
	item->path = strdup(new->path);
	if (!item->path)
		return -ENOMEM;
	found->cnt++;
	found->likely_cnt += new->likely;
	reader->other_cnt += !new->likely;
	return 0;
}

static int take_line(void *ctx, const struct maps_line *line)
{
	struct reader *reader = ctx;
	struct candidate new = { .path = line->path,
				 .start = line->start,
				 .end = line->end,
				 .offset = line->offset,
				 .dev = line->dev,
				 .inode = line->inode };

	new.is_exe = (new.inode == reader->exe_inode &&new.dev == reader->exe_dev) ||
		     !strcmp(new.path, reader->exe);
	new.likely = targets__fits(reader->wants, strrchr(new.path, '/') + 1, new.is_exe);
	return add(reader, &new);
}

/* Which mapping is the program itself: by its file, or where a stacked file system shows two numbers
 * for one file, by its path. */
static void learn_exe(pid_t pid, struct reader *reader)
{
	char link[64];
	struct stat st;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	if (!apart__stat_link(link, &st)) {
		reader->exe_dev = st.st_dev;
		reader->exe_inode = st.st_ino;
	}
	n = readlink(link, reader->exe, sizeof(reader->exe) - 1);
	reader->exe[n > 0 ? n : 0] = 0;
	maps_lines__decode_path(reader->exe);
}

static int by_likelihood(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return y->likely - x->likely;
}

int candidates__read_file(const char *maps_path, pid_t pid, const struct target_wants *wants,
			  struct candidates *ret)
{
	struct reader reader = { .wants = wants, .found = ret };
	int err;

	*ret = (struct candidates){ 0 };
	ret->items = calloc(CANDIDATES_LIKELY_MAX + CANDIDATES_OTHER_MAX, sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	learn_exe(pid, &reader);
	err = maps_lines__each(maps_path, take_line, &reader);
	if (ret->cnt)
		qsort(ret->items, ret->cnt, sizeof(*ret->items), by_likelihood);
	return err;
}

int candidates__read(pid_t pid, const struct target_wants *wants, struct candidates *ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	return candidates__read_file(path, pid, wants, ret);
}

void candidates__free(struct candidates *candidates)
{
	for (size_t i = 0; i < candidates->cnt; i++)
		free(candidates->items[i].path);
	free(candidates->items);
	*candidates = (struct candidates){ 0 };
}

/*
 * Of that inode only (0: of any), where the kernel will not have to wait for anybody: it reads the file on our behalf
 * when a probe is put there. Takes `handle`.
 */
static int open_inode(int handle, uint64_t inode)
{
	struct stat st;
	int fd = openfile__handle(handle, &st);

	if (fd >= 0 && inode && st.st_ino != inode) {
		close(fd);
		return -ENOEXEC;
	}
	return fd;
}

int candidate__open(const struct candidate *candidate, pid_t pid, char *open_path, size_t size)
{
	char root[32];
	int fd;

	snprintf(open_path, size, "/proc/%d/map_files/%llx-%llx", (int)pid,
		 (unsigned long long)candidate->start, (unsigned long long)candidate->end);
	fd = open(open_path, O_PATH | O_CLOEXEC);
	if (fd >= 0)
		return open_inode(fd, 0);
	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	snprintf(open_path, size, "%s%s", root, candidate->path);
	fd = apart__open(root, candidate->path);
	return fd < 0 ? fd : open_inode(fd, candidate->inode);
}
