/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Searches ELF symbol tables. A name is searched in the string table first, so that tables without
 * it (the usual case) cost one pass over their strings and no memory.
 */
#include "symbol/elf/elffunc.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/elf/debugfile.h"

#define STRINGS_MAX (256ull << 20)
#define SYMBOLS_MAX (16ull << 20)
#define NAME_MAX_SZ 256
#define PLACES_MAX  256
#define CHUNK	    (64u << 10)

struct parser {
	const struct elffunc_ops *ops;
	void *ctx;
};

static struct parser of_all;
static _Thread_local struct parser of_thread;

static const struct parser *parser(void)
{
	return of_thread.ops ? &of_thread : &of_all;
}

void elffunc__use(const struct elffunc_ops *ops, void *ctx)
{
	of_all = (struct parser){ ops, ctx };
}

void elffunc__use_here(const struct elffunc_ops *ops, void *ctx)
{
	of_thread = (struct parser){ ops, ctx };
}

int elffunc__entry(int fd, uint64_t offset, struct zip_entry *ret)
{
	const struct parser *remote = parser();

	if (remote->ops)
		return remote->ops->entry(remote->ctx, fd, offset, ret);
	return zip_entry__at(fd, offset, ret);
}

int elffunc__package(int fd, struct package *ret)
{
	const struct parser *remote = parser();

	if (remote->ops)
		return remote->ops->package(remote->ctx, fd, ret);
	return package__of_file(fd, ret);
}

/* The image is only for the code. */
static int open_remote(struct elffunc *ret, const struct image *img, uint64_t base, uint64_t size)
{
	const struct parser *remote = parser();
	int err = remote->ops->open(remote->ctx, ret->fd, base, size, &ret->elf);

	ret->elf.img = *img;
	ret->remote = !err;
	if (err)
		elffunc__close(ret);
	return err;
}

static int open_image(struct elffunc *ret, const struct image *img)
{
	int err = elf__open(&ret->elf, img);

	if (!err && (!ret->elf.is64 || (ret->elf.type != ET_DYN && ret->elf.type != ET_EXEC)))
		err = -ENOEXEC;
	if (err)
		elffunc__close(ret);
	return err;
}

int elffunc__open_within(int fd, uint64_t base, uint64_t size, struct elffunc *ret)
{
	struct image img;

	*ret = (struct elffunc){ .fd = fd };
	if (!image__of_part(&img, fd, (struct image_part){ base, size }))
		return parser()->ops ? open_remote(ret, &img, base, size) : open_image(ret, &img);
	elffunc__close(ret);
	return -ENOEXEC;
}

int elffunc__open(int fd, struct elffunc *ret)
{
	return elffunc__open_within(fd, 0, 0, ret);
}

int elffunc__open_debugdata(const struct elffunc *elf, struct elffunc *ret)
{
	struct image img;
	size_t size;
	int err;

	*ret = (struct elffunc){ .fd = -1 };
	err = debugdata__unpack(&elf->elf, &ret->mem, &size);
	if (err)
		return err;
	image__of_mem(&img, ret->mem, size);
	return open_image(ret, &img);
}

void elffunc__close(struct elffunc *elf)
{
	if (elf->fd >= 0)
		close(elf->fd);
	if (elf->remote)
		parser()->ops->close(parser()->ctx);
	free(elf->mem);
	elf__close(&elf->elf);
	*elf = (struct elffunc){ .fd = -1 };
}

/* Offsets of the names in a string table, also as the tail of a longer string. */
struct places {
	struct {
		uint32_t offset, name;
	} at[PLACES_MAX];
	size_t cnt;
};

static void search_chunk(const char *chunk, size_t len, uint32_t base, const char *name,
			 uint32_t name_nr, struct places *places)
{
	size_t want = strlen(name) + 1;
	const char *at = chunk;

	while (places->cnt < PLACES_MAX &&
	       (at = memmem(at, len - (size_t)(at - chunk), name, want)) != NULL) {
		places->at[places->cnt].offset = base + (uint32_t)(at - chunk);
		places->at[places->cnt++].name = name_nr;
		at++;
	}
}

/* Chunks overlap by less than the shortest name, so no occurrence is found twice or missed. */
static int search_strings(const struct elf *elf, const struct elf_section *strings,
			  const char *const *names, size_t cnt, char *chunk, struct places *places)
{
	uint64_t left = strings->size, at = 0;

	if (left > STRINGS_MAX)
		return -ENOEXEC;
	while (left) {
		size_t n = left < CHUNK ? left : CHUNK;
		int err = image__read(&elf->img, strings->offset + at, chunk, n);

		if (err)
			return err;
		for (uint32_t i = 0; i < cnt; i++) {
			size_t skip = at ? NAME_MAX_SZ - 1 - strlen(names[i]) : 0;

			if (skip < n)
				search_chunk(chunk + skip, n - skip, (uint32_t)(at + skip),
					     names[i], i, places);
		}
		if (n == left)
			break;
		at += n - (NAME_MAX_SZ - 1);
		left -= n - (NAME_MAX_SZ - 1);
	}
	return 0;
}

struct matching {
	const struct places *places;
	struct elffunc_place *ret;
};

static int match(void *ctx, const Elf64_Sym *sym)
{
	const struct matching *matching = ctx;
	const struct places *places = matching->places;

	if (ELF64_ST_TYPE(sym->st_info) != STT_FUNC || sym->st_shndx == SHN_UNDEF || !sym->st_value)
		return 0;
	for (size_t i = 0; i < places->cnt; i++) {
		struct elffunc_place *func = &matching->ret[places->at[i].name];

		if (places->at[i].offset == sym->st_name && !func->value)
			*func = (struct elffunc_place){ sym->st_value, sym->st_size };
	}
	return 0;
}

/* Searches one symbol table with its strings. */
static int search_table(const struct elf *elf, const struct elf_section *table,
			const char *const *names, size_t cnt, char *chunk,
			struct elffunc_place *ret)
{
	const struct elf_section *strings = elf__strings_of(elf, table);
	struct places places = { .cnt = 0 };
	int err;

	if (!strings || table->entry_size != sizeof(Elf64_Sym))
		return -ENOEXEC;
	err = search_strings(elf, strings, names, cnt, chunk, &places);
	if (err || !places.cnt)
		return err;
	return elf__each_symbol(elf, table, SYMBOLS_MAX, match, &(struct matching){ &places, ret });
}

/* Searches .dynsym; when it has fewer than `enough` of the names, also .symtab. */
static int find(const struct elf *elf, const char *const *names, size_t cnt, size_t enough,
		struct elffunc_place *ret)
{
	static const uint32_t types[] = { SHT_DYNSYM, SHT_SYMTAB };
	size_t found = 0;
	char *chunk;
	int err = 0;

	if (cnt > ELFFUNC_NAMES_MAX)
		return -EINVAL;
	for (size_t i = 0; i < cnt; i++) {
		if (!*names[i] || strlen(names[i]) >= NAME_MAX_SZ - 1)
			return -EINVAL;
	}
	chunk = malloc(CHUNK);
	if (!chunk)
		return -ENOMEM;
	memset(ret, 0, cnt * sizeof(*ret));
	for (size_t t = 0; t < 2 && found < enough; t++) {
		const struct elf_section *table = elf__section_of_type(elf, types[t]);

		if (table)
			err = search_table(elf, table, names, cnt, chunk, ret);
		found = 0;
		for (size_t i = 0; i < cnt; i++)
			found += ret[i].value != 0;
	}
	free(chunk);
	return found ? (int)found : err;
}

int elffunc__find(const struct elffunc *elf, const char *const *names, size_t cnt,
		  struct elffunc_place *ret)
{
	if (elf->remote)
		return parser()->ops->find(parser()->ctx, false, names, cnt, ret);
	return find(&elf->elf, names, cnt, 1, ret);
}

/* Adds what .gnu_debugdata has of the names that were not found. Returns how many, or -ENOMEM. */
static int find_stripped(const struct elffunc *elf, const char *const *names, size_t cnt,
			 struct elffunc_place *ret)
{
	struct elffunc_place places[ELFFUNC_NAMES_MAX];
	struct elffunc more;
	int res = elffunc__open_debugdata(elf, &more), added = 0;

	if (res)
		return res == -ENOMEM ? res : 0;
	res = find(&more.elf, names, cnt, cnt, places);
	for (size_t i = 0; i < cnt && res > 0; i++) {
		if (ret[i].value || !places[i].value)
			continue;
		ret[i] = places[i];
		added++;
	}
	elffunc__close(&more);
	return res == -ENOMEM ? res : added;
}

int elffunc__find_each(const struct elffunc *elf, const char *const *names, size_t cnt,
		       struct elffunc_place *ret)
{
	int found, more;

	if (elf->remote)
		return parser()->ops->find(parser()->ctx, true, names, cnt, ret);
	found = find(&elf->elf, names, cnt, cnt, ret);
	if (found == -EINVAL || found == -ENOMEM || found == (int)cnt)
		return found;
	more = find_stripped(elf, names, cnt, ret);
	return more > 0 ? more + (found > 0 ? found : 0) : more ?: found;
}

bool elffunc__has_section(const struct elffunc *elf, const char *name)
{
	if (elf->remote)
		return parser()->ops->has_section(parser()->ctx, name);
	return elf__section(&elf->elf, name);
}

int elffunc__code(const struct elffunc *elf, uint64_t value, uint8_t *buf, size_t len,
		  uint64_t *ret_offset)
{
	for (size_t i = 0; i < elf->elf.load_cnt; i++) {
		const struct elf_segment *seg = &elf->elf.loads[i];
		uint64_t into = value - seg->vaddr;
		int err;

		if (!seg->exec || value < seg->vaddr || into >= seg->file_size)
			continue;
		if (len > seg->file_size - into)
			len = seg->file_size - into;
		*ret_offset = seg->offset + into;
		err = image__read(&elf->elf.img, *ret_offset, buf, len);
		return err ?: (int)len;
	}
	return -ENOENT;
}
