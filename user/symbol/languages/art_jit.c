/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of symbols that ART makes for JIT code, and the methods in them. See art.h. */
#include "symbol/languages/art.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/elf/debugfile.h"
#include "symbol/elf/elf.h"
#include "symbol/unwind/cfi.h"

/* Copies the unwind tables. A file without them is good for names. */
static void keep_frames(const struct elf *elf, struct art_symfile *ret)
{
	const struct elf_section *sec = elf__section(elf, ".debug_frame");

	ret->eh = !sec;
	if (!sec)
		sec = elf__section(elf, ".eh_frame");
	if (!sec || !sec->size || sec->size > ART_FRAMES_MAX || sec->flags & SHF_COMPRESSED)
		return;
	ret->frames = malloc(sec->size);
	ret->frames_sz = sec->size;
	if (ret->frames && image__read(&elf->img, sec->offset, ret->frames, sec->size)) {
		free(ret->frames);
		ret->frames = NULL;
	}
}

static int parse_plain(const struct elf *elf, bool is64, struct art_symfile *ret)
{
	int res = elf->is64 == is64 ? elfsym__read(elf, SHT_SYMTAB, &ret->tab) : -ENOEXEC;

	ret->machine = elf->machine;
	if (!res)
		keep_frames(elf, ret);
	return res;
}

/* ART compresses methods that it has put together. */
static int parse_packed(const struct elf *elf, bool is64, struct art_symfile *ret,
			size_t *ret_unpacked)
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
		res = parse_plain(&inner, is64, ret);
		elf__close(&inner);
	}
	free(bytes);
	return res;
}

int art_symfile__parse(const void *bytes, size_t size, bool is64, struct art_symfile *ret,
		       size_t *ret_unpacked)
{
	struct image img;
	struct elf elf;
	int res;

	*ret_unpacked = 0;
	*ret = (struct art_symfile){};
	symtab__init(&ret->tab);
	image__of_mem(&img, bytes, size);
	res = elf__open(&elf, &img);
	if (res)
		return res;
	res = elf__section(&elf, ".gnu_debugdata") ? parse_packed(&elf, is64, ret, ret_unpacked)
						   : parse_plain(&elf, is64, ret);
	elf__close(&elf);
	return res;
}

void art_symfile__free(struct art_symfile *file)
{
	symtab__free(&file->tab);
	free(file->frames);
	cfi__free(file->cfi);
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
	art->bytes += symtab__bytes(tab) + file->frames_sz;
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

	art->jit.full |= art->bytes > ART_BYTES_MAX;
	if (!file || art->jit.full)
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
	res = art_symfile__parse(bytes, entry->size, art->file->is64, file, &unpacked);
	file->ts_ns = entry->ts_ns;
	file->at = entry->at;
	file->key = entry->key;
	file->version = head->version;
	file->listed = art->jit.lock;
	free(bytes);
	unpacked /= ART_PAGE; /* costs about as much as a read */
	art->reads_left -= unpacked < art->reads_left ? unpacked : art->reads_left;
	if (!res)
		keep(art, file);
	else
		art_symfile__free(file);
	return true;
}

void art_jit__drop(struct art *art)
{
	size_t cnt = art->file_cnt;

	art->file_cnt = 0;
	for (size_t i = 0; i < cnt; i++) {
		struct art_symfile *file = &art->files[i];

		if (art_list__knows(&art->jit, file->key)) {
			art->files[art->file_cnt++] = *file;
			continue;
		}
		art->bytes -= symtab__bytes(&file->tab) + file->frames_sz;
		art->cfi_cnt -= file->cfi != NULL;
		art_symfile__free(file);
	}
}

static const struct symbol *symbol_in(const struct art_symfile *file, uint64_t pc)
{
	return pc >= file->begin && pc < file->end ? symtab__find(&file->tab, pc) : NULL;
}

static bool is_listed(struct art *art, struct art_symfile *file)
{
	struct art_entry now;

	if (file->listed == art->jit.lock)
		return true;
	if (!art->checks_left)
		return false;
	art->checks_left--;
	art->reads_left++;
	if (!art_entry__read(art, file->version, file->at, true, &now) || now.key != file->key)
		return false;
	file->listed = art->jit.lock;
	return true;
}

/* ART puts methods together: then another file of the list has the same one. */
static bool is_there(struct art *art, struct art_symfile *file, const struct symbol *sym)
{
	char name[ART_NAME_MAX], other[ART_NAME_MAX];

	if (is_listed(art, file))
		return true;
	if (!names__get(&file->tab.names, sym->name, name, sizeof(name)))
		return false;
	for (size_t i = art->file_cnt; i--;) {
		struct art_symfile *each = &art->files[i];
		const struct symbol *same = symbol_in(each, sym->addr);

		if (same && each->ts_ns > file->ts_ns && same->addr == sym->addr &&
		    names__get(&each->tab.names, same->name, other, sizeof(other)) &&
		    !strcmp(name, other) && is_listed(art, each))
			return true;
	}
	return false;
}

const struct symbol *art_jit__find(struct art *art, uint64_t pc, uint64_t t_ns,
				   struct art_symfile **ret_file)
{
	struct art_symfile *best = NULL;
	const struct symbol *ret = NULL;

	for (size_t i = 0; i < art->file_cnt; i++) {
		struct art_symfile *file = &art->files[i];
		const struct symbol *sym = symbol_in(file, pc);

		if (!sym || (t_ns && file->ts_ns > t_ns) || (best && best->ts_ns > file->ts_ns))
			continue;
		if (best && best->ts_ns == file->ts_ns && !best->ts_ns)
			return NULL; /* which one came later is not known */
		best = file;
		ret = sym;
	}
	*ret_file = best;
	return best && is_there(art, best, ret) ? ret : NULL;
}

/* --- unwind tables */

static void close_oldest(struct art *art)
{
	struct art_symfile *oldest = NULL;

	for (size_t i = 0; i < art->file_cnt; i++)
		if (art->files[i].cfi && (!oldest || art->files[i].cfi_used < oldest->cfi_used))
			oldest = &art->files[i];
	cfi__free(oldest->cfi);
	oldest->cfi = NULL;
	art->cfi_cnt--;
}

struct cfi *art_jit__cfi(struct art *art, struct art_symfile *file)
{
	struct cfi_table table = { .size = file->frames_sz,
				   .eh = file->eh,
				   .is64 = art->file->is64,
				   .machine = file->machine,
				   .begin = file->begin,
				   .end = file->end };

	file->cfi_used = ++art->cfi_tick;
	if (file->cfi || !file->frames)
		return file->cfi;
	if (art->cfi_cnt == ART_CFI_MAX)
		close_oldest(art);
	table.mem = malloc(table.size);
	if (!table.mem)
		return NULL;
	memcpy(table.mem, file->frames, table.size);
	file->cfi = cfi__of_table(&table);
	art->cfi_cnt += file->cfi != NULL;
	return file->cfi;
}
