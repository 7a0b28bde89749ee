/* SPDX-License-Identifier: GPL-2.0 */
/* Addresses already named: of one process, or of the kernel. */
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
	uint64_t base;	      /* the address minus its frame's offset */
	const char *function; /* strings are the pool's */
	const char *module;
	const char *build_id;
	const char *file;     /* of the function itself, not of what was inlined there */
	const char *language; /* static */
	const struct cached_inlined *inlined; /* innermost first; the pool's */
	uint32_t inlined_cnt, line;
	uint32_t generation; /* of the perf map, when jit */
	bool used, app;
	bool cut; /* the look-up of its name or line took too long */
	bool jit; /* a perf map's: stands only while that does not change */
};

struct cache {
	struct cached *slots; /* open addressing */
	size_t slot_cnt, cnt;
};

/* An address and whether it is looked up as it is, or as a return address. */
uint64_t cache__key(uint64_t addr, bool exact);

/* The entry of key, or NULL. */
struct cached *cache__find(struct cache *cache, uint64_t key);

/* Adds a copy (of a key that is not there), or nothing when out of memory: it is only a cache. A
 * full one is emptied first. */
void cache__add(struct cache *cache, const struct cached *entry);

void cache__clear(struct cache *cache); /* frees its memory; usable afterwards */
size_t cache__bytes(const struct cache *cache);

#endif
