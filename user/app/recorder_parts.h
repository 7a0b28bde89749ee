/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the recorder share. */
#ifndef JANK_RECORDER_PARTS_H
#define JANK_RECORDER_PARTS_H

#include "app/recorder.h"
#include "base/jsonw.h"
#include "base/strbuf.h"

struct process; /* the addresses of one that were written */

struct recorder {
	struct journal_writer *jw;
	struct process *processes;
	size_t seen_cnt; /* of all of them */
	struct strbuf json;
};

/* Begins what is recorded of a block, by what a replay finds the block again; and writes it. 0 or -errno. */
void recorder__begin(struct recorder *rec, const struct block *block, struct jsonw *w);
int recorder__write(struct recorder *rec, enum journal_kind kind, struct jsonw *w);

#endif
