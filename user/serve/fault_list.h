/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The faults of a directory by its index: the figures of each, and the worst blocks. One thread. */
#ifndef JANK_SERVE_FAULT_LIST_H
#define JANK_SERVE_FAULT_LIST_H

#include "serve/record_index.h"

/* A block, in the order of a list: by signature, then the longest first. */
struct listed_block {
	uint64_t sig, delay_ns, seq;
};

/*
 * All blocks that are shown: hangs that go on are, records of the same dispatch are once. The
 * caller frees *ret. 0 or -ENOMEM.
 */
int fault_list__make(struct record_index *index, struct listed_block **ret, size_t *ret_cnt);

/*
 * Numbers of the worst records before `before`, ascending: the worst of each fault, then the
 * longest of all; at most max. Changes the order of the list. Returns their number.
 */
size_t fault_list__worst(struct listed_block *list, size_t cnt, uint64_t before, uint64_t *ret,
			 size_t max);

/*
 * Adds a JSON array of the faults: {"worst":SEQ,"blocks":COUNT,"total_ns":NS,"max_ns":NS,"p50_ns":
 * NS}, of its longest block and of the delays. list: as fault_list__make made it.
 */
void fault_list__add_json(struct strbuf *sb, const struct listed_block *list, size_t cnt);

#endif
