/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Modules: the symbol tables of one file, shared by all processes that map it. The tables are built
 * when the first address in the file is resolved; a file that is in no stack costs nothing. The
 * content of the file is then identified, and copies of it become one module (module_id.c). That
 * module uses the tables of the copy that could be read first.
 */
#ifndef JANK_SYMBOL_MODULES_MODULE_H
#define JANK_SYMBOL_MODULES_MODULE_H

#include "base/hash.h"
#include "files/file.h"
#include "symbol/dwarf/dwarf.h"
#include "symbol/elf/debugfile.h"
#include "symbol/elf/elf.h"
#include "symbol/elf/symtab.h"
#include "symbol/languages/gopclntab.h"
#include "symbol/languages/language.h"
#include "symbol/names/cache.h"
#include "symbol/unwind/cfi.h"
#include <sys/stat.h>

/* --- module_id.c: identity of a module: two files with the same one have the same tables */

/* A file as fstat describes it, and the part of it that is the module. */
struct module_file {
	uint64_t dev, inode, mtime_ns, size;
	struct image_part part;
};

/* A key without padding: compared and hashed as bytes. */
struct module_id {
	uint64_t digest[2];	 /* 0: identified by the file alone */
	struct module_file file; /* with a digest: device, inode, time are 0; size of the part */
};

/*
 * Cache of files identified recently, so that they are not read again; the least recently used
 * entry is dropped first. Zeroed: empty.
 */
#define MODULE_IDS_MAX 8192
struct module_ids {
	struct known_file *table;
};

/* The id of a file, from fstat. */
struct module_id module_id__of_file(const struct stat *st, struct image_part part);

/*
 * The cached identity of a file (file: an id without a digest). Returns false when it was not
 * identified yet, or was dropped from the cache.
 */
bool module_ids__find(struct module_ids *ids, const struct module_id *file, struct module_id *ret);

/*
 * Identifies a file by its content and caches the result. fd: the file, open (borrowed). A file
 * without usable content, or that was written to since, is identified by the file alone.
 */
struct module_id module_ids__look(struct module_ids *ids, const struct module_id *file, int fd);

/* The identity of an ELF image in memory: a digest of its bytes. */
struct module_id module_id__of_memory(const void *mem, size_t size);

bool module_id__is(const struct module_id *a, const struct module_id *b);
bool module_id__is_shared(const struct module_id *id); /* has a digest */

size_t module_ids__bytes(const struct module_ids *ids);
void module_ids__free(struct module_ids *ids); /* leaves it empty */

/* --- the file that is being read, for a process that may be killed by it (user/name) */

/* In memory that another process sees; 0: none. */
struct module_mark {
	_Atomic uint64_t dev, inode;
	_Atomic uint32_t forbidden_call; /* system call that ended the process, + 1; 0: none */
};

void modules__mark_in(struct module_mark *mark);

/* Notes the file that is read from now on; NULL: none. Cheap. */
struct mapped;
void modules__mark(const struct mapped *mapped);

/* --- the modules */

#define MODULE_TABS_MAX 4

struct module_tab {
	struct symtab syms;
	const char *suffix; /* appended to its names: "@plt", or "" */
};

struct module {
	UT_hash_handle hh;
	struct module_id id;
	unsigned refs;
	int fd; /* stays open until the tables are built, so that the file may be deleted; or -1 */
	bool loaded;
	bool settled;	/* modules__resolve_all has looked for other files with the same content */
	bool in_memory; /* cannot be read again */
	bool is_static; /* has no PT_INTERP: it contains the C library, if there is one */
	uint64_t used;	/* last use, in ticks of struct modules */
	struct elf_segment *loads;
	size_t load_cnt;
	char build_id[BUILD_ID_HEX_SZ];
	struct module_tab tabs[MODULE_TABS_MAX];
	size_t tab_cnt;
	struct dwarf *dwarf;  /* of the file or its debug file; NULL: none */
	struct cache sources; /* file, line and inlined functions, by cache__key of the address */
	struct gopclntab *go; /* lines of a stripped Go program; or NULL */
	struct cfi *cfi;      /* NULL: none yet, or freed; the vdso's exists from the start */
	struct language_file *language; /* the runtime in it; NULL: none */
	bool language_known;
	int source;	    /* descriptor of the copy with the tables, of several; or -1 */
	uint64_t source_ns; /* time of the last write to that copy */
};

struct modules {
	struct module *table; /* by id */
	struct module_ids ids;
	uint64_t tick;
	size_t held;	 /* number of descriptors in module.fd */
	size_t cfi_held; /* number of descriptors in module.cfi */
};

/*
 * The module with that identity, with one more reference. A new one has no file and no tables. NULL
 * when out of memory.
 */
struct module *modules__get(struct modules *modules, const struct module_id *id);

/*
 * The module of an open file, or of a library inside it, with one more reference. Takes over fd.
 * NULL when out of memory.
 */
struct module *modules__of_file(struct modules *modules, int fd, const struct stat *st,
				struct image_part part);

/* The module of an ELF image in memory; builds its tables at once. */
struct module *modules__of_memory(struct modules *modules, const void *mem, size_t size);

/*
 * Call before tables are read. Returns the one module of all files with the same content, and moves
 * the caller's reference to it. fd: the file (borrowed), or -1: use only what is already known.
 * Returns `module` itself when nothing is shared, nothing is known, or memory is short.
 */
struct module *modules__resolve_all(struct modules *modules, struct module *module, int fd);

/*
 * Drops names and lines read from a copy that was written to since; another copy may still be
 * intact.
 */
void module__check(struct module *module);

/* Whether an open file (borrowed) belongs to this module. */
bool modules__is(struct modules *modules, const struct module *module, int fd,
		 const struct stat *st);

/* The kept descriptor (borrowed), or -1: none, or that copy was written to since. */
int modules__held(struct modules *modules, struct module *module);

/* The image of the module in its open file (borrowed). 0 or -errno. */
int module__image(const struct module *module, int fd, struct image *img);

/* Builds the tables from fd (borrowed). A broken file, or one that is not ELF, has no tables. */
void module__load(struct modules *modules, struct module *module, int fd,
		  const struct debugfile_places *places);

/*
 * The reading part of module__load, in moduleload.c. The module must have no tables. places may be
 * NULL: no separate debug files.
 */
void module__build(struct module *module, const struct image *img,
		   const struct debugfile_places *places);

/* Adds the tables of a debug file that arrived later. */
void module__add_debug(struct module *module, const struct image *img,
		       const struct debugfile_places *places);

void module__put(struct modules *modules, struct module *module); /* accepts NULL */

/* The symbol that contains a file offset, or NULL. *delta: distance from the symbol's beginning. */
const struct symbol *module__find(struct modules *modules, struct module *module,
				  uint64_t file_offset, const struct module_tab **tab,
				  uint64_t *delta);

/*
 * Gives an open file (taken over) to the unwind tables of the module; creates the tables if needed.
 * When there are many tables, the least recently used are freed. NULL when out of memory.
 */
struct cfi *modules__open_cfi(struct modules *modules, struct module *module, int fd);

size_t modules__bytes(const struct modules *modules);

/*
 * Frees DWARF of other modules (module NULL: any), the least recently used first, until at most max
 * bytes of DWARF are left or no other module has some. One stack may pass through many large files
 * before modules__trim is called.
 */
void modules__bound_dwarf(struct modules *modules, const struct module *module, size_t max);

/* Frees DWARF in which no address was looked up since the last call. */
void modules__rest(struct modules *modules);

/*
 * Frees tables until at most max bytes are left: first of files that no process maps, then the
 * least recently used.
 */
void modules__trim(struct modules *modules, size_t max);

void modules__free(struct modules *modules);

#endif
