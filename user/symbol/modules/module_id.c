/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Identity of a module: decides whether two files have the same tables, which are then read and
 * kept once. See module.h.
 *
 * Fifty containers of one image have fifty copies of its libc, each with its own device and inode.
 * They are one module when all of these agree: the build id, the size, the owner, and what our
 * reader takes from the headers. That is class, machine, entry, segments, and all sections with
 * their names; so every table has the same place and length.
 *
 * Why that is enough: a build id is computed from what was linked; perf's cache and debuginfod
 * trust it alone. Files with the same id by mistake (a constant set by hand, stripped or edited
 * later) differ in size or in a section. To forge an id on purpose, and so give wrong names to the
 * functions of others, one needs a file with the same owner. No user can create a file of root or
 * of another user. Root of a container without a user namespace can, but it is as powerful as root.
 *
 * Ids of less than 8 bytes, or of zeros, do not count. A file with such an id, without an id, or
 * that is not ELF is identified by device, inode and time, as far as these go.
 */
#include "base/must.h"
#include "symbol/modules/module.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/clock.h"
#include "files/apart.h"
#include "symbol/elf/elf.h"

#define TELLING_LEN 16 /* hex digits: 8 bytes, the shortest hash that a linker writes */

struct known_file {
	UT_hash_handle hh;
	struct module_file file;
	struct module_id id;
};

static struct module_file file_of(const struct stat *st, struct image_part part)
{
	return (struct module_file){ .dev = st->st_dev,
				     .inode = st->st_ino,
				     .mtime_ns = timespec__ns(st->st_mtim),
				     .size = st->st_size,
				     .part = part };
}

/* Two hashes, each seeded with its previous value. */
static void mix(struct module_id *id, const void *data, size_t len)
{
	for (size_t i = 0; i < 2; i++)
		id->digest[i] = XXH64(data, len, id->digest[i] + i);
}

static bool is_telling(const char *build_id)
{
	return strlen(build_id) >= TELLING_LEN && build_id[strspn(build_id, "0")];
}

static void mix_segment(struct module_id *id, const struct elf_segment *seg)
{
	const uint64_t what[] = { seg->offset, seg->vaddr, seg->file_size, seg->exec };

	mix(id, what, sizeof(what));
}

static void mix_elf(struct module_id *id, const struct elf *elf)
{
	const uint64_t what[] = { elf->is64,	   elf->type,	  elf->machine,	   elf->entry,
				  elf->has_interp, elf->load_cnt, elf->section_cnt };

	mix(id, elf->build_id, strlen(elf->build_id));
	mix(id, what, sizeof(what));
	mix_segment(id, &elf->eh_hdr);
	for (size_t i = 0; i < elf->load_cnt; i++)
		mix_segment(id, &elf->loads[i]);
	mix(id, elf->sections, elf->section_cnt * sizeof(*elf->sections));
	mix(id, elf->names, elf->names_len);
}

/* False: the content does not identify the file, or it was written to meanwhile. */
static bool read_id(int fd, const struct module_file *file, struct module_id *ret)
{
	struct module_file now;
	struct image img;
	struct stat st;
	struct elf elf;
	uint64_t owner;
	bool telling;

	if (image__of_part(&img, fd, file->part) || elf__open(&elf, &img))
		return false;
	*ret = (struct module_id){ .file = { .size = img.size, .part = file->part } };
	telling = is_telling(elf.build_id);
	if (telling)
		mix_elf(ret, &elf);
	elf__close(&elf);
	if (!telling || apart__stat(fd, &st))
		return false;
	owner = st.st_uid;
	mix(ret, &owner, sizeof(owner));
	now = file_of(&st, file->part);
	return now.size == file->size && now.mtime_ns == file->mtime_ns;
}

static void add(struct module_ids *ids, struct known_file *known)
{
	HASH_ADD(hh, ids->table, file, sizeof(known->file), known);
}

/* The table is in order of last use. */
static void forget(struct module_ids *ids, struct known_file *known)
{
	HASH_DEL(ids->table, known);
}

struct module_id module_id__of_file(const struct stat *st, struct image_part part)
{
	return (struct module_id){ .file = file_of(st, part) };
}

bool module_ids__find(struct module_ids *ids, const struct module_id *file, struct module_id *ret)
{
	struct known_file *known;

	HASH_FIND(hh, ids->table, &file->file, sizeof(file->file), known);
	if (!known)
		return false;
	forget(ids, known);
	add(ids, known);
	*ret = known->id;
	return true;
}

struct module_id module_ids__look(struct module_ids *ids, const struct module_id *file, int fd)
{
	struct known_file *known;
	struct module_id ret;

	if (module_ids__find(ids, file, &ret))
		return ret;
	if (!read_id(fd, &file->file, &ret))
		ret = *file;
	known = ids->table;
	if (HASH_COUNT(ids->table) >= MODULE_IDS_MAX)
		forget(ids, known);
	else
		known = must__malloc(sizeof(*known));
	*known = (struct known_file){ .file = file->file, .id = ret };
	add(ids, known);
	return ret;
}

struct module_id module_id__of_memory(const void *mem, size_t size)
{
	struct module_id ret = { .file = { .size = size } };

	mix(&ret, mem, size);
	return ret;
}

bool module_id__is(const struct module_id *a, const struct module_id *b)
{
	return !memcmp(a, b, sizeof(*a));
}

bool module_id__is_shared(const struct module_id *id)
{
	return id->digest[0] || id->digest[1];
}

size_t module_ids__bytes(const struct module_ids *ids)
{
	return HASH_COUNT(ids->table) * sizeof(struct known_file);
}

void module_ids__free(struct module_ids *ids)
{
	struct known_file *known, *next;

	HASH_ITER (hh, ids->table, known, next) {
		forget(ids, known);
		free(known);
	}
}
