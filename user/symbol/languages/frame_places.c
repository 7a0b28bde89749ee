/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two hash tables: when the recent one is full, it becomes the old one. See frame_places.h. */
#include "symbol/languages/frame_places.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define HALF_BYTES (1u << 20)

struct place_entry {
	UT_hash_handle hh;
	uint64_t key;
	size_t bytes;
	struct frame_place place; /* its functions and their texts follow */
};

static void free_all(struct place_entry **table)
{
	struct place_entry *entry, *next;

	HASH_ITER (hh, *table, entry, next) {
		HASH_DEL(*table, entry);
		free(entry);
	}
}

/* Adds the entry to the recent ones. Owned by the table, also when there is no memory. */
static void keep(struct frame_places *places, struct place_entry *entry)
{
	size_t bytes = entry->bytes;

	if (places->recent_bytes + bytes > HALF_BYTES) {
		free_all(&places->old);
		places->old = places->recent;
		places->old_bytes = places->recent_bytes;
		places->recent = NULL;
		places->recent_bytes = 0;
	}
	HASH_ADD(hh, places->recent, key, sizeof(entry->key), entry);
	if (entry)
		places->recent_bytes += bytes;
}

static struct place_entry *find(struct place_entry *table, uint64_t key)
{
	struct place_entry *ret;

	HASH_FIND(hh, table, &key, sizeof(key), ret);
	return ret;
}

const struct frame_place *frame_places__find(struct frame_places *places, uint64_t key)
{
	struct place_entry *entry = find(places->recent, key);

	if (!entry) {
		entry = find(places->old, key);
		if (!entry)
			return NULL;
		HASH_DEL(places->old, entry);
		places->old_bytes -= entry->bytes;
		keep(places, entry);
		entry = find(places->recent, key);
	}
	return entry ? &entry->place : NULL;
}

static size_t text_sz(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

static const char *put_text(char **at, const char *text)
{
	const char *ret = *at;

	if (!text)
		return NULL;
	memcpy(*at, text, text_sz(text));
	*at += text_sz(text);
	return ret;
}

void frame_places__add(struct frame_places *places, uint64_t key,
		       const struct place_function *functions, uint32_t cnt)
{
	size_t bytes = sizeof(struct place_entry) + cnt * sizeof(*functions);
	struct place_entry *entry;
	char *texts;

	for (uint32_t i = 0; i < cnt; i++)
		bytes += text_sz(functions[i].function) + text_sz(functions[i].file);
	entry = calloc(1, bytes);
	if (!entry)
		return;
	entry->key = key;
	entry->bytes = bytes;
	entry->place.cnt = cnt;
	texts = (char *)&entry->place.functions[cnt];
	for (uint32_t i = 0; i < cnt; i++)
		entry->place.functions[i] = (struct place_function){
			.function = put_text(&texts, functions[i].function),
			.file = put_text(&texts, functions[i].file),
			.line = functions[i].line,
			.interpreted = functions[i].interpreted,
			.glue = functions[i].glue,
		};
	keep(places, entry);
}

size_t frame_places__bytes(const struct frame_places *places)
{
	return places->recent_bytes + places->old_bytes;
}

void frame_places__free(struct frame_places *places)
{
	free_all(&places->recent);
	free_all(&places->old);
	*places = (struct frame_places){};
}
