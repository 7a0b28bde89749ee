/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/first_turns.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/groups.h"

#define ENTRY_MAX 4096

struct key {
	uint32_t pid, loop;
};

struct entry {
	struct group_node node; /* by struct key */
	uint64_t ns;
	bool main; /* of the main thread */
};

struct first_turns {
	struct groups entries; /* the oldest is dropped for a new one */
};

struct first_turns *first_turns__new(void)
{
	struct first_turns *ret = calloc(1, sizeof(*ret));

	if (ret)
		groups__init(&ret->entries, sizeof(struct entry), ENTRY_MAX, NULL);
	return ret;
}

void first_turns__free(struct first_turns *turns)
{
	if (turns)
		groups__free(&turns->entries);
	free(turns);
}

int first_turns__add(struct first_turns *turns, const struct jank_rec_started *rec)
{
	const struct key key = { rec->hdr.tgid, rec->loop };
	bool main = rec->hdr.tid == rec->hdr.tgid;
	struct entry *entry = groups__find(&turns->entries, &key, sizeof(key));

	if (entry && entry->main && !main)
		return 0;
	if (!entry && groups__is_full(&turns->entries))
		groups__drop(&turns->entries, turns->entries.first);
	if (!entry)
		entry = groups__get(&turns->entries, &key, sizeof(key));
	if (!entry)
		return -ENOMEM;
	entry->ns = rec->end_ns - rec->begin_ns;
	entry->main = main;
	return 0;
}

uint64_t first_turns__of(const struct first_turns *turns, uint32_t pid, uint32_t loop)
{
	const struct key key = { pid, loop };
	const struct entry *entry = groups__find(&turns->entries, &key, sizeof(key));

	return entry ? entry->ns : 0;
}
