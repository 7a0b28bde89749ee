/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Table of the live system's answers in a journal, for replay: the session, processes, the
 * machine's load, names. A journal is untrusted input: entries that do not fit are ignored. One
 * thread. Returned strings live as long as the table.
 */
#ifndef JANK_JOURNAL_ANSWERS_H
#define JANK_JOURNAL_ANSWERS_H

#include "bpf/jank_abi.h"
#include "model/block.h"
#include <stdbool.h>
#include <stdint.h>

#define ANSWERS_INLINED_MAX 64 /* frames of one address */

struct answers;

struct answers_session {
	bool known; /* the journal has such a record */
	uint64_t threshold_ns, hang_ns, elapsed_ns;
	unsigned fps;
	int64_t real_offset_ns;
	struct host_info host; /* strings belong to the table */
};

struct answers *answers__new(void);    /* NULL: out of memory */
void answers__free(struct answers *a); /* accepts NULL */

/* Adds a record of one of the journal's own kinds; others are ignored. 0, -EBADMSG or -ENOMEM. */
int answers__add(struct answers *a, const struct jank_rec *rec);

const struct answers_session *answers__session(const struct answers *a);
const struct identity *answers__process(const struct answers *a, uint32_t pid); /* NULL: unknown */

/*
 * The load that was measured for a block. Also sets memory figures in host, and the offset to wall
 * time. False: none; host and offset are unchanged.
 */
bool answers__load(const struct answers *a, const struct jank_rec_block *rec,
		   struct machine_load *ret, struct host_info *host, int64_t *real_offset_ns);

/* The display's frames that the block missed; empty if none were recorded. */
void answers__display(const struct answers *a, const struct jank_rec_block *rec,
		      struct missed_frames *ret);

/* The name of the block's loop; NULL: only its kind is known. */
const char *answers__loop(const struct answers *a, const struct jank_rec_block *rec);
/* Like answers__loop, for a process's loops in the recording's summary. */
const char *answers__loop_of(const struct answers *a, uint32_t pid, uint32_t loop);
/* True if the recording did not show the block. */
bool answers__left_out(const struct answers *a, const struct jank_rec_block *rec);

/*
 * Steps of a namer (output.h), with answers as the context. Each fills what the journal has and
 * leaves the rest unknown. 0 or -ENOMEM.
 */
int answers__name(void *answers, uint32_t pid, struct stack *stack);
int answers__message(void *answers, struct block *block);
int answers__callers(void *answers, struct block *block);
int answers__waited(void *answers, struct block *block);

/* The losses in the recording's summary; the caller frees *ret. */
int answers__losses(const struct answers *a, struct block_loss **ret, size_t *ret_cnt);

/* Adds what the recording did not watch to an empty list. 0 or -ENOMEM. */
int answers__unwatched(const struct answers *a, struct unwatched_list *ret);

/*
 * Keys of JournalFrames, for an address (`exact`: the thread was at it, it is no return address)
 * and for an interpreter's frame.
 */
uint64_t answers__native_key(uint64_t address, bool exact);
uint64_t answers__script_key(const struct jank_script_frame *frame);

#endif
