/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hash table, which keeps the order in which its entries were added. */
#include "model/first_turns.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/hash.h"

#define ENTRY_MAX 4096

struct key {
	uint32_t pid, loop;
};

struct entry {
	struct key key;
	uint64_t ns;
	bool main; /* of the main thread */
	UT_hash_handle hh;
};

struct first_turns {
	struct entry *entries;
};

struct first_turns *first_turns__new(void)
{
	return calloc(1, sizeof(struct first_turns));
}

static void drop(struct first_turns *turns, struct entry *entry)
{
	HASH_DEL(turns->entries, entry);
	free(entry);
}

void first_turns__free(struct first_turns *turns)
{
	while (turns && turns->entries)
		drop(turns, turns->entries);
	free(turns);
}

static struct entry *find(const struct first_turns *turns, struct key key)
{
	struct entry *entry;

	HASH_FIND(hh, turns->entries, &key, sizeof(key), entry);
	return entry;
}

int first_turns__add(struct first_turns *turns, const struct jank_rec_started *rec)
{
	struct key key = { rec->hdr.tgid, rec->loop };
	bool main = rec->hdr.tid == rec->hdr.tgid;
	struct entry *entry = find(turns, key);

	if (entry && entry->main && !main)
		return 0;
	if (!entry) {
		if (HASH_COUNT(turns->entries) >= ENTRY_MAX)
			drop(turns, turns->entries);
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			return -ENOMEM;
		entry->key = key;
		HASH_ADD(hh, turns->entries, key, sizeof(key), entry);
	}
	entry->ns = rec->end_ns - rec->begin_ns;
	entry->main = main;
	return 0;
}

uint64_t first_turns__of(const struct first_turns *turns, uint32_t pid, uint32_t loop)
{
	const struct entry *entry = find(turns, (struct key){ pid, loop });

	return entry ? entry->ns : 0;
}
