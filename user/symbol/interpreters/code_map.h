/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Map from an address to the piece of JIT code that lies there now, for code that is written, moved
 * and overwritten.
 * Pieces are added in order of time; a later piece replaces all pieces that it overlaps. The map is
 * a treap with random priorities, so add and find take O(log n) steps in any order, also for a
 * hostile program. 24 bytes per piece, at most CODE_MAP_MAX pieces. One thread only.
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
	struct code_piece *pieces; /* index 0 is not used */
	uint32_t cnt, cap;	   /* slots that are in use or were freed */
	uint32_t root, free; /* roots of the tree by address, and of the tree of freed pieces */
	uint64_t seed;
	uint64_t steps; /* number of visited pieces, for tests */
};

void code_map__init(struct code_map *map);
void code_map__free(struct code_map *map);

/*
 * Adds a piece. 0, -ENOMEM, or -E2BIG when the map holds CODE_MAP_MAX pieces. Ignores a piece of
 * size 0.
 */
int code_map__put(struct code_map *map, uint64_t addr, uint32_t size, uint32_t name);

/* Returns the piece that holds addr, or NULL. Valid until the next code_map__put. */
const struct symbol *code_map__find(struct code_map *map, uint64_t addr);

size_t code_map__bytes(const struct code_map *map);

#endif
