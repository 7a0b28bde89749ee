/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writer of the journal's own records: answers of the live system that a replay cannot ask for, as
 * messages of schema/journal.proto. Used by the thread that owns the output and the journal's
 * writer. Each function returns 0 or the journal's -errno.
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
 * Facts about a block or hang beyond the kernel's records. Call it when its message and waits have
 * names.
 */
int answers_writer__block(struct answers_writer *w, const struct block *block);
/* The callers found in its stack copies. Call it before the frames get names. */
int answers_writer__callers(struct answers_writer *w, const struct block *block);
/* The names of a stack's frames, once for each address of the process. */
int answers_writer__stack(struct answers_writer *w, uint32_t pid, const struct stack *stack);
/* All losses, including those found since the block was judged. */
int answers_writer__losses(struct answers_writer *w, const struct block *block);
/* The block was not shown. */
int answers_writer__left_out(struct answers_writer *w, const struct block *block);
/* The process ended: its pid may be reused. */
void answers_writer__on_exit(struct answers_writer *w, uint32_t pid);

/* Records that a journal holds once, or once for each process. */
int journal__add_session(struct journal_writer *jw, const struct judge *judge, uint64_t hang_ns);
int journal__add_process(struct journal_writer *jw, const struct identity *process);
int journal__add_end(struct journal_writer *jw, const struct summary *summary);

#endif
