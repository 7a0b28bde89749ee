/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pool of the strings in frames: each is stored once, all are freed together. */
#ifndef JANK_SYMBOL_NAMES_POOL_H
#define JANK_SYMBOL_NAMES_POOL_H

#include <stddef.h>
#include <stdint.h>

struct pool_chunk;

struct pool {
	struct pool_chunk *chunks;
	const char **slots; /* open addressing */
	uint32_t *hashes;
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
