/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writer of the journal's own records: the answers of the live system that a replay can no longer
 * ask for, as messages of schema/journal.proto. Used by the thread that owns the output, as the
 * journal's writer is. Each function returns 0 or the journal's -errno.
 */
#ifndef JANK_JOURNAL_ANSWERS_WRITER_H
#define JANK_JOURNAL_ANSWERS_WRITER_H

#include "journal/journal.h"
#include "model/block.h"
#include "model/judge.h"
#include <stdint.h>

struct answers_writer;

struct answers_writer *answers_writer__new(struct journal_writer *jw); /* borrowed; NULL: ENOMEM */
void answers_writer__free(struct answers_writer *w);		       /* accepts NULL */

/*
 * What is known of a block or hang besides the kernel's records, once its message and its waits
 * have names.
 */
int answers_writer__block(struct answers_writer *w, const struct block *block);
/* The callers that were found in copies of its stacks, before the frames get names. */
int answers_writer__callers(struct answers_writer *w, const struct block *block);
/* The names of a stack's frames, for each address of the process once. */
int answers_writer__stack(struct answers_writer *w, uint32_t pid, const struct stack *stack);
/* Losses that were found since the block was judged, with those of before. */
int answers_writer__losses(struct answers_writer *w, const struct block *block);
/* The block was not shown. */
int answers_writer__left_out(struct answers_writer *w, const struct block *block);
/* The process ended: its pid may become another's. */
void answers_writer__on_exit(struct answers_writer *w, uint32_t pid);

/* What a journal holds once, and once for each process. */
int journal__add_session(struct journal_writer *jw, const struct judge *judge, uint64_t hang_ns);
int journal__add_process(struct journal_writer *jw, const struct identity *process);
int journal__add_end(struct journal_writer *jw, const struct summary *summary);

#endif
