/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for the frames of a finished record that has only module, build id and offset. Not
 * thread-safe.
 */
#ifndef JANK_CLI_RECORD_NAMES_H
#define JANK_CLI_RECORD_NAMES_H

#include "base/hash.h"
#include "schema/blockinfo.pb-c.h"
#include "symbol/modules/offline.h"

/* A build id with frames that have no name. */
struct missing_module {
	UT_hash_handle hh;
	uint64_t cnt;
	bool found; /* a file with that build id exists */
	char *module;
	char build_id[];
};

struct record_names {
	struct offline *offline; /* owned */
	uint64_t nameless_cnt, named_cnt;
	uint64_t no_build_id_cnt; /* of the nameless */
	struct missing_module *missing;
	const Jankbpf__Record *record; /* the record being filled */
};

/*
 * Names the frames of a record that was unpacked or read from JSON; its memory is malloc's. Returns
 * 1 if a frame got a name, 0 if none did, or -ENOMEM.
 */
int record_names__fill(struct record_names *names, Jankbpf__Record *record);
void record_names__free(struct record_names *names); /* frees the contents, not names */

#endif
