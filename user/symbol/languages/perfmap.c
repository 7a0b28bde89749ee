/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A perf map grows while code is compiled, and addresses are reused: of two lines for one address
 * the later one is valid. Only addresses and file positions are kept in memory; names are read on
 * demand.
 */
#include "symbol/languages/jit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/clock.h"
#include "files/apart.h"
#include "files/file.h"
#include "files/proc.h"
#include "files/unread.h"

#define FILE_MAX_SZ   (64ull << 20)
#define ENTRIES_MAX   (256u << 10)
#define ENTRIES_AGAIN (ENTRIES_MAX / 4 * 3) /* full when more than these remain after a clean-up */
#define CPU_NS	      (50 * NS_PER_MS)	    /* limit of one reading, without the sort */
#define LAST_SZ	      4096
#define LINE_MAX_SZ   32768 /* longer lines are skipped: proc.h */
#define LOOK_NS	      (100 * NS_PER_MS)
#define COST_SHARE    20 /* re-reading takes at most 1/20 of a CPU */

void perfmap__init(struct perfmap *map)
{
	*map = (struct perfmap){ .fd = -1 };
	symtab__init(&map->tab);
}

void perfmap__free(struct perfmap *map)
{
	symtab__free(&map->tab);
	if (map->fd >= 0)
		close(map->fd);
	perfmap__init(map);
}

static int take_line(struct perfmap *map, char *line, uint64_t off)
{
	uint64_t addr, size;
	char *at = line;

	if (lines__hex(&at, &addr) || *at++ != ' ' || lines__hex(&at, &size) || *at++ != ' ' ||
	    !*at || size > SYMTAB_SIZE_MAX || addr >> 56)
		return 0;
	off += at - line;
	if (off > UINT32_MAX)
		return -EFBIG;
	if (map->tab.cnt >= ENTRIES_MAX) {
		symtab__finish_latest(&map->tab);
		if (map->tab.cnt > ENTRIES_AGAIN)
			return -E2BIG;
	}
	return symtab__add(&map->tab, addr, size, false, RANK_GLOBAL, off);
}

static int add_line(char *line, size_t len, uint64_t off, void *ctx)
{
	(void)len;
	return take_line(ctx, line, off);
}

/* Starts at the begin, after another file was opened or the file was truncated. */
static void restart(struct perfmap *map, int fd)
{
	uint32_t generation = map->generation;

	if (fd == map->fd)
		map->fd = -1;
	perfmap__free(map);
	map->fd = fd;
	map->generation = generation + 1;
}

/* Counts each file once, though it is searched ten times a second. A link has no inode here. */
static void refuse(struct perfmap *map, enum unread reason, uint64_t inode, const char *path)
{
	char name[80];

	if (map->refused == inode)
		return;
	map->refused = inode;
	snprintf(name, sizeof(name), "/%s", path);
	unread__add(reason, name);
}

/*
 * Every user can create this file for any process, as a link to a file that only root may read. So
 * no link is followed, and the file must be the process's user's. A hard link keeps its owner: it
 * could be root's file, for a process of root.
 */
static void look_for(struct perfmap *map, const char *root, uint32_t nspid, uid_t uid)
{
	char path[64];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "tmp/perf-%" PRIu32 ".map", nspid);
	fd = openfile__in_root_no_links(root, path, &st);
	if (fd == -ELOOP)
		refuse(map, UNREAD_LINK, UINT64_MAX, path);
	if (fd == -EPERM) /* the broker has seen another owner */
		refuse(map, UNREAD_OWNER, UINT64_MAX, path);
	if (fd < 0)
		return;
	if (st.st_uid == uid && st.st_nlink <= 1) {
		restart(map, fd);
		return;
	}
	refuse(map, st.st_uid == uid ? UNREAD_LINK : UNREAD_OWNER, st.st_ino, path);
	close(fd);
}

static uint64_t hash_last(const struct perfmap *map)
{
	size_t len = map->off < LAST_SZ ? map->off : LAST_SZ;
	char last[LAST_SZ];
	struct image img;

	return image__of_fd(&img, map->fd) || image__read(&img, map->off - len, last, len)
		       ? 0
		       : XXH3_64bits(last, len);
}

/* A reading ends at the limit of its time; the next one continues. */
static void read_on(struct perfmap *map, uint32_t nspid)
{
	uint64_t left = map->off < FILE_MAX_SZ ? FILE_MAX_SZ - map->off : 0;
	struct lines_limit limit = { left, clock__thread_ns() + CPU_NS };
	struct image img;
	char path[64];
	int res;

	res = lines__read(map->fd, &map->off, limit, add_line, map, &map->behind);
	map->full = res || (map->behind && map->off + LINE_MAX_SZ >= FILE_MAX_SZ);
	map->behind = map->behind && !map->full;
	if (map->full) {
		snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", nspid);
		unread__add(UNREAD_JIT, path);
	}
	map->last = hash_last(map);
	symtab__finish_latest(&map->tab);
	if (!image__of_fd(&img, map->fd))
		names__borrow(&map->tab.names, &img, 0, img.size, '\n');
	map->generation++;
}

/* Java overwrites its map each time it is asked for one. Some addresses then have other code. */
static bool is_anew(struct perfmap *map, const struct stat *st)
{
	uint64_t mtime_ns = timespec__ns(st->st_mtim);
	bool changed = mtime_ns != map->mtime_ns;

	map->mtime_ns = mtime_ns;
	return (uint64_t)st->st_size < map->off ||
	       (changed && map->off && hash_last(map) != map->last);
}

void perfmap__update(struct perfmap *map, const char *root, uint32_t nspid, uid_t uid)
{
	uint64_t begin = clock__mono_ns(), begin_ns = clock__thread_ns();
	struct stat st;

	if (begin < map->next_ns)
		return;
	map->next_ns = 0;
	if (map->fd < 0 || apart__stat(map->fd, &st) || !st.st_nlink)
		look_for(map, root, nspid, uid); /* the first map, or its replacement */
	if (map->fd < 0 || apart__stat(map->fd, &st)) {
		map->next_ns = begin + LOOK_NS;
		return;
	}
	if (is_anew(map, &st))
		restart(map, map->fd);
	if ((uint64_t)st.st_size > map->off && !map->full) {
		read_on(map, nspid);
		map->next_ns = clock__mono_ns() + (clock__thread_ns() - begin_ns) * COST_SHARE;
	}
}
