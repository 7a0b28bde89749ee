/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses /proc/PID/maps. Keeps executable regions only: others contain no code, and there may be a
 * hundred thousand of them.
 */
#include "symbol/names/proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "symbol/names/lines.h"
#include "symbol/names/proc_maps_parts.h"

#define LINES_MAX 1000000
#define BYTES_MAX (512ull << 20)
#define DELETED	  " (deleted)"

/* "START-END PERMS OFFSET MAJ:MIN INODE      PATH" */
struct line {
	uint64_t start, end, offset, major, minor, inode;
	char *key, *path;
};

static int parse_tail(char *at, struct line *ret)
{
	ret->key = at;
	if (lines__hex(&at, &ret->major) || *at++ != ':' || lines__hex(&at, &ret->minor) ||
	    *at++ != ' ')
		return -EINVAL;
	ret->inode = strtoull(at, &at, 10);
	ret->path = at + strspn(at, " ");
	if (ret->path > at) /* independent of the width of the columns before */
		ret->path = memmove(at + 1, ret->path, strlen(ret->path) + 1);
	return 0;
}

/* Returns 1: *ret is filled; 0: not executable; or -EINVAL. */
static int parse(char *at, struct line *ret)
{
	char *perms;

	if (lines__hex(&at, &ret->start) || *at++ != '-' || lines__hex(&at, &ret->end) ||
	    *at++ != ' ' || ret->start >= ret->end)
		return -EINVAL;
	perms = at;
	if (strcspn(perms, " ") != 4)
		return -EINVAL;
	if (perms[2] != 'x')
		return 0;
	at += 5;
	if (lines__hex(&at, &ret->offset) || *at++ != ' ')
		return -EINVAL;
	return parse_tail(at, ret) ?: 1;
}

/*
 * Some JIT compilers map their code twice, for writing and for execution: Erlang's asmjit (vmem)
 * and .NET.
 */
static bool is_jit_memfd(const char *path)
{
	return !strncmp(path, "/memfd:vmem", strlen("/memfd:vmem")) ||
	       !strncmp(path, "/memfd:doublemapper", strlen("/memfd:doublemapper"));
}

static enum mapped_kind kind_of(const struct line *line)
{
	if (line->inode)
		return is_jit_memfd(line->path) ? MAPPED_ANON : MAPPED_FILE;
	if (!strcmp(line->path, "[vdso]"))
		return MAPPED_VDSO;
	if (line->path[0] == '[' && strncmp(line->path, "[anon", 5) &&
	    strcmp(line->path, "[heap]") && strncmp(line->path, "[stack", 6))
		return MAPPED_SPECIAL;
	return MAPPED_ANON;
}

/* The kernel writes a newline in a path as \012, and escapes nothing else. */
static char *decode_path(const char *path)
{
	size_t len = strlen(path), cut = strlen(DELETED);
	char *ret, *to;

	if (len > cut && !strcmp(path + len - cut, DELETED))
		len -= cut;
	ret = to = malloc(len + 1);
	if (!ret)
		return NULL;
	while (len) {
		size_t step = len >= 4 && !strncmp(path, "\\012", 4) ? 4 : 1;

		*to++ = step == 4 ? '\n' : *path;
		path += step;
		len -= step;
	}
	*to = 0;
	return ret;
}

static struct mapped *new_mapped(const struct line *line, size_t key_len)
{
	struct mapped *ret = calloc(1, sizeof(*ret) + key_len + 1);

	if (!ret)
		return NULL;
	ret->path = decode_path(line->path);
	if (!ret->path) {
		free(ret);
		return NULL;
	}
	ret->kind = kind_of(line);
	ret->dev = makedev(line->major, line->minor);
	ret->inode = line->inode;
	ret->start = line->start;
	ret->end = line->end;
	ret->key_len = key_len;
	memcpy(ret->key, line->key, key_len);
	return ret;
}

static struct mapped *mapped_of(struct proc_maps *maps, const struct line *line)
{
	size_t len = strlen(line->key);
	struct mapped *mapped;

	HASH_FIND(hh, maps->mapped, line->key, len, mapped);
	if (mapped)
		return mapped;
	mapped = new_mapped(line, len);
	if (mapped)
		HASH_ADD_KEYPTR(hh, maps->mapped, mapped->key, len, mapped);
	return mapped;
}

int proc_maps__add_region(struct proc_maps *maps, const struct region *region)
{
	if (maps->cnt == maps->cap) {
		size_t cap = maps->cap ? 2 * maps->cap : 16;
		struct region *regions = realloc(maps->regions, cap * sizeof(*regions));

		if (!regions)
			return -ENOMEM;
		maps->regions = regions;
		maps->cap = cap;
	}
	maps->regions[maps->cnt++] = *region;
	return 0;
}

static int add_line(char *text, size_t len, uint64_t off, void *ctx)
{
	struct proc_maps *maps = ctx;
	struct mapped *mapped;
	struct line line;

	if (++maps->line_cnt > LINES_MAX)
		return -E2BIG;
	if (parse(text, &line) != 1)
		return 0;
	mapped = mapped_of(maps, &line);
	if (!mapped)
		return -ENOMEM;
	return proc_maps__add_region(
		maps, &(struct region){ line.start, line.end, line.offset, mapped, 0 });
}

static int by_start(const void *a, const void *b)
{
	const struct region *ra = a, *rb = b;

	return (ra->start > rb->start) - (ra->start < rb->start);
}

void proc_maps__sort(struct proc_maps *maps)
{
	if (maps->cnt)
		qsort(maps->regions, maps->cnt, sizeof(*maps->regions), by_start);
}

struct mapped *proc_maps__mapped(struct proc_maps *maps, const struct mapping *mapping)
{
	struct line line = { mapping->start,
			     mapping->end,
			     mapping->offset,
			     major(mapping->dev),
			     minor(mapping->dev),
			     mapping->inode,
			     NULL,
			     (char *)mapping->path };
	struct mapped *ret;

	if (asprintf(&line.key, "%02" PRIx64 ":%02" PRIx64 " %" PRIu64 " %s", line.major,
		     line.minor, line.inode, mapping->path) < 0)
		return NULL;
	ret = mapped_of(maps, &line);
	free(line.key);
	return ret;
}

int proc_maps__read(struct proc_maps *maps, const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), ret;
	uint64_t off = 0;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	ret = lines__read(fd, &off, BYTES_MAX, add_line, maps);
	close(fd);
	if (ret && ret != -E2BIG)
		return ret;
	if (!maps->line_cnt)
		return -ESRCH;
	proc_maps__sort(maps);
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
	past = proc_maps__find_past(maps, addr);
	return past ?: present;
}

struct mapped *proc_maps__same(const struct proc_maps *maps, const struct mapped *mapped)
{
	struct mapped *ret;

	HASH_FIND(hh, maps->mapped, mapped->key, mapped->key_len, ret);
	return ret;
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

struct mapped *proc_maps__part(struct proc_maps *maps, struct mapped *archive,
			       const struct region *region, const char *name, uint64_t begin,
			       uint64_t size)
{
	struct mapped *ret = NULL;
	char *key;
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
			HASH_ADD_KEYPTR(hh, maps->mapped, ret->key, ret->key_len, ret);
		}
	}
	free(key);
	return ret && ret->archive == archive ? ret : NULL; /* a file may have any name */
}

size_t proc_maps__bytes(const struct proc_maps *maps)
{
	return maps->cap * sizeof(*maps->regions) +
	       (maps->past ? MAPS_PAST_MAX * sizeof(*maps->past) : 0) +
	       HASH_COUNT(maps->mapped) * (sizeof(struct mapped) + 128);
}
