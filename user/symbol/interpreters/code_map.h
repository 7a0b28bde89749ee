/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that is written, moved and overwritten: which piece lies at an address now. Pieces are put
 * in order of time; a later one takes the place of all that it overlaps. Putting and finding take
 * O(log n) steps, whatever order a hostile program chooses: a treap with random priorities. 24
 * bytes a piece, CODE_MAP_MAX pieces at most. One thread.
 */
#ifndef JANK_SYMBOL_INTERPRETERS_CODE_MAP_H
#define JANK_SYMBOL_INTERPRETERS_CODE_MAP_H

#include "symbol/elf/symtab.h"

#define CODE_MAP_MAX (256u << 10)

struct code_piece {
	struct symbol sym;
	uint32_t left, right; /* indices; 0: none */
};

struct code_map {
	struct code_piece *pieces; /* the first one is not used */
	uint32_t cnt, cap;	   /* those in use or free */
	uint32_t root, free;	   /* of the tree by address, and of one of pieces that are gone */
	uint64_t seed;
	uint64_t steps; /* pieces looked at so far, for tests */
};

void code_map__init(struct code_map *map);
void code_map__free(struct code_map *map);

/* 0, -ENOMEM, or -E2BIG: so many are there at once. A piece of size 0 is left out. */
int code_map__put(struct code_map *map, uint64_t addr, uint32_t size, uint32_t name);

/* The piece that holds addr, or NULL; valid until the next one is put. */
const struct symbol *code_map__find(struct code_map *map, uint64_t addr);

size_t code_map__bytes(const struct code_map *map);

#endif
