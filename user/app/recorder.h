/* SPDX-License-Identifier: GPL-2.0 */
/* Writes to the journal what a replay could no longer find out: our own record kinds, as JSON. */
#ifndef JANK_RECORDER_H
#define JANK_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "intake/journal.h"
#include "model/block.h"
#include "model/identity.h"
#include "model/judge.h"
#include "model/loss.h"

struct recorder;

struct recorder *recorder__new(struct journal_writer *jw); /* borrowed; NULL: out of memory */
void recorder__free(struct recorder *rec);		   /* accepts NULL */

/* Each returns 0 or the journal's -errno. */
int recorder__stack(struct recorder *rec, uint32_t pid, const struct stack *stack);
/* What stands for an address where a frame is an interpreter's: code objects come and go at the same one. */
uint64_t recorder__native_key(uint64_t address,
			      bool exact); /* exact: the thread was there, not called from there */
uint64_t recorder__script_key(const struct jank_script_frame *frame);
int recorder__message(struct recorder *rec,
		      const struct block *block); /* nothing where none is known */
int recorder__callers(struct recorder *rec, const struct block *block);
int recorder__waited(struct recorder *rec, const struct block *block);
void recorder__gone(struct recorder *rec, uint32_t pid); /* its number may be another's */
int recorder__block(struct recorder *rec, const struct block *block); /* its load, and a flush */
int recorder__left_out(struct recorder *rec,
		       const struct block *block); /* it was no wanted loop's */

int journal__add_session(struct journal_writer *jw, const struct judge *judge, uint64_t hang_ns);
int journal__add_process(struct journal_writer *jw, const struct identity *process);
int journal__add_end(struct journal_writer *jw, const struct summary *summary);

#endif
