/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Damaged Go function tables: whatever they say, a function is inside the code, and memory is
 * bounded.
 */
#include <elf.h>

#include "symbol/languages/gopclntab.h"
#include "tests/fuzz/sections.h"

#define BYTES_MAX (4u << 20)

static struct {
	uint64_t functions, named, lines, depths;
	const char *broken;
} run;

static void damage_table(struct fuzz *f, unsigned char *bytes, size_t *len)
{
	static const char *const prefixes[] = { ".gopclntab", ".data.rel.ro", ".rela", NULL };

	sections__damage(f, bytes, len, prefixes);
}

static void look(const struct gopclntab *go, const struct symtab *tab)
{
	char name[NAME_MAX_LEN], file[256];
	uint32_t line, depth;
	bool is_top;

	for (size_t i = 0; i < tab->cnt; i++) {
		const struct symbol *sym = &tab->syms[i];

		run.functions++;
		run.named += names__get(&tab->names, sym->name, name, sizeof(name)) > 0;
		for (uint64_t at = 0; at < 0x60; at += 0x12) {
			run.lines += gopclntab__line(go, sym->addr + at, file, sizeof(file), &line);
			run.depths += gopclntab__depth(go, sym->addr + at, &depth, &is_top);
		}
		if (sym->addr < go->text || sym->addr + sym->size > go->code_end)
			run.broken = "a function outside the code";
	}
	if (symtab__bytes(tab) > BYTES_MAX)
		run.broken = "unbounded memory";
}

static void use(const struct corpus *c)
{
	struct gopclntab go;
	struct symtab tab;
	struct image img;
	struct elf elf;

	image__of_mem(&img, c->bytes, c->len);
	if (elf__open(&elf, &img))
		return;
	symtab__init(&tab);
	if (!gopclntab__open(&go, &elf) && !gopclntab__read(&go, &tab))
		look(&go, &tab);
	symtab__free(&tab);
	elf__close(&elf);
}

int main(void)
{
	struct corpus *c = corpus__load("gopclntab", 10);

	c->damage = damage_table;
	while (corpus__next(c) && !run.broken)
		use(c);
	fuzz__ok(&c->fuzz, run.broken);
	ok(run.named && run.lines && run.depths,
	   "%llu of %llu functions have a name; %llu lines, %llu depths",
	   (unsigned long long)run.named, (unsigned long long)run.functions,
	   (unsigned long long)run.lines, (unsigned long long)run.depths);
	corpus__end(c);
	return tap__done();
}
