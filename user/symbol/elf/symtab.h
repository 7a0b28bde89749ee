/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compact table of functions, sorted by address: 16 bytes a symbol, binary search. The symbols come
 * from ELF, kallsyms or a perf map.
 */
#ifndef JANK_SYMBOL_ELF_SYMTAB_H
#define JANK_SYMBOL_ELF_SYMTAB_H

#include "files/file.h"

/*
 * --- the names of a table: in an arena of its own, or left in the file
 *
 * Big programs have many megabytes of names, and a trace shows a few hundred of them. Such names
 * are read on demand through a descriptor that stays open, so that they outlive a deleted file.
 */

#define NAME_MAX_LEN	4096	    /* bytes; longer names are cut */
#define NAMES_ARENA_MAX (32u << 20) /* bytes of a table; symbols added later have no name */

struct names {
	struct image img;
	uint64_t off, size; /* the string table within the image */
	char end;	    /* byte that ends a string, besides NUL */
	bool owns_fd;
	char *arena; /* owned; img points to it */
	size_t cap;
};

void names__init(struct names *names); /* makes an empty arena */
void names__free(struct names *names); /* leaves it empty */

/* Borrows a part of an image until names__keep or names__free. */
void names__borrow(struct names *names, const struct image *img, uint64_t off, uint64_t size,
		   char end);

/*
 * Makes borrowed names independent: copies small tables and those in memory, duplicates the
 * descriptor of others. Returns 0 or -errno.
 */
int names__keep(struct names *names);

/* Appends to the arena. Returns the offset or -E2BIG. */
int64_t names__add(struct names *names, const char *str, size_t len);

void names__shrink(struct names *names); /* frees unused memory of the arena */

/*
 * Reads the name at off into buf (cap bytes including the NUL); a longer name is cut. Returns its
 * length; 0: no name.
 */
size_t names__get(const struct names *names, uint64_t off, char *buf, size_t cap);

size_t names__bytes(const struct names *names);

#define SYMTAB_MAX	(2u << 20)	 /* symbols of a table; more are dropped */
#define SYMTAB_SIZE_MAX ((1u << 26) - 1) /* bytes of a function; larger sizes are cut */

/* Of the symbols at one address the one with the lowest rank is kept. */
enum symbol_rank {
	RANK_GLOBAL = 0,
	RANK_LOCAL = 1,
	RANK_WEAK = 2,
	RANK_UNTYPED = 4, /* added to the ranks above: a label without a function type */
};

struct symbol {
	uint64_t addr;
	uint32_t size : 26;
	uint32_t rank : 4;
	uint32_t open : 1;   /* has no size: reaches to the next symbol, at most `size` */
	uint32_t inside : 1; /* begins inside an earlier symbol */
	uint32_t name;	     /* offset for names__get */
};
_Static_assert(sizeof(struct symbol) == 16, "symbol");

struct symtab {
	struct symbol *syms;
	size_t cnt, cap;
	struct names names;
};

void symtab__init(struct symtab *tab);
void symtab__free(struct symtab *tab);

/*
 * Adds a symbol; one of size 0 is ignored. open: size is only an upper limit. Returns 0, or -E2BIG
 * at SYMTAB_MAX.
 */
int symtab__add(struct symtab *tab, uint64_t addr, uint64_t size, bool open, unsigned rank,
		uint32_t name);

/* Sorts, keeps one symbol for each address, and gives open symbols their size. */
void symtab__finish(struct symtab *tab);

/*
 * The same for code that is rewritten: of two symbols that overlap, the one with the higher name
 * offset (appended later) is kept.
 */
void symtab__finish_latest(struct symtab *tab);

void symtab__shrink(struct symtab *tab); /* frees unused memory */

/* The innermost symbol that contains addr, or NULL. */
const struct symbol *symtab__find(const struct symtab *tab, uint64_t addr);

size_t symtab__bytes(const struct symtab *tab);

/* --- elfsym.c: readers of an ELF file's functions */

struct elf;

/*
 * Reads the table of that type into tab, which must be empty. The names no longer depend on the
 * image. Returns 0 or -errno; -ENOENT: no such table, or no function in it (tab stays empty).
 */
int elfsym__read(const struct elf *elf, uint32_t section_type, struct symtab *tab);

/*
 * Fills an empty tab with the stubs of the procedure linkage table, through which a module calls
 * other modules; each gets the name of the function it jumps to. The slot is
 * read from the stub's own instruction, so no order of entries is assumed. x86-64 and arm64 only.
 * Returns 0 or -errno; -ENOENT: no stubs (tab stays empty).
 */
int plt__read(const struct elf *elf, struct symtab *tab);

#endif
