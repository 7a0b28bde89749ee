/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of symbols that ART makes for JIT code, and the methods in them. See art.h. */
#include "symbol/languages/art.h"

#include <errno.h>
#include <stdlib.h>

#include "symbol/elf/debugfile.h"
#include "symbol/elf/elf.h"

/* ART compresses the symbols of methods that it has put together. */
static int parse_packed(const struct elf *elf, bool is64, struct symtab *tab, size_t *ret_unpacked)
{
	struct elf inner;
	struct image img;
	void *bytes;
	int res = debugdata__unpack(elf, &bytes, ret_unpacked);

	if (res)
		return res;
	image__of_mem(&img, bytes, *ret_unpacked);
	res = elf__open(&inner, &img);
	if (!res) {
		res = inner.is64 == is64 ? elfsym__read(&inner, SHT_SYMTAB, tab) : -ENOEXEC;
		elf__close(&inner);
	}
	free(bytes);
	return res;
}

int art_symfile__parse(const void *bytes, size_t size, bool is64, struct symtab *tab,
		       size_t *ret_unpacked)
{
	struct image img;
	struct elf elf;
	int res;

	*ret_unpacked = 0;
	symtab__init(tab);
	image__of_mem(&img, bytes, size);
	res = elf__open(&elf, &img);
	if (res)
		return res;
	if (elf.is64 != is64)
		res = -ENOEXEC;
	else if (elf__section(&elf, ".gnu_debugdata"))
		res = parse_packed(&elf, is64, tab, ret_unpacked);
	else
		res = elfsym__read(&elf, SHT_SYMTAB, tab);
	elf__close(&elf);
	return res;
}

static struct art_symfile *add_file(struct art *art)
{
	if (art->file_cnt == art->file_cap) {
		size_t cap = art->file_cap ? 2 * art->file_cap : 64;
		struct art_symfile *files = reallocarray(art->files, cap, sizeof(*files));

		if (!files)
			return NULL;
		art->files = files;
		art->file_cap = cap;
	}
	return &art->files[art->file_cnt];
}

static void keep(struct art *art, struct art_symfile *file)
{
	const struct symtab *tab = &file->tab;

	symtab__shrink(&file->tab);
	file->begin = tab->syms[0].addr;
	for (size_t i = 0; i < tab->cnt; i++)
		if (tab->syms[i].addr + tab->syms[i].size > file->end)
			file->end = tab->syms[i].addr + tab->syms[i].size;
	art->bytes += symtab__bytes(tab);
	art->file_cnt++;
}

/* A file that cannot be parsed is taken, too: it will not get better. */
bool art_jit__take(struct art *art, const struct art_head *head, const struct art_entry *entry)
{
	struct art_symfile *file = add_file(art);
	size_t unpacked;
	void *bytes;
	bool read;
	int res;

	if (!file || art->bytes > ART_BYTES_MAX)
		return false;
	if (entry->size > ART_SYMFILE_MAX || !entry->size)
		return true;
	bytes = malloc(entry->size);
	read = bytes && art__read_fresh(art, entry->symfile, bytes, entry->size) &&
	       art_entry__stands(art, &art->jit, head, entry);
	if (!read) {
		free(bytes);
		return false;
	}
	*file = (struct art_symfile){ .ts_ns = entry->ts_ns };
	res = art_symfile__parse(bytes, entry->size, art->file->is64, &file->tab, &unpacked);
	free(bytes);
	unpacked /= ART_PAGE; /* costs about as much as a read */
	art->reads_left -= unpacked < art->reads_left ? unpacked : art->reads_left;
	if (!res)
		keep(art, file);
	return true;
}

const struct symbol *art_jit__find(const struct art *art, uint64_t pc, uint64_t t_ns,
				   const struct art_symfile **ret_file)
{
	const struct art_symfile *best = NULL;
	const struct symbol *ret = NULL;

	for (size_t i = 0; i < art->file_cnt; i++) {
		const struct art_symfile *file = &art->files[i];
		const struct symbol *sym;

		if (pc < file->begin || pc >= file->end || (t_ns && file->ts_ns > t_ns))
			continue;
		sym = symtab__find(&file->tab, pc);
		if (!sym || (best && best->ts_ns > file->ts_ns))
			continue;
		if (best && best->ts_ns == file->ts_ns && !best->ts_ns)
			return NULL; /* which one came later is not known */
		best = file;
		ret = sym;
	}
	*ret_file = best;
	return ret;
}
