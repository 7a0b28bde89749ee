/* SPDX-License-Identifier: GPL-2.0 */
/* What a journal knows besides events: the session, processes, the machine's load, frames' names. */
#ifndef JANK_RECORDED_H
#define JANK_RECORDED_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/jank_abi.h"
#include "model/block.h"
#include "model/identity.h"

struct recorded;

struct recorded_session {
	bool known; /* there was such a record */
	uint64_t threshold_ns, hang_ns, elapsed_ns;
	unsigned fps;
	int64_t real_offset_ns;
	struct host_info host; /* strings belong to the recorded */
};

struct recorded *recorded__new(void);	 /* NULL: out of memory */
void recorded__free(struct recorded *r); /* accepts NULL */

/* Takes in a record of one of the journal's own kinds; others are ignored. 0, -EBADMSG or -ENOMEM. */
int recorded__add(struct recorded *r, const struct jank_rec *rec);

const struct recorded_session *recorded__session(const struct recorded *r);
const struct identity *recorded__process(const struct recorded *r,
					 uint32_t pid); /* NULL: unknown */

/*
 * The load that was measured for a block; also its memory figures, into host, and what made its wall
 * time. False: none, these two are left alone.
 */
bool recorded__load(const struct recorded *r, const struct jank_rec_block *rec,
		    struct machine_load *ret, struct host_info *host, int64_t *real_offset_ns);

/* The frames of a display that it missed; none where none were recorded. */
void recorded__frames(const struct recorded *r, const struct jank_rec_block *rec,
		      struct missed_frames *ret);

/* The name that the block's loop had; NULL: only its kind is known. */
const char *recorded__loop(const struct recorded *r, const struct jank_rec_block *rec);
/* Was it not shown, since its loop was not wanted, or enough had been? */
bool recorded__left_out(const struct recorded *r, const struct jank_rec_block *rec);
/* The same of a process's loops, as in the recording's summary. */
const char *recorded__loop_of(const struct recorded *r, uint32_t pid, uint32_t loop);

/* Fills the stack's frames; an address that the journal does not name stays bare. 0 or -ENOMEM. */
int recorded__name(void *recorded, uint32_t pid, struct stack *stack);

/* Fills the block's message with the names that it had; what the journal lacks stays unknown. 0 or -ENOMEM. */
int recorded__message(void *recorded, struct block *block);

/* Puts the callers that were found into the block's stacks. 0 or -ENOMEM. */
int recorded__callers(void *recorded, struct block *block);

/* Fills the names of what the block waited for, and for whom, in the same manner. */
int recorded__waited(void *recorded, struct block *block);

/* The losses that the recording counted, as in its summary; *ret owned by the caller. */
int recorded__losses(const struct recorded *r, struct block_loss **ret, size_t *ret_cnt);

#endif
