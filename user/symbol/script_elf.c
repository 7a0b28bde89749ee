/* SPDX-License-Identifier: GPL-2.0 */
/* One pass through .dynsym, which keeps them where the file is stripped; else through .symtab. */
#include "symbol/script_elf.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX   (1u << 20)
#define CHUNK_ENTRIES 256
#define STRINGS_MAX   (16u << 20)

struct search {
	const struct elf *elf;
	const char *strings; /* the table's names, NUL at the end */
	size_t strings_sz;
	uint64_t runtime, code_type, version;
};

static void take(struct search *search, const Elf64_Sym *sym)
{
	const char *name = search->strings + sym->st_name;

	if (ELF64_ST_TYPE(sym->st_info) != STT_OBJECT || !sym->st_value ||
	    sym->st_name >= search->strings_sz)
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

static void search_symbols(struct search *search, const struct elf_section *sec)
{
	uint64_t left = sec->size / sizeof(Elf64_Sym), off = sec->offset;
	Elf64_Sym syms[CHUNK_ENTRIES];

	if (left > ENTRIES_MAX)
		left = ENTRIES_MAX;
	while (left && !has_all(search)) {
		size_t cnt = left < CHUNK_ENTRIES ? left : CHUNK_ENTRIES;

		if (image__read(&search->elf->img, off, syms, cnt * sizeof(*syms)))
			return;
		for (size_t i = 0; i < cnt; i++)
			take(search, &syms[i]);
		off += cnt * sizeof(*syms);
		left -= cnt;
	}
}

static int search_table(struct search *search, uint32_t type)
{
	const struct elf_section *sec = elf__section_of_type(search->elf, type), *strings;
	char *names;
	int res;

	if (!sec || sec->link >= search->elf->section_cnt)
		return 0;
	strings = &search->elf->sections[sec->link];
	if (strings->type != SHT_STRTAB || strings->size > STRINGS_MAX ||
	    !image__holds(&search->elf->img, strings->offset, strings->size))
		return 0;
	names = calloc(1, strings->size + 1);
	if (!names)
		return -ENOMEM;
	res = image__read(&search->elf->img, strings->offset, names, strings->size);
	search->strings = names;
	search->strings_sz = strings->size;
	if (!res)
		search_symbols(search, sec);
	free(names);
	return res;
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
	res = search_table(&search, SHT_DYNSYM);
	if (!res && !has_all(&search))
		res = search_table(&search, SHT_SYMTAB);
	if (res || !has_all(&search))
		return res ?: -ENOENT;
	res = read_constant(elf, search.version, &version, sizeof(version));
	if (res)
		return res;
	*ret = (struct script_elf){ search.runtime, search.code_type, version };
	return 0;
}
