/* SPDX-License-Identifier: GPL-2.0 */
/* One pass through .symtab, then .dynsym, in pieces: the names of fitting addresses only are read. */
#include "symbol/elf/elfobject.h"

#include <elf.h>
#include <string.h>

#include "symbol/elf/names.h"

#define ENTRIES_MAX   (1u << 20)
#define CHUNK_ENTRIES 512

struct search {
	const struct elf *elf;
	const char *prefix;
	uint64_t vaddr;
	struct names names; /* borrowed */
	char *buf;
	size_t cap;
};

static bool is_it(struct search *search, uint64_t value, uint64_t size, unsigned char info,
		  uint32_t name)
{
	size_t len;

	if (ELF64_ST_TYPE(info) != STT_OBJECT || search->vaddr < value ||
	    search->vaddr - value >= size)
		return false;
	len = names__get(&search->names, name, search->buf, search->cap);
	return len && len < search->cap - 1 &&
	       !strncmp(search->buf, search->prefix, strlen(search->prefix));
}

static bool is_in_chunk(struct search *search, uint64_t off, size_t cnt)
{
	union {
		Elf64_Sym s64[CHUNK_ENTRIES];
		Elf32_Sym s32[CHUNK_ENTRIES];
	} buf;
	bool is64 = search->elf->is64, ret = false;

	if (image__read(&search->elf->img, off, &buf,
			cnt * (is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym))))
		return false;
	for (size_t i = 0; i < cnt && !ret; i++)
		ret = is64 ? is_it(search, buf.s64[i].st_value, buf.s64[i].st_size,
				   buf.s64[i].st_info, buf.s64[i].st_name)
			   : is_it(search, buf.s32[i].st_value, buf.s32[i].st_size,
				   buf.s32[i].st_info, buf.s32[i].st_name);
	return ret;
}

static bool is_in_table(struct search *search, uint32_t type)
{
	size_t entry = search->elf->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym), left;
	const struct elf_section *sec = elf__section_of_type(search->elf, type), *strings;
	uint64_t off;

	if (!sec || sec->link >= search->elf->section_cnt)
		return false;
	strings = &search->elf->sections[sec->link];
	if (strings->type != SHT_STRTAB ||
	    !image__holds(&search->elf->img, strings->offset, strings->size))
		return false;
	names__borrow(&search->names, &search->elf->img, strings->offset, strings->size, 0);
	left = sec->size / entry < ENTRIES_MAX ? sec->size / entry : ENTRIES_MAX;
	for (off = sec->offset; left;) {
		size_t cnt = left < CHUNK_ENTRIES ? left : CHUNK_ENTRIES;

		if (is_in_chunk(search, off, cnt))
			return true;
		off += cnt * entry;
		left -= cnt;
	}
	return false;
}

bool elfobject__find(const struct elf *elf, const char *prefix, uint64_t vaddr, char *buf,
		     size_t cap)
{
	struct search search = { elf, prefix, vaddr, .buf = buf, .cap = cap };
	bool ret;

	names__init(&search.names);
	ret = is_in_table(&search, SHT_SYMTAB) || is_in_table(&search, SHT_DYNSYM);
	names__free(&search.names);
	return ret;
}
