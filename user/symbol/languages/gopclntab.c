/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table consists of a header, names, and an index sorted by address of (address, position of
 * the function's description), followed by the descriptions. Index and descriptions are read in
 * chunks, once, front to back, whatever the header says.
 */
#include "symbol/languages/gopclntab.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/dwarf/cursor.h"

#define MAGIC_18    0xfffffff0u
#define MAGIC_20    0xfffffff1u
#define HEAD_SZ	    8 /* bytes before the header's numbers, which have the size of a pointer */
#define NUMBER_CNT  8
#define SEARCH_MAX  (64u << 20)
#define SEARCH_STEP 8
#define CHUNK	    65536
#define RELAS_MAX   (4u << 20)
#define RELA_CHUNK  1024
#define FUNC_SZ	    8 /* bytes read of a description: its address and the position of its name */

enum number {
	N_FUNCS,
	N_FILES,
	N_TEXT,
	N_NAMES,
	N_UNITS,
	N_FILETAB,
	N_VALUES,
	N_INDEX,
};

/* Returns true when a table of a known format begins with these bytes. */
static bool is_head(const struct elf *elf, const uint8_t *head)
{
	uint32_t magic;

	memcpy(&magic, head, sizeof(magic));
	return (magic == MAGIC_18 || magic == MAGIC_20) && !head[4] && !head[5] &&
	       (head[6] == 1 || head[6] == 2 || head[6] == 4) && head[7] == (elf->is64 ? 8 : 4);
}

static bool is_at(const struct elf *elf, uint64_t off)
{
	uint8_t head[HEAD_SZ];

	return !image__read(&elf->img, off, head, sizeof(head)) && is_head(elf, head);
}

static const struct elf_section *section_of(const struct elf *elf)
{
	return elf__section(elf, ".gopclntab") ?: elf__section(elf, ".data.rel.ro.gopclntab");
}

/*
 * Searches the table among other data: a C linker puts it there in a position-independent program.
 */
static int search(const struct elf *elf, const struct elf_section *sec, uint64_t *ret)
{
	uint64_t max = sec->size < SEARCH_MAX ? sec->size : SEARCH_MAX;
	uint8_t *buf = malloc(CHUNK);
	int res = buf ? -ENOENT : -ENOMEM;

	for (uint64_t off = 0; res == -ENOENT && off + HEAD_SZ <= max; off += CHUNK) {
		size_t len = max - off < CHUNK ? max - off : CHUNK;

		if (image__read(&elf->img, sec->offset + off, buf, len))
			break;
		for (size_t at = 0; at + HEAD_SZ <= len; at += SEARCH_STEP) {
			if (!is_head(elf, buf + at))
				continue;
			*ret = sec->offset + off + at;
			res = 0;
			break;
		}
	}
	free(buf);
	return res;
}

static int find_table(const struct elf *elf, uint64_t *ret_off, uint64_t *ret_vaddr,
		      uint64_t *ret_size)
{
	const struct elf_section *sec = section_of(elf);
	int res;

	if (sec) {
		*ret_off = sec->offset;
		res = is_at(elf, sec->offset) ? 0 : -ENOENT;
	} else {
		sec = elf__section(elf, ".go.buildinfo") ? elf__section(elf, ".data.rel.ro") : NULL;
		res = sec ? search(elf, sec, ret_off) : -ENOENT;
	}
	if (res)
		return res;
	*ret_vaddr = sec->addr + (*ret_off - sec->offset);
	*ret_size = sec->size - (*ret_off - sec->offset);
	return 0;
}

/* Returns the value that the loader writes at an address. Linkers leave the place itself empty. */
static uint64_t relocated(const struct elf *elf, uint64_t vaddr)
{
	const struct elf_section *sec = elf->is64 ? elf__section(elf, ".rela.dyn") : NULL;
	uint64_t left = sec ? sec->size / sizeof(Elf64_Rela) : 0, off = sec ? sec->offset : 0;
	Elf64_Rela relas[RELA_CHUNK];

	if (left > RELAS_MAX)
		left = RELAS_MAX;
	while (left) {
		size_t cnt = left < RELA_CHUNK ? left : RELA_CHUNK;

		if (image__read(&elf->img, off, relas, cnt * sizeof(*relas)))
			break;
		for (size_t i = 0; i < cnt; i++)
			if (relas[i].r_offset == vaddr && !ELF64_R_SYM(relas[i].r_info))
				return relas[i].r_addend;
		off += cnt * sizeof(*relas);
		left -= cnt;
	}
	return 0;
}

/* Returns the end of the executable segment that contains the address; 0: there is none. */
static uint64_t code_end(const struct elf *elf, uint64_t addr)
{
	for (size_t i = 0; i < elf->load_cnt; i++)
		if (elf->loads[i].exec && addr >= elf->loads[i].vaddr &&
		    addr - elf->loads[i].vaddr < elf->loads[i].file_size)
			return elf->loads[i].vaddr + elf->loads[i].file_size;
	return 0;
}

static bool is_sound(const struct gopclntab *go)
{
	return go->func_cnt && go->func_cnt <= SYMTAB_MAX && go->names < go->units &&
	       go->units <= go->files && go->files <= go->values && go->values <= go->funcs &&
	       go->funcs <= go->size && go->func_cnt < (go->size - go->funcs) / 8 &&
	       go->units - go->names <= UINT32_MAX && go->code_end;
}

int gopclntab__open(struct gopclntab *go, const struct elf *elf)
{
	uint8_t raw[HEAD_SZ + 8 * NUMBER_CNT];
	uint64_t numbers[NUMBER_CNT], vaddr;
	size_t width = elf->is64 ? 8 : 4;
	struct cursor cur = { raw + HEAD_SZ, raw + HEAD_SZ + width * NUMBER_CNT, false };
	int res;

	memset(go, 0, sizeof(*go));
	res = find_table(elf, &go->off, &vaddr, &go->size);
	if (!res)
		res = image__read(&elf->img, go->off, raw, HEAD_SZ + width * NUMBER_CNT);
	if (res)
		return res;
	for (size_t i = 0; i < NUMBER_CNT; i++)
		numbers[i] = cursor__fixed(&cur, width);
	go->img = elf->img;
	go->min_lc = raw[6];
	go->has_start_line = raw[0] == (MAGIC_20 & 0xff);
	go->text = numbers[N_TEXT] ?: relocated(elf, vaddr + HEAD_SZ + N_TEXT * width);
	go->code_end = code_end(elf, go->text);
	go->func_cnt = numbers[N_FUNCS] <= SYMTAB_MAX ? numbers[N_FUNCS] : 0;
	go->names = numbers[N_NAMES];
	go->units = numbers[N_UNITS];
	go->files = numbers[N_FILETAB];
	go->values = numbers[N_VALUES];
	go->funcs = numbers[N_INDEX];
	return is_sound(go) ? 0 : -ENOENT;
}

struct entry {
	uint32_t addr, func;
};

/* A chunk of the descriptions, which are in the order of the functions. */
struct window {
	const struct gopclntab *go;
	uint8_t buf[CHUNK];
	uint64_t off;
	size_t len;
};

static int read_func(struct window *win, uint64_t off, uint32_t *ret_addr, uint32_t *ret_name)
{
	const struct gopclntab *go = win->go;
	uint64_t left = go->size - go->funcs;

	if (off + FUNC_SZ > left)
		return -ENODATA;
	if (off < win->off)
		return -ENODATA; /* otherwise a file could make us read it again and again */
	if (off + FUNC_SZ > win->off + win->len) {
		win->off = off;
		win->len = left - off < CHUNK ? left - off : CHUNK;
		if (image__read(&go->img, go->off + go->funcs + off, win->buf, win->len))
			return -ENODATA;
	}
	memcpy(ret_addr, win->buf + (off - win->off), sizeof(*ret_addr));
	memcpy(ret_name, win->buf + (off - win->off) + sizeof(*ret_addr), sizeof(*ret_name));
	return 0;
}

static int add(const struct gopclntab *go, struct window *win, struct symtab *tab,
	       const struct entry *entry, uint32_t end)
{
	uint32_t addr, name;
	int res = read_func(win, entry->func, &addr, &name);

	if (res)
		return res;
	if (addr != entry->addr || end < addr || end > go->code_end - go->text)
		return -ENODATA;
	if (name >= go->units - go->names)
		return 0;
	return symtab__add(tab, go->text + addr, end - addr, false, RANK_GLOBAL, name);
}

/* The index has one more address than functions: the end of the last function. */
static int read_index(const struct gopclntab *go, struct window *win, struct symtab *tab)
{
	enum { CNT = 1024 };
	struct entry entries[CNT + 1];
	uint64_t off = go->off + go->funcs;

	for (uint32_t done = 0; done < go->func_cnt;) {
		uint32_t cnt = go->func_cnt - done < CNT ? go->func_cnt - done : CNT;
		int res = image__read(&go->img, off, entries,
				      cnt * sizeof(*entries) + sizeof(entries[0].addr));

		for (uint32_t i = 0; !res && i < cnt; i++)
			res = add(go, win, tab, &entries[i], entries[i + 1].addr);
		if (res)
			return res;
		done += cnt;
		off += cnt * sizeof(*entries);
	}
	return 0;
}

int gopclntab__read(const struct gopclntab *go, struct symtab *tab)
{
	struct window *win = calloc(1, sizeof(*win));
	int res = win ? 0 : -ENOMEM;

	names__borrow(&tab->names, &go->img, go->off + go->names, go->units - go->names, 0);
	if (win) {
		win->go = go;
		res = read_index(go, win, tab);
	}
	free(win);
	if (!res) {
		symtab__finish(tab);
		res = tab->cnt ? names__keep(&tab->names) : -ENODATA;
	}
	if (res)
		symtab__free(tab);
	return res;
}
