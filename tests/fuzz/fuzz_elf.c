/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Damaged ELF files, as read for names (segments, sections, build id, symbols, PLT, links to debug
 * files) and for a probe's place. Whatever they say, an address has the name of a symbol that
 * contains it, or none.
 */
#include <elf.h>
#include <sys/mman.h>

#include "symbol/elf/elffunc.h"
#include "symbol/elf/vtable.h"
#include "symbol/languages/language.h"
#include "symbol/modules/module.h"
#include "symbol/names/resolve.h"
#include "tests/fuzz/sections.h"

#define BYTES_MAX (64u << 20) /* bound on tables, from files of 64 KiB */

static struct {
	uint64_t named, ids, functions, code;
	const char *broken;
	int fd;
} run;

static const char *const words[] = {
	".symtab",
	".strtab",
	".dynsym",
	".dynstr",
	".plt",
	".plt.sec",
	".plt.got",
	".gnu_debuglink",
	".gnu_debugdata",
	"_PyRuntime",
	"_ZN1a1bEv",
	"\177ELF",
	"GNU",
	NULL,
};

/* Damages a number in the file's header, or in an entry of the segment or section table. */
static void damage_headers(struct fuzz *f, unsigned char *bytes, size_t len)
{
	static const size_t widths[] = { 2, 4, 8 };
	size_t width = widths[fuzz__below(f, 3)], at = 0, room = sizeof(Elf64_Ehdr);
	uint64_t number = fuzz__chance(f, 2) ? fuzz__below(f, 2 * len) : fuzz__number(f);
	Elf64_Ehdr head;

	if (len < sizeof(head))
		return;
	memcpy(&head, bytes, sizeof(head));
	if (!fuzz__chance(f, 4)) {
		at = fuzz__chance(f, 2) ? head.e_phoff : head.e_shoff;
		room = 64 * (at == head.e_phoff ? head.e_phnum : head.e_shnum);
	}
	if (room < width || at > len || room > len - at)
		return;
	memcpy(bytes + at + fuzz__below(f, room / width) * width, &number, width);
}

static void damage(struct fuzz *f, unsigned char *bytes, size_t *len)
{
	static const char *const prefixes[] = { ".symtab", ".dynsym", ".strtab", ".plt",
						".note",   ".gnu",    NULL };

	if (fuzz__chance(f, 4))
		sections__damage(f, bytes, len, prefixes);
	else
		damage_headers(f, bytes, *len);
}

static void look_up(struct modules *modules, struct module *module, size_t len)
{
	char name[NAME_MAX_LEN], shown[DEMANGLE_MAX];
	const struct module_tab *tab = NULL;
	uint64_t delta = 0;

	for (uint64_t off = 0; off < len; off += 29) {
		const struct symbol *sym = module__find(modules, module, off, &tab, &delta);

		if (!sym)
			continue;
		if (delta >= sym->size)
			run.broken = "an address outside its symbol";
		if (!names__get(&tab->syms.names, sym->name, name, sizeof(name)))
			continue;
		demangle__name(name, shown, sizeof(shown));
		run.named++;
	}
}

/* As for the names of a stack: the tables outlive the file. */
static void read_module(const void *bytes, size_t len)
{
	struct debugfile_places places = { "/nonexistent", NULL, "/nonexistent/file", NULL, {} };
	struct modules modules = { 0 };
	struct module *module = modules__get(&modules, &(struct module_id){ 0 });
	void *copy = malloc(len ? len : 1);
	struct image img;

	if (!module || !copy)
		abort();
	memcpy(copy, bytes, len);
	image__of_mem(&img, copy, len);
	module__build(module, &img, &places);
	free(copy);
	run.ids += module->build_id[0] != 0;
	if (strlen(module->build_id) % 2 ||
	    strspn(module->build_id, "0123456789abcdef") != strlen(module->build_id))
		run.broken = "an invalid build id";
	look_up(&modules, module, len);
	module->loaded = true;
	if (modules__bytes(&modules) > BYTES_MAX)
		run.broken = "unbounded memory";
	modules__free(&modules);
}

static void read_others(const void *bytes, size_t len)
{
	char symbol[256];
	uint64_t offset;
	struct image img;
	struct elf elf;

	image__of_mem(&img, bytes, len);
	if (elf__open(&elf, &img))
		return;
	language_file__free(language_file__of(&elf, "python3"));
	language_file__free(language_file__of(&elf, "libruby.so"));
	for (size_t i = 0; i < elf.load_cnt; i++)
		elfobject__find(&elf, "_ZTV", elf.loads[i].vaddr + 16, symbol, sizeof(symbol),
				&offset);
	elf__close(&elf);
}

static void find_functions(const struct elffunc *elf)
{
	static const char *const names[] = { "slow", "hidden", "no_such", "callee" };
	struct elffunc_place places[4];
	uint8_t code[256];
	uint64_t offset;

	elffunc__find(elf, names, 4, places);
	if (elffunc__find_each(elf, names, 4, places) <= 0)
		return;
	for (size_t i = 0; i < 4; i++) {
		if (!places[i].value)
			continue;
		run.functions++;
		run.code += elffunc__code(elf, places[i].value, code, sizeof(code), &offset) > 0;
	}
}

/* As for the place of a probe. */
static void read_functions(const void *bytes, size_t len)
{
	struct elffunc elf, debug;

	if (ftruncate(run.fd, 0) || pwrite(run.fd, bytes, len, 0) != (ssize_t)len)
		abort();
	if (elffunc__open(fcntl(run.fd, F_DUPFD_CLOEXEC, 3), &elf))
		return;
	find_functions(&elf);
	elffunc__has_section(&elf, ".note.stapsdt");
	if (!elffunc__open_debugdata(&elf, &debug)) {
		find_functions(&debug);
		elffunc__close(&debug);
	}
	elffunc__close(&elf);
}

int main(void)
{
	struct corpus *c = corpus__load("elf", 80);

	c->damage = damage;
	c->words = words;
	run.fd = memfd_create("elf", MFD_CLOEXEC);
	while (corpus__next(c) && !run.broken) {
		read_module(c->bytes, c->len);
		read_others(c->bytes, c->len);
		read_functions(c->bytes, c->len);
	}
	fuzz__ok(&c->fuzz, run.broken);
	ok(run.named && run.ids && run.functions && run.code,
	   "%llu names, %llu build ids, %llu functions, %llu with code",
	   (unsigned long long)run.named, (unsigned long long)run.ids,
	   (unsigned long long)run.functions, (unsigned long long)run.code);
	corpus__end(c);
	close(run.fd);
	return tap__done();
}
