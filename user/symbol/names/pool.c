/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interned strings in chunks. See pool.h. */
#include "symbol/names/pool.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_SZ 16384

struct pool_chunk {
	struct pool_chunk *next;
	size_t used, size;
	char data[];
};

static uint32_t hash_of(const char *str, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a */
	size_t i;

	for (i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)str[i]) * 0x100000001b3ull;
	return hash ^ (hash >> 32);
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
static size_t slot_of(const struct pool *pool, uint32_t hash, const char *str, size_t len)
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

static int grow(struct pool *pool)
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
	if (grow(pool))
		return NULL;
	hash = hash_of(str, len);
	slot = slot_of(pool, hash, str, len);
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
