/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chooses the symbol tables of a module. .symtab, of the file or of a separate debug file, has
 * everything. Without it, .dynsym has the exported symbols and .gnu_debugdata the rest, or Go's own
 * table.
 */
#include "symbol/modules/module.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/elf/symtab.h"
#include "symbol/languages/gopclntab.h"

static struct symtab *next_tab(struct module *module, const char *suffix)
{
	struct module_tab *tab = &module->tabs[module->tab_cnt];

	symtab__init(&tab->syms);
	tab->suffix = suffix;
	return &tab->syms;
}

static bool add_table(struct module *module, const struct elf *elf, uint32_t type)
{
	if (elfsym__read(elf, type, next_tab(module, "")))
		return false;
	module->tab_cnt++;
	return true;
}

static void add_dwarf(struct module *module, const struct elf *elf,
		      const struct debugfile_places *places)
{
	if (module->dwarf || !places)
		return;
	module->dwarf = dwarf__new(elf, places->debug_dir);
	cache__clear(&module->sources); /* what is known had no DWARF */
}

/* Adds the DWARF of the debug file and, if `table`, its symbol table. */
static bool add_debug_file(struct module *module, const struct elf *elf,
			   const struct debugfile_places *places, bool table)
{
	int fd = places ? debugfile__open(elf, places) : -1;
	struct image img;
	struct elf debug;
	bool ret = false;

	if (fd < 0)
		return false;
	if (!image__of_fd(&img, fd) && !elf__open(&debug, &img)) {
		ret = table && add_table(module, &debug, SHT_SYMTAB);
		add_dwarf(module, &debug, places);
		elf__close(&debug);
	}
	close(fd);
	return ret;
}

static void add_debugdata(struct module *module, const struct elf *elf)
{
	struct image img;
	struct elf mini;
	size_t size;
	void *mem;

	if (debugdata__unpack(elf, &mem, &size))
		return;
	image__of_mem(&img, mem, size);
	if (!elf__open(&mini, &img)) {
		add_table(module, &mini, SHT_SYMTAB);
		elf__close(&mini);
	}
	free(mem);
}

static void add_go(struct module *module, const struct elf *elf)
{
	struct gopclntab go;

	if (gopclntab__open(&go, elf) || gopclntab__read(&go, next_tab(module, "")))
		return;
	module->tab_cnt++;
	if (!module->dwarf)
		module->go = gopclntab__keep(&go);
}

static void add_plt(struct module *module, const struct elf *elf)
{
	if (!plt__read(elf, next_tab(module, "@plt")))
		module->tab_cnt++;
}

/* A reduced .symtab (strip --strip-unneeded -K) has fewer symbols than .dynsym. */
static bool is_thin(const struct elf *elf)
{
	const struct elf_section *all = elf__section_of_type(elf, SHT_SYMTAB);
	const struct elf_section *exported = elf__section_of_type(elf, SHT_DYNSYM);

	return all && exported && all->size < exported->size;
}

static void add_tables(struct module *module, const struct elf *elf,
		       const struct debugfile_places *places)
{
	bool thin = is_thin(elf), whole;

	whole = !thin && add_table(module, elf, SHT_SYMTAB);
	add_dwarf(module, elf, places);
	if (!whole || !module->dwarf)
		whole |= add_debug_file(module, elf, places, !whole);
	if (!whole) {
		if (thin)
			add_table(module, elf, SHT_SYMTAB);
		add_table(module, elf, SHT_DYNSYM);
		if (module->tab_cnt < MODULE_TABS_MAX - 1)
			add_debugdata(module, elf);
		if (module->tab_cnt < MODULE_TABS_MAX - 1)
			add_go(module, elf);
	}
	add_plt(module, elf);
}

void module__build(struct module *module, const struct image *img,
		   const struct debugfile_places *places)
{
	struct elf elf;

	if (elf__open(&elf, img))
		return;
	module->loads = malloc((elf.load_cnt ? elf.load_cnt : 1) * sizeof(*module->loads));
	if (module->loads) {
		module->load_cnt = elf.load_cnt;
		module->is_static = !elf.has_interp;
		memcpy(module->loads, elf.loads, elf.load_cnt * sizeof(*module->loads));
		memcpy(module->build_id, elf.build_id, sizeof(module->build_id));
		add_tables(module, &elf, places);
	}
	elf__close(&elf);
}

void module__add_debug(struct module *module, const struct image *img,
		       const struct debugfile_places *places)
{
	struct elf elf;

	if (elf__open(&elf, img))
		return;
	if (!strcmp(elf.build_id, module->build_id)) {
		if (module->tab_cnt < MODULE_TABS_MAX)
			add_table(module, &elf, SHT_SYMTAB);
		add_dwarf(module, &elf, places);
	}
	elf__close(&elf);
}
