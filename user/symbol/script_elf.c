/* SPDX-License-Identifier: GPL-2.0 */
/* One pass through .dynsym, which keeps them where the file is stripped; else through .symtab. */
#include "symbol/script_elf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "symbol/names.h"

#define ENTRIES_MAX   (1u << 20)
#define CHUNK_ENTRIES 256
#define NAME_SZ	      16 /* longer ones are none of ours */

struct search {
	const struct elf *elf;
	struct names names; /* borrowed */
	uint64_t runtime, code_type, version;
};

static void take(struct search *search, const Elf64_Sym *sym)
{
	char name[NAME_SZ];

	if (ELF64_ST_TYPE(sym->st_info) != STT_OBJECT || !sym->st_value ||
	    !names__get(&search->names, sym->st_name, name, sizeof(name)))
		return;
	if (!strcmp(name, "_PyRuntime"))
		search->runtime = sym->st_value;
	else if (!strcmp(name, "PyCode_Type"))
		search->code_type = sym->st_value;
	else if (!strcmp(name, "Py_Version"))
		search->version = sym->st_value;
}

static bool has_all(const struct search *search)
{
	return search->runtime && search->code_type && search->version;
}

static void search_table(struct search *search, uint32_t type)
{
	const struct elf_section *sec = elf__section_of_type(search->elf, type), *strings;
	Elf64_Sym syms[CHUNK_ENTRIES];
	uint64_t left, off;

	if (!sec || sec->link >= search->elf->section_cnt)
		return;
	strings = &search->elf->sections[sec->link];
	if (strings->type != SHT_STRTAB ||
	    !image__holds(&search->elf->img, strings->offset, strings->size))
		return;
	names__borrow(&search->names, &search->elf->img, strings->offset, strings->size, 0);
	left = sec->size / sizeof(*syms) < ENTRIES_MAX ? sec->size / sizeof(*syms) : ENTRIES_MAX;
	for (off = sec->offset; left && !has_all(search);) {
		size_t cnt = left < CHUNK_ENTRIES ? left : CHUNK_ENTRIES;

		if (image__read(&search->elf->img, off, syms, cnt * sizeof(*syms)))
			return;
		for (size_t i = 0; i < cnt; i++)
			take(search, &syms[i]);
		off += cnt * sizeof(*syms);
		left -= cnt;
	}
}

/* A constant's bytes, as they lie in the file. */
static int read_constant(const struct elf *elf, uint64_t vaddr, void *buf, size_t len)
{
	for (size_t i = 0; i < elf->load_cnt; i++) {
		const struct elf_segment *seg = &elf->loads[i];

		if (vaddr >= seg->vaddr && vaddr - seg->vaddr < seg->file_size)
			return image__read(&elf->img, seg->offset + (vaddr - seg->vaddr), buf, len);
	}
	return -ENOENT;
}

int script_elf__find(const struct elf *elf, struct script_elf *ret)
{
	struct search search = { .elf = elf };
	uint64_t version;
	int res;

	if (!elf->is64)
		return -ENOENT;
	names__init(&search.names);
	search_table(&search, SHT_DYNSYM);
	if (!has_all(&search))
		search_table(&search, SHT_SYMTAB);
	names__free(&search.names);
	if (!has_all(&search))
		return -ENOENT;
	res = read_constant(elf, search.version, &version, sizeof(version));
	if (res)
		return res;
	*ret = (struct script_elf){ search.runtime, search.code_type, version };
	return 0;
}
