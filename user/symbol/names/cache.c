/* SPDX-License-Identifier: GPL-2.0 */
/* A hash table from address to name. See cache.h. */
#include "symbol/names/cache.h"

#include <stdlib.h>
#include <string.h>

#define CNT_FIRST 64
#define CNT_MAX	  16384 /* slots; garbage addresses of bad stacks must not fill the memory */

uint64_t cache__key(uint64_t addr, bool exact)
{
	return addr << 1 | exact; /* user and kernel have a cache each: the top bit is not missed */
}

static size_t slot_of(const struct cache *cache, uint64_t key)
{
	size_t mask = cache->slot_cnt - 1;
	size_t i = (key * 0x9e3779b97f4a7c15ull >> 32) & mask;

	while (cache->slots[i].used && cache->slots[i].key != key)
		i = (i + 1) & mask;
	return i;
}

struct cached *cache__find(struct cache *cache, uint64_t key)
{
	struct cached *entry;

	if (!cache->slot_cnt)
		return NULL;
	entry = &cache->slots[slot_of(cache, key)];
	return entry->used ? entry : NULL;
}

static bool grow(struct cache *cache)
{
	struct cache old = *cache;
	size_t i;

	cache->slot_cnt = old.slot_cnt ? 2 * old.slot_cnt : CNT_FIRST;
	cache->slots = calloc(cache->slot_cnt, sizeof(*cache->slots));
	if (!cache->slots) {
		*cache = old;
		return false;
	}
	for (i = 0; i < old.slot_cnt; i++)
		if (old.slots[i].used)
			cache->slots[slot_of(cache, old.slots[i].key)] = old.slots[i];
	free(old.slots);
	return true;
}

void cache__add(struct cache *cache, const struct cached *entry)
{
	struct cached *slot;

	if (2 * (cache->cnt + 1) > cache->slot_cnt) {
		if (cache->slot_cnt >= CNT_MAX)
			cache__clear(cache);
		if (!grow(cache))
			return;
	}
	slot = &cache->slots[slot_of(cache, entry->key)];
	if (!slot->used)
		cache->cnt++;
	*slot = *entry;
	slot->used = true;
}

void cache__clear(struct cache *cache)
{
	free(cache->slots);
	memset(cache, 0, sizeof(*cache));
}

size_t cache__bytes(const struct cache *cache)
{
	return cache->slot_cnt * sizeof(*cache->slots);
}
