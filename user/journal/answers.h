/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Table of the live system's answers in a journal, for replay: the session, processes, the
 * machine's load, names. A journal is untrusted input: entries that do not fit are ignored. One
 * thread. Returned strings live as long as the table.
 */
#ifndef JANK_JOURNAL_ANSWERS_H
#define JANK_JOURNAL_ANSWERS_H

#include "bpf/jank_abi.h"
#include "journal/journal.h"
#include "model/block.h"
#include "model/loop.h"
#include "schema/journal.pb-c.h"
#include <stdbool.h>
#include <stdint.h>

#define ANSWERS_INLINED_MAX 64 /* frames of one address */

struct answers;

struct answers_session {
	bool known; /* the journal has such a record */
	uint64_t threshold_ns, hang_ns, startup_ns, elapsed_ns;
	unsigned fps;
	int64_t real_offset_ns;
	struct host_info host; /* strings belong to the table */
};

struct answers *answers__new(void);    /* NULL: out of memory */
void answers__free(struct answers *a); /* accepts NULL */

/* Adds a record of one of the journal's own kinds; others are ignored. 0, -EBADMSG or -ENOMEM. */
int answers__add(struct answers *a, const struct jank_rec *rec);

const struct answers_session *answers__session(const struct answers *a);
const Jankbpf__Identity *answers__process(const struct answers *a,
					  uint32_t pid); /* NULL: unknown */

/*
 * Sets the offset to wall time and the machine's memory as of the block. False: not known; they are
 * unchanged.
 */
bool answers__time(const struct answers *a, const struct jank_rec_block *rec,
		   struct host_info *memory, int64_t *real_offset_ns);

/* The name of the block's loop; NULL: only its kind is known. */
const char *answers__loop(const struct answers *a, const struct jank_rec_block *rec);
/* Like answers__loop, for a process's loops in the recording's summary. */
const char *answers__loop_of(const struct answers *a, uint32_t pid, uint32_t loop);
/* True if the recording did not show the block. *ret_reason: why; SHOWN: not known. */
bool answers__left_out(const struct answers *a, const struct jank_rec_block *rec,
		       enum not_shown_reason *ret_reason);

/*
 * Steps of a namer (output.h), with answers as the context. Each fills what the journal has and
 * leaves the rest unknown. 0 or -ENOMEM.
 */
int answers__name(void *answers, uint32_t pid, struct stack *stack);
int answers__callers(void *answers, struct block *block);
int answers__waited(void *answers, struct block *block);

/* The losses in the recording's summary; the caller frees *ret. */
int answers__losses(const struct answers *a, struct block_loss **ret, size_t *ret_cnt);

/* Adds what the recording did not watch to an empty list. 0 or -ENOMEM. */
int answers__unwatched(const struct answers *a, struct unwatched_list *ret);

/* Adds the recording's users over their share. */
void answers__over_share(const struct answers *a, struct over_shares *ret);

/*
 * Keys of JournalFrames, for an address (`exact`: the thread was at it, it is no return address)
 * and for an interpreter's frame.
 */
uint64_t answers__native_key(uint64_t address, bool exact);
uint64_t answers__script_key(const struct jank_script_frame *frame);

/*
 * --- Copies of a journal's messages into a block. Each returns 0 or -ENOMEM; strings are copied
 * unless stated otherwise.
 */

/* Names of wait objects of its spans and links, and facts about its CPU and quota. */
int answers__take_waited(struct block *block, const Jankbpf__Block *from);

/* Takes a chain that was read from the live system, after answers__take_waited. 0 or -ENOMEM. */
int answers__take_chain(struct block *block, const Jankbpf__JournalAnswers *answers);
/* Losses of the record that the replay does not know yet. */
int answers__take_losses(struct block *block, const Jankbpf__Lost *lost);
uint64_t answers__loss(const Jankbpf__Lost *lost, int reason); /* 0: none */
int answers__take_callers(struct block *block, const Jankbpf__JournalCallers *from);
/* The frames of one address, or a bare frame for NULL. Their strings are borrowed. */
int answers__add_frames(struct stack *stack, const Jankbpf__JournalFrames *from, uint64_t address,
			bool kernel);

/*
 * --- Writer of the journal's own records: answers of the live system that a replay cannot ask for,
 * as messages of schema/journal.proto. Used by the thread that owns the output and the journal's
 * writer. Each function returns 0 or the journal's -errno.
 */

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
int answers_writer__left_out(struct answers_writer *w, const struct block *block,
			     enum not_shown_reason reason);
/* The process ended: its pid may be reused. */
void answers_writer__on_exit(struct answers_writer *w, uint32_t pid);

/* Records that a journal holds once, or once for each process. */
int journal__add_session(struct journal_writer *jw, const struct judge *judge, uint64_t hang_ns);
int journal__add_process(struct journal_writer *jw, const Jankbpf__Identity *process);
int journal__add_end(struct journal_writer *jw, const struct summary *summary);

#endif
