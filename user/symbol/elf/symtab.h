/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A compact table of functions, sorted by address: 16 bytes a symbol and a binary search, whatever
 * the names come from (ELF, kallsyms, perf map).
 */
#ifndef JANK_SYMBOL_ELF_SYMTAB_H
#define JANK_SYMBOL_ELF_SYMTAB_H

#include "symbol/elf/names.h"

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
