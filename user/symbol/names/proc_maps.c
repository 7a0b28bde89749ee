/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mapped objects and their regions. Keeps executable regions only: others contain no code, and
 * there may be a hundred thousand of them.
 */
#include "symbol/names/proc_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/must.h"
#include "base/text.h"
#include "files/proc.h"
#include "symbol/names/symbolize.h"

/*
 * Memory of JIT compilers that has a name. Some map their code twice, to write and to execute it:
 * Erlang's asmjit (vmem), .NET, QML's. Android's runtime (ART) has a memfd; ashmem up to Android 9;
 * anonymous memory without both (its runtime/jit/jit_memory_region.cc, libartbase/base/mem_map.cc).
 */
static const struct jit_memory {
	const char *begin;
	bool is_art;
} jit_memory[] = {
	{ "/memfd:vmem", false },
	{ "/memfd:doublemapper", false },
	{ "/memfd:JITCode", false },
	{ "/memfd:jit-cache", true },
	{ "/memfd:jit-zygote-cache", true },
	{ "/dev/ashmem/dalvik-jit-code-cache", true },
	{ "/dev/ashmem/dalvik-zygote-jit-code-cache", true },
	{ "[anon:dalvik-jit-code-cache]", true },
	{ "[anon:dalvik-zygote-jit-code-cache]", true },
};

/* NULL: none. */
static const struct jit_memory *jit_memory_of(const char *path)
{
	for (size_t i = 0; i < sizeof(jit_memory) / sizeof(*jit_memory); i++)
		if (text__begins(path, jit_memory[i].begin))
			return &jit_memory[i];
	return NULL;
}

static enum mapped_kind kind_of(const struct proc_maps_line *line)
{
	if (line->inode)
		return jit_memory_of(line->path) ? MAPPED_ANON : MAPPED_FILE;
	if (!strcmp(line->path, "[vdso]"))
		return MAPPED_VDSO;
	if (line->path[0] == '[' && strncmp(line->path, "[anon", 5) &&
	    strcmp(line->path, "[heap]") && strncmp(line->path, "[stack", 6))
		return MAPPED_SPECIAL;
	return MAPPED_ANON;
}

/* Takes the path. */
static struct mapped *new_mapped(const struct proc_maps_line *line, size_t key_len, char *path)
{
	struct mapped *ret = must__calloc(1, sizeof(*ret) + key_len + 1);
	const struct jit_memory *jit = jit_memory_of(line->path);

	ret->path = path;
	maps_lines__decode_path(ret->path);
	ret->kind = kind_of(line);
	ret->is_art_jit = jit && jit->is_art;
	ret->dev = line->dev;
	ret->inode = line->inode;
	ret->start = line->start;
	ret->end = line->end;
	ret->key_len = key_len;
	memcpy(ret->key, line->key, key_len);
	return ret;
}

static struct mapped *mapped_of(struct proc_maps *maps, const struct proc_maps_line *line)
{
	size_t len = strlen(line->key);
	struct mapped *mapped;
	char *path;

	HASH_FIND(hh, maps->mapped, line->key, len, mapped);
	if (mapped)
		return mapped;
	path = must__strdup(line->path);
	mapped = new_mapped(line, len, path);
	HASH_ADD_KEYPTR(hh, maps->mapped, mapped->key, len, mapped);
	if (!mapped)
		free(path);
	return mapped;
}

static void add_region(struct proc_maps *maps, const struct region *region)
{
	maps->regions = must__grow(maps->regions, maps->cnt, &maps->cap, sizeof(*maps->regions));
	maps->regions[maps->cnt++] = *region;
}

static int add_line(char *text, size_t len, uint64_t off, void *ctx)
{
	struct proc_maps *maps = ctx;
	struct mapped *mapped;
	struct proc_maps_line line;

	maps->line_cnt++;
	if (maps_line__parse(text, false, &line) != 1)
		return 0;
	mapped = mapped_of(maps, &line);
	if (!mapped)
		return -ENOMEM;
	add_region(maps, &(struct region){ line.start, line.end, line.offset, mapped, 0 });
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct region *ra = a, *rb = b;

	return (ra->start > rb->start) - (ra->start < rb->start);
}

static void sort(struct proc_maps *maps)
{
	if (maps->cnt)
		qsort(maps->regions, maps->cnt, sizeof(*maps->regions), by_start);
}

/* The mapped object of a mapping; created when it is new. NULL: out of memory. */
static struct mapped *object_of(struct proc_maps *maps, const struct mapping *mapping)
{
	struct proc_maps_line line = { .start = mapping->start,
				       .end = mapping->end,
				       .offset = mapping->offset,
				       .dev = mapping->dev,
				       .inode = mapping->inode,
				       .path = (char *)mapping->path };
	struct mapped *ret;

	if (asprintf(&line.key, "%02x:%02x %" PRIu64 " %s", major(line.dev), minor(line.dev),
		     line.inode, mapping->path) < 0)
		return NULL;
	ret = mapped_of(maps, &line);
	free(line.key);
	return ret;
}

int proc_maps__read(struct proc_maps *maps, const char *path)
{
	int ret = maps_file__read(path, add_line, maps);

	if (ret)
		return ret;
	if (!maps->line_cnt)
		return -ESRCH;
	sort(maps);
	return 0;
}

void proc_maps__free(struct proc_maps *maps)
{
	struct mapped *mapped, *next;

	HASH_ITER (hh, maps->mapped, mapped, next) {
		HASH_DEL(maps->mapped, mapped);
		free(mapped->path);
		free(mapped);
	}
	free(maps->regions);
	free(maps->past);
	memset(maps, 0, sizeof(*maps));
}

/*
 * --- past mappings: an address refers to the time at which it was sampled; since then a library
 * may have been unloaded and another one mapped at the same place
 */

/* Mapped objects without regions that are kept until the maps are read again. */
#define FORGOTTEN_MAX (4 * MAPS_PAST_MAX)

static size_t past_cnt(const struct proc_maps *maps)
{
	return maps->past_cnt < MAPS_PAST_MAX ? maps->past_cnt : MAPS_PAST_MAX;
}

bool proc_maps__is_past(const struct proc_maps *maps)
{
	return maps->at_ns && maps->at_ns < maps->changed_ns;
}

/*
 * Past regions never overlap at the same time, but a region may have ended earlier than until_ns,
 * which is an upper limit. So the region that began last wins.
 */
static const struct region *find_past(const struct proc_maps *maps, uint64_t addr)
{
	const struct past_region *best = NULL;

	for (size_t i = 0; i < past_cnt(maps); i++) {
		const struct past_region *past = &maps->past[i];

		if (addr >= past->region.start && addr < past->region.end &&
		    maps->at_ns < past->until_ns && maps->at_ns >= past->region.since_ns &&
		    (!best || past->region.since_ns > best->region.since_ns))
			best = past;
	}
	return best ? &best->region : NULL;
}

static void add_past(struct proc_maps *maps, const struct region *region, uint64_t until_ns)
{
	if (!maps->past)
		maps->past = must__calloc(MAPS_PAST_MAX, sizeof(*maps->past));
	maps->past[maps->past_cnt++ % MAPS_PAST_MAX] = (struct past_region){ *region, until_ns };
	if (until_ns > maps->changed_ns)
		maps->changed_ns = until_ns;
}

static bool overlap(const struct region *a, uint64_t start, uint64_t end)
{
	return a->start < end && start < a->end;
}

/* Adds the parts of a region that the new mapping does not cover. */
static void add_rest(struct proc_maps *maps, const struct region *old, const struct mapping *came)
{
	struct region rest = *old;

	if (old->start < came->start) {
		rest.end = came->start;
		add_region(maps, &rest);
	}
	if (old->end > came->end) {
		rest = *old;
		rest.start = came->end;
		rest.offset += came->end - old->start;
		add_region(maps, &rest);
	}
}

/* Removes what the new mapping covers; parts of regions beside it stay. */
static void displace(struct proc_maps *maps, const struct mapping *came)
{
	size_t cnt = maps->cnt, to = 0;

	for (size_t i = 0; i < cnt; i++) {
		struct region old = maps->regions[i];

		if (!overlap(&old, came->start, came->end))
			continue;
		add_past(maps, &old, came->t_ns);
		maps->regions[i].mapped = NULL;
		add_rest(maps, &old, came);
	}
	for (size_t i = 0; i < maps->cnt; i++)
		if (maps->regions[i].mapped)
			maps->regions[to++] = maps->regions[i];
	maps->cnt = to;
}

/* The region, when a reading of the maps found it before this record. */
static struct region *find_known(struct proc_maps *maps, const struct mapping *came)
{
	for (size_t i = 0; i < maps->cnt; i++) {
		struct region *region = &maps->regions[i];

		if (region->start == came->start && region->end == came->end &&
		    region->offset == came->offset && region->mapped->dev == came->dev &&
		    region->mapped->inode == came->inode)
			return region;
	}
	return NULL;
}

/* The record has the exact time; the reading only had an upper limit. */
static void set_since(struct proc_maps *maps, struct region *region, uint64_t t_ns)
{
	region->since_ns = t_ns;
	for (size_t i = 0; i < past_cnt(maps); i++) {
		struct past_region *past = &maps->past[i];

		if (overlap(&past->region, region->start, region->end) && past->until_ns > t_ns &&
		    past->region.since_ns < t_ns)
			past->until_ns = t_ns;
	}
}

int proc_maps__add(struct proc_maps *maps, const struct mapping *mapping, struct mapped **ret)
{
	struct region fresh = { mapping->start, mapping->end, mapping->offset, NULL,
				mapping->t_ns };
	struct region *known = find_known(maps, mapping);

	*ret = NULL;
	if (known) {
		set_since(maps, known, mapping->t_ns);
		return 0;
	}
	if (HASH_COUNT(maps->mapped) > maps->cnt + FORGOTTEN_MAX)
		return -EINVAL;
	fresh.mapped = object_of(maps, mapping);
	if (!fresh.mapped)
		return -ENOMEM;
	if (fresh.mapped->is_archive)
		return -EINVAL;
	fresh.mapped->start = mapping->start; /* names it in map_files: a present region */
	fresh.mapped->end = mapping->end;
	displace(maps, mapping);
	add_region(maps, &fresh);
	sort(maps);
	*ret = fresh.mapped;
	return 0;
}

/*
 * Keeps the file of a past region, with its path and module, which `before` loses. NULL: not
 * possible.
 */
static struct mapped *move(struct proc_maps *maps, struct mapped *before)
{
	struct mapped *ret = proc_maps__same(maps, before);
	size_t size = sizeof(*before) + before->key_len + 1;

	if (ret || before->archive || before->is_archive)
		return ret;
	ret = must__malloc(size);
	memcpy(ret, before, size);
	HASH_ADD_KEYPTR(hh, maps->mapped, ret->key, ret->key_len, ret);
	if (ret) {
		before->path = NULL;
		before->module = NULL;
	}
	return ret;
}

static void keep(struct proc_maps *maps, const struct region *old, uint64_t until_ns)
{
	struct region region = *old;

	if (region.mapped->kind != MAPPED_FILE)
		return; /* a JIT compiler's region grows and shrinks, but remains the same object */
	region.mapped = move(maps, region.mapped);
	if (region.mapped)
		add_past(maps, &region, until_ns);
}

/*
 * Whether the region still exists, among the regions from `at` on. Sets the start times of the
 * regions that overlap it.
 */
static bool still_there(const struct proc_maps *maps, size_t at, const struct region *old,
			uint64_t now_ns)
{
	const struct mapped *mapped = proc_maps__same(maps, old->mapped);
	bool same = false;

	for (; at < maps->cnt && maps->regions[at].start < old->end; at++) {
		struct region *region = &maps->regions[at];

		same = region->start == old->start && region->end == old->end &&
		       region->offset == old->offset && region->mapped == mapped;
		region->since_ns = same ? old->since_ns : now_ns;
	}
	return same;
}

/* Both lists are sorted by address. */
void proc_maps__keep_past(struct proc_maps *maps, struct proc_maps *before, uint64_t now_ns)
{
	size_t first = before->past_cnt - past_cnt(before), at = 0;

	for (size_t i = first; i < before->past_cnt; i++) {
		const struct past_region *past = &before->past[i % MAPS_PAST_MAX];

		keep(maps, &past->region, past->until_ns);
	}
	for (size_t i = 0; i < before->cnt; i++) {
		const struct region *old = &before->regions[i];

		while (at < maps->cnt && maps->regions[at].end <= old->start)
			at++;
		if (!still_there(maps, at, old, now_ns))
			keep(maps, old, now_ns);
	}
}

/* --- lookups */

static const struct region *find_present(const struct proc_maps *maps, uint64_t addr)
{
	size_t low = 0, high = maps->cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (maps->regions[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < maps->cnt && maps->regions[low].start <= addr ? &maps->regions[low] : NULL;
}

const struct region *proc_maps__find(const struct proc_maps *maps, uint64_t addr)
{
	const struct region *present = find_present(maps, addr), *past;

	if (!proc_maps__is_past(maps) ||
	    (present && present->since_ns && present->since_ns <= maps->at_ns))
		return present;
	past = find_past(maps, addr);
	return past ?: present;
}

struct mapped *proc_maps__same(const struct proc_maps *maps, const struct mapped *mapped)
{
	struct mapped *ret;

	HASH_FIND(hh, maps->mapped, mapped->key, mapped->key_len, ret);
	return ret;
}

size_t proc_maps__bytes(const struct proc_maps *maps)
{
	return maps->cap * sizeof(*maps->regions) +
	       (maps->past ? MAPS_PAST_MAX * sizeof(*maps->past) : 0) +
	       HASH_COUNT(maps->mapped) * (sizeof(struct mapped) + 128);
}
