/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Region by region. An archive's directory is read once for all that need it, and a budget bounds what may be looked
 * through: a process may map as many pieces of as many archives, with directories as long, as it likes.
 */
#include "symbol/elf/archive.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/zip_entry.h"
#include "symbol/elf/mapped_file.h"

/* In bytes looked through, or what takes as long: a quarter of a second in all. */
#define BUDGET	    (256u << 20)
#define OPEN_COST   (64u << 10)
#define LOOKUP_COST (4u << 10)

struct split {
	const char *proc;
	uint32_t pid;
	const struct maps *old;
	struct maps *maps;
	const struct mapped *open; /* whose directory it is */
	struct zip_directory dir;
	int fd; /* or -1: it has none */
	uint64_t spent;
};

static bool may_be_one(const struct mapped *mapped)
{
	return mapped->kind == MAPPED_FILE && !mapped->archive &&
	       zip_entry__is_archive(mapped->path);
}

/* What the same region was a part of before, so that no file needs to be read. */
static const struct mapped *known_part(const struct split *split, const struct region *region)
{
	const struct region *old = maps__find(split->old, region->start);
	const struct mapped *part = old ? old->mapped : NULL;

	if (!part || !part->archive || old->start != region->start ||
	    part->archive != maps__same(split->old, region->mapped) ||
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

/* False: it is no archive, or can't be read. */
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
		return maps__part(split->maps, archive, region,
				  known->path + strlen(archive->path) + 2, known->begin,
				  known->size);
	}
	if (split->spent > BUDGET || !open_archive(split, archive))
		return NULL;
	archive->is_archive = true;
	split->spent += LOOKUP_COST + split->dir.len;
	if (zip_directory__at(&split->dir, region->offset, &entry))
		return NULL;
	return maps__part(split->maps, archive, region, entry.name, entry.offset, entry.size);
}

void archive__split(const char *proc, uint32_t pid, const struct maps *old, struct maps *maps)
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
