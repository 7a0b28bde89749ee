/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records as messages of schema/blockinfo.proto, made of blocks and summaries: the one place that
 * knows which field holds what. What isn't known is left out, never guessed. A builder is used by
 * one thread at a time.
 */
#ifndef JANK_EXPORT_RECORD_RECORD_H
#define JANK_EXPORT_RECORD_RECORD_H

#include "base/strbuf.h"
#include "model/block.h"
#include "schema/blockinfo.pb-c.h"

struct record; /* the builder: it owns its last message */

struct record *record__new(void);	  /* NULL: out of memory */
void record__free(struct record *record); /* accepts NULL */

/*
 * Each makes a message that is valid until the builder's next call, and while the block or summary
 * lives: its strings are borrowed where they are UTF-8. NULL: out of memory.
 */
const Jankbpf__Record *record__of_block(struct record *record, const struct block *block);
const Jankbpf__Record *record__of_summary(struct record *record, const struct summary *summary);

/* A block without the stacks of its samples and of its chain. */
Jankbpf__Block *record__without_stacks(struct record *record, const struct block *block);

/* At least one frame; losses. */
Jankbpf__Frame **record__frames(struct record *record, const struct frame *frames, size_t cnt);
Jankbpf__Lost *record__losses(struct record *record, const struct block_loss *lost, size_t cnt);

/* JSON of a block or summary, one line without its newline; sb->failed when out of memory. */
void json__add_block(struct strbuf *sb, const struct block *block);
void json__add_summary(struct strbuf *sb, const struct summary *summary);

#endif
