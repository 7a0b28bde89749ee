/* SPDX-License-Identifier: GPL-2.0 */
/* Frames without a name in a record's JSON, and names put in their place. */
#ifndef JANK_NAMED_JSON_H
#define JANK_NAMED_JSON_H

#include <jansson.h>
#include <uthash.h>

#include "symbol/offline.h"

/* A build id of which names are missing. */
struct missing {
	UT_hash_handle hh;
	uint64_t cnt;
	bool found; /* there is a file of it */
	char *module;
	char build_id[];
};

struct named_json {
	struct offline *offline; /* owned */
	uint64_t nameless_cnt, named_cnt, lost_cnt;
	struct missing *missing;
	const json_t *record; /* the one that is being filled */
};

/* Names what can be named anywhere in it. Whether anything was. */
bool named_json__fill(struct named_json *named, json_t *json);

void named_json__free(struct named_json *named);

#endif
