/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ELF symbols → functions with address ranges, and the stubs of the procedure linkage table. Skips
 * implausible entries.
 */
#include "base/must.h"
#include "symbol/elf/symtab.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/elf/elf.h"

#define ENTRIES_MAX (4u << 20)
#define ADDR_MAX    (1ull << 56) /* so that sums cannot overflow */

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

static int add_symbol(void *ctx, const Elf64_Sym *sym)
{
	struct reader *rd = ctx;
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

int elfsym__read(const struct elf *elf, uint32_t section_type, struct symtab *tab)
{
	const struct elf_section *sec = elf__section_of_type(elf, section_type);
	const struct elf_section *strings = elf__strings_of(elf, sec);
	struct reader rd = { .elf = elf, .tab = tab };
	int ret;

	if (!strings || strings->size > UINT32_MAX)
		return -ENOENT;
	names__borrow(&tab->names, &elf->img, strings->offset, strings->size, 0);
	ret = elf__each_symbol(elf, sec, ENTRIES_MAX, add_symbol, &rd);
	if (!ret || ret == -E2BIG) {
		symtab__finish(tab);
		ret = tab->cnt ? names__keep(&tab->names) : -ENOENT;
	}
	if (ret)
		symtab__free(tab);
	return ret;
}

/* --- stubs: the jump of each is decoded, and its slot looked up in the relocations */

#define SECTION_MAX (1u << 20)
#define RELOCS_MAX  (4u << 20) /* of a file: it may have thousands of sections, which may overlap */
#define SLOTS_MAX   65536
#define CHUNK	    1024
#define STUB_SZ	    16
#define WHOLE_MAX   (4u << 20) /* bytes of a section that is read at once */

/* A word of memory in which the dynamic linker stores the address of a function. */
struct slot {
	uint64_t addr;
	uint32_t symbol;
};

struct slots {
	struct slot *slots;
	size_t cnt, cap;
	size_t left; /* relocations that may still be read */
};

static bool fills_slot(const struct elf *elf, uint32_t type)
{
	if (elf->machine == EM_X86_64)
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
	return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
}

static int add_slot(struct slots *slots, uint64_t addr, uint32_t symbol)
{
	if (slots->cnt == SLOTS_MAX)
		return -E2BIG;
	slots->slots = must__grow(slots->slots, slots->cnt, &slots->cap, sizeof(*slots->slots));
	slots->slots[slots->cnt++] = (struct slot){ addr, symbol };
	return 0;
}

static void read_relocs(const struct elf *elf, const struct elf_section *sec, struct slots *slots)
{
	size_t left = sec->size / sizeof(Elf64_Rela), i;
	uint64_t off = sec->offset;
	Elf64_Rela relocs[CHUNK];

	if (left > slots->left)
		left = slots->left;
	slots->left -= left;
	while (left) {
		size_t cnt = left < CHUNK ? left : CHUNK;

		if (image__read(&elf->img, off, relocs, cnt * sizeof(*relocs)))
			return;
		for (i = 0; i < cnt; i++)
			if (fills_slot(elf, ELF64_R_TYPE(relocs[i].r_info)) &&
			    add_slot(slots, relocs[i].r_offset, ELF64_R_SYM(relocs[i].r_info)))
				return;
		off += cnt * sizeof(*relocs);
		left -= cnt;
	}
}

static int by_addr(const void *a, const void *b)
{
	const struct slot *sa = a, *sb = b;

	return (sa->addr > sb->addr) - (sa->addr < sb->addr);
}

/* jmp *disp(%rip), after an optional endbr64 and bnd prefix. */
static bool x86_slot(const unsigned char *code, size_t left, uint64_t addr, uint64_t *ret)
{
	static const unsigned char endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = 0;
	int32_t disp;

	if (left > 4 && !memcmp(code, endbr, 4))
		at = 4;
	if (left > at && code[at] == 0xf2)
		at++;
	if (left < at + 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return false;
	memcpy(&disp, code + at + 2, sizeof(disp));
	*ret = addr + at + 6 + (int64_t)disp;
	return true;
}

/* adrp x16, page; ldr x17, [x16, #offset], after an optional bti. */
static bool arm64_slot(const unsigned char *code, size_t left, uint64_t addr, uint64_t *ret)
{
	const uint32_t bti = 0xd503245f;
	uint32_t op[3];
	int64_t page;
	unsigned at;

	if (left < sizeof(op))
		return false;
	memcpy(op, code, sizeof(op));
	at = op[0] == bti;
	if ((op[at] & 0x9f00001f) != 0x90000010 || (op[at + 1] & 0xffc003ff) != 0xf9400211)
		return false;
	page = (int64_t)(op[at] >> 5 & 0x7ffff) << 2 | (op[at] >> 29 & 3);
	page = (page ^ 0x100000) - 0x100000; /* 21 bits, signed */
	*ret = ((addr + 4 * at) & ~0xfffull) + page * 4096 + (op[at + 1] >> 10 & 0xfff) * 8;
	return true;
}

/*
 * A section in which stubs are looked up. It is kept in memory when small enough, because two reads
 * a stub take most of the time for a library. Otherwise it is read from the file.
 */
struct part {
	struct image img;
	uint64_t off, size;
	void *mem;
};

static void open_part(const struct elf *elf, const struct elf_section *sec, struct part *ret)
{
	*ret = (struct part){ elf->img, sec->offset, sec->size, NULL };
	if (!sec->size || sec->size > WHOLE_MAX)
		return;
	ret->mem = malloc(sec->size);
	if (ret->mem && !image__read(&elf->img, sec->offset, ret->mem, sec->size)) {
		image__of_mem(&ret->img, ret->mem, sec->size);
		ret->off = 0;
	}
}

struct symbols {
	struct part table, strings;
	struct names names; /* of strings */
};

static void add_stub(struct symtab *tab, const struct symbols *symbols, uint32_t symbol,
		     uint64_t addr)
{
	const struct part *table = &symbols->table;
	char name[NAME_MAX_LEN];
	Elf64_Sym sym;
	int64_t off;
	size_t len;

	if (symbol >= table->size / sizeof(sym) ||
	    image__read(&table->img, table->off + symbol * sizeof(sym), &sym, sizeof(sym)))
		return;
	len = names__get(&symbols->names, sym.st_name, name, sizeof(name));
	off = len ? names__add(&tab->names, name, len) : -ENOENT;
	if (off >= 0)
		symtab__add(tab, addr, STUB_SZ, true, RANK_LOCAL, off);
}

static void read_stubs(const struct elf *elf, const struct elf_section *sec,
		       const struct slots *slots, const struct symbols *symbols, struct symtab *tab)
{
	bool x86 = elf->machine == EM_X86_64;
	size_t step = x86 ? 8 : 4, at;
	unsigned char *code;

	if (sec->size > SECTION_MAX || sec->addr >> 56 || !(code = malloc(sec->size + 1)))
		return;
	if (image__read(&elf->img, sec->offset, code, sec->size)) {
		free(code);
		return;
	}
	for (at = 0; at < sec->size; at += step) {
		struct slot key = { 0 }, *slot;

		if (!(x86 ? x86_slot : arm64_slot)(code + at, sec->size - at, sec->addr + at,
						   &key.addr))
			continue;
		slot = bsearch(&key, slots->slots, slots->cnt, sizeof(key), by_addr);
		if (slot)
			add_stub(tab, symbols, slot->symbol, sec->addr + at);
	}
	free(code);
}

static void read_all_stubs(const struct elf *elf, const struct slots *slots,
			   const struct elf_section *dynsym, struct symtab *tab)
{
	static const char *const sections[] = { ".plt", ".plt.sec", ".plt.got" };
	const struct elf_section *strings = elf__strings_of(elf, dynsym), *sec;
	struct symbols symbols;
	size_t i;

	if (!strings)
		return;
	open_part(elf, dynsym, &symbols.table);
	open_part(elf, strings, &symbols.strings);
	names__init(&symbols.names);
	names__borrow(&symbols.names, &symbols.strings.img, symbols.strings.off,
		      symbols.strings.size, 0);
	for (i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		sec = elf__section(elf, sections[i]);
		if (sec)
			read_stubs(elf, sec, slots, &symbols, tab);
	}
	free(symbols.table.mem);
	free(symbols.strings.mem);
}

int plt__read(const struct elf *elf, struct symtab *tab)
{
	const struct elf_section *dynsym = elf__section_of_type(elf, SHT_DYNSYM);
	struct slots slots = { .left = RELOCS_MAX };
	size_t i;

	if (!elf->is64 || (elf->machine != EM_X86_64 && elf->machine != EM_AARCH64) || !dynsym ||
	    dynsym->link >= elf->section_cnt)
		return -ENOENT;
	for (i = 0; i < elf->section_cnt; i++)
		if (elf->sections[i].type == SHT_RELA &&
		    &elf->sections[elf->sections[i].link % elf->section_cnt] == dynsym)
			read_relocs(elf, &elf->sections[i], &slots);
	if (slots.cnt) {
		qsort(slots.slots, slots.cnt, sizeof(*slots.slots), by_addr);
		read_all_stubs(elf, &slots, dynsym, tab);
	}
	free(slots.slots);
	symtab__finish(tab);
	names__shrink(&tab->names);
	if (tab->cnt)
		return 0;
	symtab__free(tab);
	return -ENOENT;
}

/* --- symbols with their names */

#define NAMED_MAX   (1u << 20)
#define STRINGS_MAX (16u << 20)

struct named {
	const char *strings; /* the table's names, NUL at the end */
	size_t size;
	elf_named_fn fn;
	void *ctx;
};

static int call_named(void *ctx, const Elf64_Sym *sym)
{
	struct named *named = ctx;

	if (sym->st_name >= named->size)
		return 0;
	return named->fn(named->ctx, sym, named->strings + sym->st_name);
}

int elf__each_named(const struct elf *elf, uint32_t table_type, elf_named_fn fn, void *ctx)
{
	const struct elf_section *sec = elf__section_of_type(elf, table_type);
	const struct elf_section *strings = elf__strings_of(elf, sec);
	struct named named = { .fn = fn, .ctx = ctx };
	char *names;
	int res;

	if (!strings || strings->size > STRINGS_MAX)
		return 0;
	names = calloc(1, strings->size + 1);
	if (!names)
		return -ENOMEM;
	res = image__read(&elf->img, strings->offset, names, strings->size);
	named.strings = names;
	named.size = strings->size;
	if (!res)
		res = elf__each_symbol(elf, sec, NAMED_MAX, call_named, &named);
	free(names);
	return res;
}
