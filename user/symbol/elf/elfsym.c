/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ELF symbols → functions with address ranges. Reads the table in pieces, so that its claimed size
 * costs no memory. Skips implausible entries.
 */
#include "symbol/elf/elfsym.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/elf/symtab.h"

#define ENTRIES_MAX   (4u << 20)
#define CHUNK_ENTRIES 4096
#define ADDR_MAX      (1ull << 56) /* so that sums cannot overflow */

#define MEMO_CNT 8

struct reader {
	const struct elf *elf;
	struct symtab *tab;
	/* last answers of is_mark: arm has many marks with few names */
	struct {
		uint32_t name;
		bool mark;
	} memo[MEMO_CNT];
};

static Elf64_Sym widen(const Elf32_Sym *sym)
{
	return (Elf64_Sym){ .st_name = sym->st_name,
			    .st_info = sym->st_info,
			    .st_shndx = sym->st_shndx,
			    .st_value = sym->st_value,
			    .st_size = sym->st_size };
}

/* ELF32_ST_* are identical. */
static unsigned rank_of(const Elf64_Sym *sym)
{
	unsigned bind = ELF64_ST_BIND(sym->st_info);
	unsigned rank = bind == STB_LOCAL ? RANK_LOCAL : bind == STB_WEAK ? RANK_WEAK : RANK_GLOBAL;

	return ELF64_ST_TYPE(sym->st_info) == STT_NOTYPE ? rank + RANK_UNTYPED : rank;
}

/*
 * Labels that are not functions: arm's mapping symbols ($x, $d, $t, $a) and those of the compiler.
 */
static bool is_mark(struct reader *rd, const Elf64_Sym *sym)
{
	unsigned slot = sym->st_name % MEMO_CNT;
	char name[4];

	if (rd->memo[slot].name != sym->st_name) {
		names__get(&rd->tab->names, sym->st_name, name, sizeof(name));
		rd->memo[slot].name = sym->st_name;
		rd->memo[slot].mark = !name[0] || name[0] == '$' || !strncmp(name, ".L", 2);
	}
	return rd->memo[slot].mark;
}

static const struct elf_section *code_section(const struct reader *rd, const Elf64_Sym *sym)
{
	const struct elf_section *sec;

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= rd->elf->section_cnt)
		return NULL;
	sec = &rd->elf->sections[sym->st_shndx];
	if (!(sec->flags & SHF_EXECINSTR) || sec->addr > ADDR_MAX || sec->size > ADDR_MAX)
		return NULL;
	return sec;
}

static int add_symbol(struct reader *rd, const Elf64_Sym *sym)
{
	unsigned type = ELF64_ST_TYPE(sym->st_info);
	const struct elf_section *sec;
	uint64_t addr = sym->st_value, room;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return 0;
	sec = code_section(rd, sym);
	if (!sec || !sym->st_name || (type == STT_NOTYPE && is_mark(rd, sym)))
		return 0;
	if (rd->elf->machine == EM_ARM)
		addr &= ~1ull; /* this bit marks Thumb code */
	if (addr < sec->addr || addr - sec->addr >= sec->size)
		return 0;
	room = sec->size - (addr - sec->addr);
	if (sym->st_size && sym->st_size < room)
		room = sym->st_size;
	return symtab__add(rd->tab, addr, room, !sym->st_size, rank_of(sym), sym->st_name);
}

static int read_chunk(struct reader *rd, uint64_t off, size_t cnt, void *buf)
{
	bool is64 = rd->elf->is64;
	const Elf32_Sym *s32 = buf;
	const Elf64_Sym *s64 = buf;
	size_t i;
	int ret = image__read(&rd->elf->img, off, buf, cnt * (is64 ? sizeof(*s64) : sizeof(*s32)));

	for (i = 0; !ret && i < cnt; i++) {
		Elf64_Sym sym = is64 ? s64[i] : widen(&s32[i]);

		ret = add_symbol(rd, &sym);
	}
	return ret;
}

static int read_all(struct reader *rd, const struct elf_section *sec)
{
	size_t size = rd->elf->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	size_t left = sec->size / size < ENTRIES_MAX ? sec->size / size : ENTRIES_MAX;
	uint64_t off = sec->offset;
	void *buf = malloc(CHUNK_ENTRIES * sizeof(Elf64_Sym));
	int ret = buf ? 0 : -ENOMEM;

	while (!ret && left) {
		size_t cnt = left < CHUNK_ENTRIES ? left : CHUNK_ENTRIES;

		ret = read_chunk(rd, off, cnt, buf);
		off += cnt * size;
		left -= cnt;
	}
	free(buf);
	return ret == -E2BIG ? 0 : ret;
}

int elfsym__read(const struct elf *elf, uint32_t section_type, struct symtab *tab)
{
	const struct elf_section *sec = elf__section_of_type(elf, section_type), *strings;
	struct reader rd = { .elf = elf, .tab = tab };
	int ret;

	if (!sec || sec->link >= elf->section_cnt)
		return -ENOENT;
	strings = &elf->sections[sec->link];
	if (strings->type != SHT_STRTAB || strings->size > UINT32_MAX ||
	    !image__holds(&elf->img, strings->offset, strings->size))
		return -ENOENT;
	names__borrow(&tab->names, &elf->img, strings->offset, strings->size, 0);
	ret = read_all(&rd, sec);
	if (!ret) {
		symtab__finish(tab);
		ret = tab->cnt ? names__keep(&tab->names) : -ENOENT;
	}
	if (ret)
		symtab__free(tab);
	return ret;
}

/*
 * --- one object by address: one pass over .symtab, then .dynsym, in pieces; only names of symbols
 * with a matching address are read
 */

#define ELFOBJECT_ENTRIES_MAX	(1u << 20)
#define ELFOBJECT_CHUNK_ENTRIES 512

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
		Elf64_Sym s64[ELFOBJECT_CHUNK_ENTRIES];
		Elf32_Sym s32[ELFOBJECT_CHUNK_ENTRIES];
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
	left = sec->size / entry < ELFOBJECT_ENTRIES_MAX ? sec->size / entry
							 : ELFOBJECT_ENTRIES_MAX;
	for (off = sec->offset; left;) {
		size_t cnt = left < ELFOBJECT_CHUNK_ENTRIES ? left : ELFOBJECT_CHUNK_ENTRIES;

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
