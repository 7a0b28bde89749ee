/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A treap: a search tree by address, a heap by priority. See jit.h. */
#include "symbol/languages/jit.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

void code_map__init(struct code_map *map)
{
	*map = (struct code_map){ 0 };
}

void code_map__free(struct code_map *map)
{
	free(map->pieces);
	code_map__init(map);
}

/*
 * Priority of a piece (the finalizer of MurmurHash3). A program cannot make the tree deep, because
 * it does not know the seed.
 */
static uint64_t priority(const struct code_map *map, uint32_t i)
{
	uint64_t x = map->seed + i;

	x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

/* Joins two trees. All of `a` lies before all of `b`. */
static uint32_t join(struct code_map *map, uint32_t a, uint32_t b)
{
	struct code_piece *pieces = map->pieces;

	map->steps++;
	if (!a || !b)
		return a ? a : b;
	if (priority(map, a) > priority(map, b)) {
		pieces[a].right = join(map, pieces[a].right, b);
		return a;
	}
	pieces[b].left = join(map, a, pieces[b].left);
	return b;
}

/* Splits a tree into the pieces that begin before addr, and the others. */
static void split(struct code_map *map, uint32_t tree, uint64_t addr, uint32_t *before,
		  uint32_t *rest)
{
	struct code_piece *piece = &map->pieces[tree];

	map->steps++;
	if (!tree) {
		*before = *rest = 0;
	} else if (piece->sym.addr < addr) {
		*before = tree;
		split(map, piece->right, addr, &piece->right, rest);
	} else {
		*rest = tree;
		split(map, piece->left, addr, before, &piece->left);
	}
}

static int grow(struct code_map *map)
{
	uint32_t cap = map->cap ? 2 * map->cap : 128;
	struct code_piece *pieces;

	if (map->cap > CODE_MAP_MAX)
		return -E2BIG;
	if (cap > CODE_MAP_MAX)
		cap = CODE_MAP_MAX + 1;
	pieces = realloc(map->pieces, cap * sizeof(*pieces));
	if (!pieces)
		return -ENOMEM;
	if (!map->cap && getrandom(&map->seed, sizeof(map->seed), GRND_NONBLOCK) < 0)
		map->seed = (uintptr_t)pieces;
	map->pieces = pieces;
	map->cap = cap;
	if (!map->cnt)
		pieces[map->cnt++] = (struct code_piece){ 0 };
	return 0;
}

/* Gets a freed slot, or a new one. */
static int take_free(struct code_map *map, uint32_t *ret)
{
	int res;

	if (map->free) {
		*ret = map->free;
		map->free = join(map, map->pieces[*ret].left, map->pieces[*ret].right);
		return 0;
	}
	res = map->cnt < map->cap ? 0 : grow(map);
	if (!res)
		*ret = map->cnt++;
	return res;
}

/* The last piece of a tree. */
static uint32_t last_of(struct code_map *map, uint32_t tree)
{
	while (tree && map->pieces[tree].right) {
		map->steps++;
		tree = map->pieces[tree].right;
	}
	return tree;
}

/* Frees the pieces in the range, and returns the trees before and after it. */
static void clear(struct code_map *map, uint64_t addr, uint64_t end, uint32_t *before,
		  uint32_t *after)
{
	uint32_t last, dead;

	split(map, map->root, addr, before, after);
	last = last_of(map, *before);
	if (last && map->pieces[last].sym.addr + map->pieces[last].sym.size > addr) {
		split(map, *before, map->pieces[last].sym.addr, before, &dead);
		map->free = join(map, map->free, dead);
	}
	split(map, *after, end, &dead, after);
	map->free = join(map, map->free, dead);
}

int code_map__put(struct code_map *map, uint64_t addr, uint32_t size, uint32_t name)
{
	uint32_t before, after, at;
	int res;

	if (!size)
		return 0;
	res = map->cap ? 0 : grow(map);
	if (res)
		return res;
	clear(map, addr, addr + size, &before, &after);
	res = take_free(map, &at);
	if (!res) {
		map->pieces[at] =
			(struct code_piece){ .sym = { .addr = addr, .size = size, .name = name } };
		before = join(map, before, at);
	}
	map->root = join(map, before, after);
	return res;
}

const struct symbol *code_map__find(struct code_map *map, uint64_t addr)
{
	uint32_t at = map->root;

	while (at) {
		const struct code_piece *piece = &map->pieces[at];

		map->steps++;
		if (addr - piece->sym.addr < piece->sym.size)
			return &piece->sym;
		at = addr < piece->sym.addr ? piece->left : piece->right;
	}
	return NULL;
}

size_t code_map__bytes(const struct code_map *map)
{
	return map->cap * sizeof(*map->pieces);
}
