/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builder of records: turns blocks and summaries into messages of schema/blockinfo.proto. Only this
 * code knows which field holds what. Unknown values are left out, never guessed. One thread at a
 * time per builder.
 */
#ifndef JANK_EXPORT_RECORD_RECORD_H
#define JANK_EXPORT_RECORD_RECORD_H

#include "base/strbuf.h"
#include "model/block.h"
#include "schema/blockinfo.pb-c.h"

struct record; /* the builder; it owns its last message */

struct record *record__new(void);	  /* NULL: out of memory */
void record__free(struct record *record); /* accepts NULL */

/*
 * Each makes a message that is valid until the builder's next call, and as long as the block or
 * summary lives: UTF-8 strings are borrowed from it. NULL: out of memory.
 */
const Jankbpf__Record *record__of_block(struct record *record, const struct block *block);
const Jankbpf__Record *record__of_summary(struct record *record, const struct summary *summary);

/* A block without the stacks of its samples and chain. */
Jankbpf__Block *record__without_stacks(struct record *record, const struct block *block);

/* Convert frames (at least one) and losses. */
Jankbpf__Frame **record__frames(struct record *record, const struct frame *frames, size_t cnt);
Jankbpf__Lost *record__losses(struct record *record, const struct block_loss *lost, size_t cnt);

/* Add a block or summary as JSON, one line without its newline; sb->failed when out of memory. */
void json__add_block(struct strbuf *sb, const struct block *block);
void json__add_summary(struct strbuf *sb, const struct summary *summary);

#endif
