/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A compact table of functions, sorted by address: 16 bytes a symbol and a binary search, whatever
 * the names come from (ELF, kallsyms, perf map).
 */
#ifndef JANK_SYMBOL_ELF_SYMTAB_H
#define JANK_SYMBOL_ELF_SYMTAB_H

#include "symbol/elf/image.h"

/*
 * Where a table's names are: an arena of its own, or left in the file.
 *
 * Big programs have many megabytes of names, of which a trace shows a few hundred: those are read
 * when asked for, through a descriptor kept open, so that a file deleted meanwhile still has them.
 */

#define NAME_MAX_LEN	4096	    /* longer ones are cut */
#define NAMES_ARENA_MAX (32u << 20) /* of a table; what comes later has no name */

struct names {
	struct image img;
	uint64_t off, size; /* the strings' part of the image */
	char end;	    /* what ends a string, besides NUL */
	bool owns_fd;
	char *arena; /* owned; img points to it then */
	size_t cap;
};

void names__init(struct names *names); /* an empty arena */
void names__free(struct names *names); /* leaves it empty */

/* Borrows part of an image, until names__keep or names__free. */
void names__borrow(struct names *names, const struct image *img, uint64_t off, uint64_t size,
		   char end);

/* Makes borrowed names independent: copies small ones and those in memory, duplicates the
 * descriptor of others. */
int names__keep(struct names *names);

/* Appends to the arena. Returns the offset, or -ENOMEM, or -E2BIG. */
int64_t names__add(struct names *names, const char *str, size_t len);

void names__shrink(struct names *names); /* gives the arena's unused memory back */

/* Reads the name at off into buf (cap bytes with the NUL); a longer one is cut. Its length, 0
 * when there is none. */
size_t names__get(const struct names *names, uint64_t off, char *buf, size_t cap);

size_t names__bytes(const struct names *names);

#define SYMTAB_MAX	(2u << 20)	 /* symbols of a table; later ones are left out */
#define SYMTAB_SIZE_MAX ((1u << 26) - 1) /* bytes of a function; a larger size is cut to this */

/* Among symbols of one address the lowest rank wins. */
enum symbol_rank {
	RANK_GLOBAL = 0,
	RANK_LOCAL = 1,
	RANK_WEAK = 2,
	RANK_UNTYPED = 4, /* added to the above: a label that is not marked as a function */
};

struct symbol {
	uint64_t addr;
	uint32_t size : 26;
	uint32_t rank : 4;
	uint32_t open : 1;   /* no size of its own: reaches to the next symbol, at most `size` */
	uint32_t inside : 1; /* begins inside an earlier one */
	uint32_t name;	     /* for names__get */
};
_Static_assert(sizeof(struct symbol) == 16, "symbol");

struct symtab {
	struct symbol *syms;
	size_t cnt, cap;
	struct names names;
};

void symtab__init(struct symtab *tab);
void symtab__free(struct symtab *tab);

/* Adds one; size 0 is left out. open: the size is only the most that it can reach. -ENOMEM, or
 * -E2BIG at SYMTAB_MAX. */
int symtab__add(struct symtab *tab, uint64_t addr, uint64_t size, bool open, unsigned rank,
		uint32_t name);

/* Sorts, picks one symbol for each address, and gives open ones their size. */
void symtab__finish(struct symtab *tab);

/* The same for code that is rewritten: of two that overlap, the one with the higher name offset
 * (that was appended later) stays. */
void symtab__finish_latest(struct symtab *tab);

void symtab__shrink(struct symtab *tab); /* gives unused memory back */

/* The innermost symbol that holds addr, or NULL. */
const struct symbol *symtab__find(const struct symtab *tab, uint64_t addr);

size_t symtab__bytes(const struct symtab *tab);

#endif
