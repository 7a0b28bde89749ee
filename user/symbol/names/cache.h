/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cache of resolved addresses, for one process or for the kernel, and the pool of its strings. */
#ifndef JANK_SYMBOL_NAMES_CACHE_H
#define JANK_SYMBOL_NAMES_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function that was inlined at an address. */
struct cached_inlined {
	const char *function, *file;
	uint32_t line;
};

struct cached {
	uint64_t key;	      /* cache__key */
	uint64_t base;	      /* the address minus the offset in its frame */
	uint64_t start;	      /* of a function without a name, as in struct frame */
	const char *function; /* strings belong to the pool */
	const char *module;
	const char *build_id;
	const char *file;     /* of the function itself, not of those inlined there */
	const char *language; /* static string */
	const struct cached_inlined *inlined; /* innermost first; belongs to the pool */
	uint32_t inlined_cnt, line;
	uint32_t generation; /* of the perf map, when jit */
	bool used, app;
	bool cut; /* the lookup of its name or line took too long */
	bool jit; /* from a perf map: valid until that changes */
};

struct cache {
	struct cached *slots; /* open addressing */
	size_t slot_cnt, cnt;
};

/* Key of an address. exact: looked up as is; otherwise as a return address. */
uint64_t cache__key(uint64_t addr, bool exact);

/* The entry of key, or NULL. */
struct cached *cache__find(struct cache *cache, uint64_t key);

/*
 * Adds a copy of an entry; its key must not be there yet. Empties a full cache first. Does nothing
 * when out of memory.
 */
void cache__add(struct cache *cache, const struct cached *entry);

void cache__clear(struct cache *cache); /* frees its memory; usable afterwards */
size_t cache__bytes(const struct cache *cache);

/* --- pool: each string is stored once, all are freed together */

struct pool_chunk;

struct pool {
	struct pool_chunk *chunks;
	const char **slots; /* open addressing */
	uint32_t *hashes;
	uint64_t seed; /* of the hashes; set with the first slots */
	size_t slot_cnt, cnt;
	size_t bytes;
};

/*
 * The pool's copy of a string, or NULL when out of memory. A zeroed struct pool is an empty pool.
 */
const char *pool__add(struct pool *pool, const char *str, size_t len);

/* Memory for any use, freed together with the strings; NULL when out of memory. */
void *pool__room(struct pool *pool, size_t size);

void pool__free(struct pool *pool); /* leaves it empty */

#endif
