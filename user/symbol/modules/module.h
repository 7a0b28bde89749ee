/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Modules: the symbol tables of one file, shared by all processes that map it. Tables are built on
 * the first address that lies in it; then it is looked at what the file holds, and copies of it
 * become one module (module_id.h), with the tables of whichever could be read first. What is not in
 * a stack costs no look.
 */
#ifndef JANK_SYMBOL_MODULES_MODULE_H
#define JANK_SYMBOL_MODULES_MODULE_H

#include "symbol/dwarf/dwarf.h"
#include "symbol/elf/debugfile.h"
#include "symbol/elf/elf.h"
#include "symbol/elf/symtab.h"
#include "symbol/interpreters/gopclntab.h"
#include "symbol/modules/module_id.h"
#include "symbol/unwind/cfi.h"
#include <uthash.h>

#define MODULE_TABS_MAX 4

struct module_tab {
	struct symtab syms;
	const char *suffix; /* of its names: "@plt", or "" */
};

struct module {
	UT_hash_handle hh;
	struct module_id id;
	unsigned refs;
	int fd; /* kept open until the tables are built, so that the file may go away; or -1 */
	bool loaded;
	bool settled;	/* it was looked whether other files are the same: modules__resolve_all */
	bool in_memory; /* it could not be read again */
	bool is_static; /* asks for no loader: the C library, if there is one, is part of it */
	uint64_t used;	/* when last looked at, in ticks of the registry */
	struct elf_segment *loads;
	size_t load_cnt;
	char build_id[BUILD_ID_HEX_SZ];
	struct module_tab tabs[MODULE_TABS_MAX];
	size_t tab_cnt;
	struct dwarf *dwarf;  /* of the file or of its debug file; NULL: none */
	struct gopclntab *go; /* of a stripped Go program: its lines; or NULL */
	struct cfi
		*cfi; /* NULL: nothing was unwound yet, or given up; of the vdso from the first */
	int source; /* of a module of several copies: the one that the tables are read from, while they stand; or -1 */
	uint64_t source_ns; /* when that was written to */
};

struct modules {
	struct module *table; /* by id */
	struct module_ids ids;
	uint64_t tick;
	size_t held;	 /* descriptors kept in module.fd */
	size_t cfi_held; /* and in module.cfi */
};

/*
 * The module of that identity, with a reference more; if it is new, without a file and tables. NULL
 * when out of memory.
 */
struct module *modules__get(struct modules *modules, const struct module_id *id);

/*
 * The module of an open file, or of a library in it, with a reference more. Takes fd. NULL when out
 * of memory.
 */
struct module *modules__of_file(struct modules *modules, int fd, const struct stat *st,
				struct image_part part);

/* The module of an ELF image in memory; its tables are built at once. */
struct module *modules__of_memory(struct modules *modules, const void *mem, size_t size);

/*
 * Before tables are read: the module of all files that are the same as this one, which takes its
 * place and the caller's reference. fd is the file (borrowed), or -1: only what is known already
 * counts. The module itself where there is nothing to share, nothing known, or no memory.
 */
struct module *modules__resolve_all(struct modules *modules, struct module *module, int fd);

/*
 * Gives up names and lines that were read from a copy that was written to since: another may be
 * whole still.
 */
void module__check(struct module *module);

/* Whether an open file (borrowed) is this module's. */
bool modules__is(struct modules *modules, const struct module *module, int fd,
		 const struct stat *st);

/*
 * The descriptor that was kept (borrowed), or -1: there is none, or that copy was written to since.
 */
int modules__held(struct modules *modules, struct module *module);

/* Its image, given its file (borrowed). 0 or -errno. */
int module__image(const struct module *module, int fd, struct image *img);

/* Builds the tables from fd (borrowed). A file that is no ELF file, or a broken one, has none. */
void module__load(struct modules *modules, struct module *module, int fd,
		  const struct debugfile_places *places);

/* The part of module__load that reads: by moduleload.c. The module must have no tables. places
 * may be NULL: no separate debug files. */
void module__build(struct module *module, const struct image *img,
		   const struct debugfile_places *places);

/* Adds the tables of a debug file that came later. */
void module__add_debug(struct module *module, const struct image *img,
		       const struct debugfile_places *places);

void module__put(struct modules *modules, struct module *module); /* accepts NULL */

/* The symbol that holds a file offset; NULL when there is none. delta gets the distance from the
 * symbol's begin. */
const struct symbol *module__find(struct modules *modules, struct module *module,
				  uint64_t file_offset, const struct module_tab **tab,
				  uint64_t *delta);

/*
 * Gives the module's unwind tables an open file (taken), makes them when there are none; those used
 * least recently lose theirs when there are many. NULL when out of memory.
 */
struct cfi *modules__open_cfi(struct modules *modules, struct module *module, int fd);

size_t modules__bytes(const struct modules *modules);

/*
 * Gives up other modules' DWARF (module NULL: any), the least recently used first, until all of it
 * has at most max bytes or no other is left: a stack may pass through many large files before
 * modules__trim comes.
 */
void modules__bound_dwarf(struct modules *modules, const struct module *module, size_t max);

/* Frees tables until at most max bytes are left: those of files that nobody maps first, then the
 * least recently used. */
void modules__trim(struct modules *modules, size_t max);

void modules__free(struct modules *modules);

#endif
