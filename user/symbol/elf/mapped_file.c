/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens a mapped file: by map_files, else by name in the process's root, else in ours. See
 * mapped_file.h.
 */
#include "symbol/elf/mapped_file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/file.h"
#include "files/zip.h"

bool mapped_file__is(const struct mapped *mapped, const struct stat *st)
{
	return st->st_dev == mapped->dev && st->st_ino == mapped->inode;
}

/*
 * Opens by name: in the process's root, else in ours. The name may belong to another file by now.
 * The kernel has resolved a path in maps: a symbolic link in it came later, and is not followed.
 */
static int open_name(const char *proc, uint32_t pid, const struct mapped *mapped, const char *name,
		     struct stat *st)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%u/root", proc, pid);
	fd = openfile__in_root_no_links(path, name, st);
	if (fd >= 0 && mapped_file__is(mapped, st))
		return fd;
	if (fd >= 0)
		close(fd);
	fd = openfile__path(name, st);
	if (fd >= 0 && !mapped_file__is(mapped, st)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

void mapped_file__link(const char *proc, uint32_t pid, const struct mapped *mapped, char *ret,
		       size_t size)
{
	snprintf(ret, size, "%s/%u/map_files/%llx-%llx", proc, pid,
		 (unsigned long long)mapped->start, (unsigned long long)mapped->end);
}

/*
 * map_files opens what is mapped there now, wherever its name went. That may be another file than
 * before, or may have another inode than in maps (overlayfs).
 */
int mapped_file__open(const char *proc, uint32_t pid, const struct mapped *mapped, struct stat *st)
{
	const char *name = mapped->archive ? mapped->archive->path : mapped->path;
	char path[PATH_MAX];
	struct stat named;
	int fd, by_name;

	mapped_file__link(proc, pid, mapped, path, sizeof(path));
	fd = openfile__link(path, st);
	if (name[0] != '/' || fd == -EWOULDBLOCK || (fd >= 0 && mapped_file__is(mapped, st)))
		return fd;
	by_name = open_name(proc, pid, mapped, name, &named);
	if (fd >= 0 && by_name < 0)
		return fd;
	if (fd >= 0)
		close(fd);
	*st = named;
	return by_name;
}

/*
 * --- libraries in an archive: region by region
 *
 * The directory of an archive is read once for all regions in it. A budget bounds the search: a
 * process may map any number of pieces of any number of archives with long directories.
 */

/* In bytes searched, or the same time spent otherwise: a quarter of a second in total. */
#define BUDGET	    (256u << 20)
#define OPEN_COST   (64u << 10)
#define LOOKUP_COST (4u << 10)

struct split {
	const char *proc;
	uint32_t pid;
	const struct proc_maps *old;
	struct proc_maps *maps;
	const struct mapped *open; /* the archive of `dir` */
	struct zip_directory dir;
	int fd; /* -1: no directory */
	uint64_t spent;
};

static bool may_be_one(const struct mapped *mapped)
{
	return mapped->kind == MAPPED_FILE && !mapped->archive &&
	       zip_entry__is_archive(mapped->path);
}

static struct mapped *new_part(struct mapped *archive, const struct region *region,
			       const char *name, size_t key_len)
{
	struct mapped *ret = calloc(1, sizeof(*ret) + key_len + 1);

	if (ret && asprintf(&ret->path, "%s!/%s", archive->path, name) < 0) {
		free(ret);
		return NULL;
	}
	if (!ret)
		return NULL;
	ret->kind = MAPPED_FILE;
	ret->dev = archive->dev;
	ret->inode = archive->inode;
	ret->start = region->start;
	ret->end = region->end;
	ret->archive = archive;
	ret->key_len = key_len;
	return ret;
}

/*
 * The part of an archive that contains the region, identified by where it begins. A new part is
 * created. NULL when out of memory.
 */
static struct mapped *part_of(struct proc_maps *maps, struct mapped *archive,
			      const struct region *region, const char *name, uint64_t begin,
			      uint64_t size)
{
	struct mapped *ret = NULL;
	char *key, *path;
	int len = asprintf(&key, "%.*s!%" PRIx64, (int)archive->key_len, archive->key, begin);

	if (len < 0)
		return NULL;
	HASH_FIND(hh, maps->mapped, key, (size_t)len, ret);
	if (!ret) {
		ret = new_part(archive, region, name, len);
		if (ret) {
			memcpy(ret->key, key, len);
			ret->begin = begin;
			ret->size = size;
			path = ret->path;
			HASH_ADD_KEYPTR(hh, maps->mapped, ret->key, ret->key_len, ret);
			if (!ret)
				free(path);
		}
	}
	free(key);
	return ret && ret->archive == archive ? ret : NULL; /* a file may have any name */
}

/* The part that the same region had before, so that no file needs to be read. */
static const struct mapped *known_part(const struct split *split, const struct region *region)
{
	const struct region *old = proc_maps__find(split->old, region->start);
	const struct mapped *part = old ? old->mapped : NULL;

	if (!part || !part->archive || old->start != region->start ||
	    part->archive != proc_maps__same(split->old, region->mapped) ||
	    old->offset + part->begin != region->offset)
		return NULL;
	return part;
}

static void close_archive(struct split *split)
{
	if (split->fd < 0)
		return;
	zip_directory__free(&split->dir);
	close(split->fd);
	split->fd = -1;
}

/* False: not an archive, or unreadable. */
static bool open_archive(struct split *split, const struct mapped *archive)
{
	struct stat st;

	if (split->open == archive)
		return split->fd >= 0;
	close_archive(split);
	split->open = archive;
	split->spent += OPEN_COST;
	split->fd = mapped_file__open(split->proc, split->pid, archive, &st);
	if (split->fd < 0)
		return false;
	if (zip_directory__read(&split->dir, split->fd)) {
		close(split->fd);
		split->fd = -1;
		return false;
	}
	split->spent += split->dir.len;
	return true;
}

static struct mapped *find_part(struct split *split, const struct region *region)
{
	struct mapped *archive = region->mapped;
	const struct mapped *known = known_part(split, region);
	struct zip_entry entry;

	if (known) {
		archive->is_archive = true;
		return part_of(split->maps, archive, region,
			       known->path + strlen(archive->path) + 2, known->begin, known->size);
	}
	if (split->spent > BUDGET || !open_archive(split, archive))
		return NULL;
	archive->is_archive = true;
	split->spent += LOOKUP_COST + split->dir.len;
	if (zip_directory__at(&split->dir, region->offset, &entry))
		return NULL;
	return part_of(split->maps, archive, region, entry.name, entry.offset, entry.size);
}

void archive__split(const char *proc, uint32_t pid, const struct proc_maps *old,
		    struct proc_maps *maps)
{
	struct split split = { .proc = proc, .pid = pid, .old = old, .maps = maps, .fd = -1 };

	for (size_t i = 0; i < maps->cnt; i++) {
		struct region *region = &maps->regions[i];
		struct mapped *part = may_be_one(region->mapped) ? find_part(&split, region) : NULL;

		if (!part)
			continue;
		region->mapped = part;
		region->offset -= part->begin;
	}
	close_archive(&split);
}
