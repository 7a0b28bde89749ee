/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table of byte strings with open addressing: about 30 bytes for each beside its own. Reports
 * have up to millions of stacks.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "export/report/report.h"

#define SLOTS_MIN 1024

struct key {
	uint64_t hash;
	size_t at; /* in bytes */
	size_t len;
};

struct intern {
	struct strbuf bytes;
	struct key *keys; /* number n is keys[n - 1] */
	uint32_t *slots;  /* numbers; 0: free */
	uint32_t cnt, key_cap, slot_cnt;
};

struct intern *intern__new(void)
{
	struct intern *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->slot_cnt = SLOTS_MIN;
	table->slots = calloc(table->slot_cnt, sizeof(*table->slots));
	if (table->slots)
		return table;
	free(table);
	return NULL;
}

void intern__free(struct intern *table)
{
	if (!table)
		return;
	strbuf__free(&table->bytes);
	free(table->keys);
	free(table->slots);
	free(table);
}

uint32_t intern__cnt(const struct intern *table)
{
	return table->cnt;
}

const void *intern__key(const struct intern *table, uint32_t nr, size_t *ret_len)
{
	const struct key *key = &table->keys[nr - 1];

	*ret_len = key->len;
	return key->len ? table->bytes.data + key->at : "";
}

void intern__reset(struct intern *table)
{
	strbuf__reset(&table->bytes);
	memset(table->slots, 0, table->slot_cnt * sizeof(*table->slots));
	table->cnt = 0;
}

static bool has_key(const struct intern *table, uint32_t nr, uint64_t hash, const void *key,
		    size_t len)
{
	const struct key *known = &table->keys[nr - 1];

	return known->hash == hash && known->len == len &&
	       (!len || !memcmp(table->bytes.data + known->at, key, len));
}

/* The slot of the key, or the free slot where it belongs. */
static uint32_t *find(const struct intern *table, uint64_t hash, const void *key, size_t len)
{
	uint32_t at = (uint32_t)hash & (table->slot_cnt - 1);

	while (table->slots[at] && !has_key(table, table->slots[at], hash, key, len))
		at = (at + 1) & (table->slot_cnt - 1);
	return &table->slots[at];
}

static bool grow_slots(struct intern *table)
{
	uint32_t cnt = table->slot_cnt * 2;
	uint32_t *slots = calloc(cnt, sizeof(*slots));

	if (!slots)
		return false;
	free(table->slots);
	table->slots = slots;
	table->slot_cnt = cnt;
	for (uint32_t nr = 1; nr <= table->cnt; nr++) {
		uint32_t at = (uint32_t)table->keys[nr - 1].hash & (cnt - 1);

		while (slots[at])
			at = (at + 1) & (cnt - 1);
		slots[at] = nr;
	}
	return true;
}

static bool grow_keys(struct intern *table)
{
	uint32_t cap = table->key_cap ? table->key_cap * 2 : SLOTS_MIN;
	struct key *keys = reallocarray(table->keys, cap, sizeof(*keys));

	if (!keys)
		return false;
	table->keys = keys;
	table->key_cap = cap;
	return true;
}

/* The key itself and its entry count, so that short keys are limited too. */
static bool has_room(struct intern *table, size_t len)
{
	size_t used = table->bytes.len + table->cnt * sizeof(struct key);

	if (used > INTERN_BYTES_MAX || len > INTERN_BYTES_MAX - used)
		return false;
	if (table->cnt == table->key_cap && !grow_keys(table))
		return false;
	return table->cnt < table->slot_cnt / 2 || grow_slots(table);
}

uint32_t intern__get(struct intern *table, const void *key, size_t len, bool *ret_new)
{
	uint64_t hash = XXH3_64bits(key, len);
	uint32_t *slot = find(table, hash, key, len);

	*ret_new = false;
	if (*slot)
		return *slot;
	if (!has_room(table, len))
		return 0;
	slot = find(table, hash, key, len);
	table->keys[table->cnt] = (struct key){ hash, table->bytes.len, len };
	strbuf__add(&table->bytes, key, len);
	if (table->bytes.failed) {
		table->bytes.failed = false;
		return 0;
	}
	*ret_new = true;
	return *slot = ++table->cnt;
}
