/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hash table from address to name, and interned strings in chunks. See cache.h. */
#include "symbol/names/cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

#include "base/must.h"

#define CNT_FIRST 64
#define CNT_MAX	  16384 /* slots; limit for the garbage addresses of bad stacks */

uint64_t cache__key(uint64_t addr, bool exact)
{
	return addr << 1 | exact; /* user and kernel have one cache each, so the top bit may go */
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

static void grow(struct cache *cache)
{
	struct cache old = *cache;
	size_t i;

	cache->slot_cnt = old.slot_cnt ? 2 * old.slot_cnt : CNT_FIRST;
	cache->slots = must__calloc(cache->slot_cnt, sizeof(*cache->slots));
	for (i = 0; i < old.slot_cnt; i++)
		if (old.slots[i].used)
			cache->slots[slot_of(cache, old.slots[i].key)] = old.slots[i];
	free(old.slots);
}

void cache__add(struct cache *cache, const struct cached *entry)
{
	struct cached *slot;

	if (2 * (cache->cnt + 1) > cache->slot_cnt) {
		if (cache->slot_cnt >= CNT_MAX)
			cache__clear(cache);
		grow(cache);
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

/* --- pool: the tracer has one, too, so a failed allocation does not end the process */

#define CHUNK_SZ 16384

struct pool_chunk {
	struct pool_chunk *next;
	size_t used, size;
	char data[];
};

/* FNV-1a does not do: with every 256th seed or so, texts that collide with one collide again. */
static uint32_t hash_of(const struct pool *pool, const char *str, size_t len)
{
	return (uint32_t)XXH3_64bits_withSeed(str, len, pool->seed);
}

static char *room(struct pool *pool, size_t len)
{
	struct pool_chunk *chunk = pool->chunks;
	size_t size = len > CHUNK_SZ ? len : CHUNK_SZ;

	if (!chunk || chunk->size - chunk->used < len) {
		chunk = malloc(sizeof(*chunk) + size);
		if (!chunk)
			return NULL;
		*chunk = (struct pool_chunk){ .next = pool->chunks, .size = size };
		pool->chunks = chunk;
		pool->bytes += sizeof(*chunk) + size;
	}
	chunk->used += len;
	return chunk->data + chunk->used - len;
}

/* The slot of the string, or the free slot where it belongs. */
static size_t string_slot(const struct pool *pool, uint32_t hash, const char *str, size_t len)
{
	size_t mask = pool->slot_cnt - 1, i = hash & mask;

	while (pool->slots[i] && (pool->hashes[i] != hash || strncmp(pool->slots[i], str, len) ||
				  pool->slots[i][len]))
		i = (i + 1) & mask;
	return i;
}

static size_t slot_bytes(const struct pool *pool)
{
	return pool->slot_cnt * (sizeof(*pool->slots) + sizeof(*pool->hashes));
}

static int grow_pool(struct pool *pool)
{
	struct pool old = *pool;
	size_t cnt = old.slot_cnt ? 2 * old.slot_cnt : 256, i, k;

	if (4 * (pool->cnt + 1) <= 3 * pool->slot_cnt)
		return 0;
	pool->slots = calloc(cnt, sizeof(*pool->slots));
	pool->hashes = calloc(cnt, sizeof(*pool->hashes));
	if (!pool->slots || !pool->hashes) {
		free(pool->slots);
		free(pool->hashes);
		*pool = old;
		return -1;
	}
	/* A program that chooses many names could give all of them one hash. */
	if (!old.slot_cnt && getrandom(&pool->seed, sizeof(pool->seed), GRND_NONBLOCK) < 0)
		pool->seed = (uintptr_t)pool->slots;
	pool->slot_cnt = cnt;
	for (i = 0; i < old.slot_cnt; i++) {
		if (!old.slots[i])
			continue;
		for (k = old.hashes[i] & (cnt - 1); pool->slots[k]; k = (k + 1) & (cnt - 1))
			;
		pool->slots[k] = old.slots[i];
		pool->hashes[k] = old.hashes[i];
	}
	pool->bytes += slot_bytes(pool) - slot_bytes(&old);
	free(old.slots);
	free(old.hashes);
	return 0;
}

const char *pool__add(struct pool *pool, const char *str, size_t len)
{
	uint32_t hash;
	size_t slot;
	char *copy;

	len = strnlen(str, len);
	if (grow_pool(pool))
		return NULL;
	hash = hash_of(pool, str, len);
	slot = string_slot(pool, hash, str, len);
	if (pool->slots[slot])
		return pool->slots[slot];
	copy = room(pool, len + 1);
	if (!copy)
		return NULL;
	memcpy(copy, str, len);
	copy[len] = 0;
	pool->slots[slot] = copy;
	pool->hashes[slot] = hash;
	pool->cnt++;
	return copy;
}

void *pool__room(struct pool *pool, size_t size)
{
	char *ret = room(pool, size + _Alignof(max_align_t) - 1);
	uintptr_t over = (uintptr_t)ret % _Alignof(max_align_t);

	return ret && over ? ret + _Alignof(max_align_t) - over : ret;
}

void pool__free(struct pool *pool)
{
	while (pool->chunks) {
		struct pool_chunk *chunk = pool->chunks;

		pool->chunks = chunk->next;
		free(chunk);
	}
	free(pool->slots);
	free(pool->hashes);
	memset(pool, 0, sizeof(*pool));
}
