/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the recorded share: its table of JSON, and how it is read. */
#ifndef JANK_RECORDED_PARTS_H
#define JANK_RECORDED_PARTS_H

#include <jansson.h>
#include <uthash.h>

#include "app/recorded.h"
#include "intake/journal.h"

/* pid and address of frames; tid, whether it is a hang, and start of what is of a block; pid alone of a process */
struct recorded_key {
	uint64_t a, b, kind;
};

struct recorded_entry {
	struct recorded_key key;
	json_t *json;
	struct identity process; /* of JOURNAL_PROCESS */
	UT_hash_handle hh;
};

struct recorded {
	struct recorded_session session;
	struct recorded_entry *entries;
	json_t *session_json, *end_json;
};

/* NULL: there is none. */
const struct recorded_entry *recorded__find(const struct recorded *r, struct recorded_key key);

/* What was recorded of a block, of one kind. NULL: nothing. */
const struct recorded_entry *recorded__of_block(const struct recorded *r, const struct block *block,
						enum journal_kind kind);

/* Members by key; NULL or 0 where they are missing or of another type. */
char *recorded__text(const json_t *json, const char *key);
uint64_t recorded__number(const json_t *json, const char *key);

#endif
