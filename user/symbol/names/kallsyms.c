/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Table of /proc/kallsyms, which has no sizes: a function extends to the next symbol of any kind.
 * Functions are kept; other symbols only serve as ends. A name is stored as in the file, with its
 * module: "name\t[module]".
 */
#include "symbol/names/kallsyms.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/file.h"
#include "files/proc.h"
#include "symbol/elf/elf.h"

#define FILE_MAX_SZ  (256ull << 20)
#define NOTES_MAX_SZ 65536
#define FUNCTION_MAX (1u << 20) /* bytes; limits the last function before a gap */
#define NO_NAME	     0		/* end of a function, not a function; offset 0 is "" */

/* __pfx_ symbols name the padding before functions, which is never executed. */
static bool is_function(char type, const char *name)
{
	return type && strchr("tTwW", type) && strncmp(name, "__pfx_", 6);
}

static unsigned rank_of(char type)
{
	return type == 'T' ? RANK_GLOBAL : type == 't' ? RANK_LOCAL : RANK_WEAK;
}

/* "ffffffff81000000 T _stext" or "ffffffffc0201000 t init\t[module]" */
static int add_line(char *line, size_t len, uint64_t off, void *ctx)
{
	struct symtab *tab = ctx;
	int64_t name = NO_NAME;
	char *at = line, type;
	uint64_t addr;

	if (lines__hex(&at, &addr) || !(addr >> 63) || at[0] != ' ' || !at[1] || at[2] != ' ')
		return 0;
	type = at[1];
	at += 3;
	if (!is_function(type, at))
		return symtab__add(tab, addr, FUNCTION_MAX, true, RANK_WEAK + RANK_UNTYPED,
				   NO_NAME);
	name = names__add(&tab->names, at, line + len - at);
	if (name < 0)
		return name;
	return symtab__add(tab, addr, FUNCTION_MAX, true, rank_of(type), name);
}

/* Drops the end symbols, which are not needed once sizes are known. */
static void drop_ends(struct symtab *tab)
{
	size_t i, out = 0;

	for (i = 0; i < tab->cnt; i++)
		if (tab->syms[i].name != NO_NAME)
			tab->syms[out++] = tab->syms[i];
	tab->cnt = out;
	symtab__shrink(tab);
}

int kallsyms__load(struct symtab *tab, const char *path)
{
	int ret;

	symtab__init(tab);
	names__add(&tab->names, "", 0);
	ret = lines__read_path(path, (struct lines_limit){ FILE_MAX_SZ, 0 }, add_line, tab);
	symtab__finish(tab);
	drop_ends(tab);
	names__shrink(&tab->names);
	return ret == -E2BIG ? 0 : ret;
}

void kallsyms__name(const struct symtab *tab, const struct symbol *sym, struct kernel_name *ret)
{
	char *tab_at;

	names__get(&tab->names, sym->name, ret->buf, sizeof(ret->buf));
	ret->function = ret->buf;
	ret->module = "vmlinux";
	tab_at = strchr(ret->buf, '\t');
	if (!tab_at)
		return;
	*tab_at = 0;
	if (tab_at[1] == '[') {
		ret->module = tab_at + 2;
		tab_at[2 + strcspn(tab_at + 2, "]")] = 0;
	}
}

void kallsyms__build_id(const char *module, char *hex)
{
	struct strbuf notes = STRBUF_INIT;
	char path[PATH_MAX] = "/sys/kernel/notes";
	struct image img;

	hex[0] = 0;
	if (strcmp(module, "vmlinux"))
		snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id", module);
	if (!strchr(module, '/') && !file__read(path, NOTES_MAX_SZ, &notes)) {
		image__of_mem(&img, strbuf__str(&notes), notes.len);
		buildid__find(&img, 0, notes.len, hex);
	}
	strbuf__free(&notes);
}
