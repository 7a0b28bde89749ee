/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clauses of the sentence, one for each part of the verdict. Internal to sentence*.c. */
#ifndef JANK_VERDICT_SENTENCE_PARTS_H
#define JANK_VERDICT_SENTENCE_PARTS_H

#include "base/strbuf.h"
#include "model/chain/wait_reason.h"
#include "verdict/analysis.h"

/* A clause under construction. */
struct clause {
	struct strbuf *sb;
	const struct analysis *proof;
	const struct block *block;
	size_t nr; /* index of the part */
	const struct cause_part *part;
	const struct sample *sample; /* with the most weight; NULL: none */
	uint64_t ns;
	bool open; /* it still lasts (hang) */
};

void clause__add_busy(struct clause *c);     /* on the CPU */
void clause__add_runnable(struct clause *c); /* waiting for a CPU */
void clause__add_wait(struct clause *c);     /* blocked */

/* "waited 150 ms", or "has been waiting for 5.2 s" */
void clause__add_verb(struct clause *c, const char *past, const char *going_on);

/* Adds a part's frame, which may represent several places. */
void clause__add_frame(struct clause *c, const struct frame *frame);

/*
 * Adds " in CALL ← ". frame: the application frame of the moment (NULL: not known). Returns true if
 * the caller must add that frame next.
 */
bool sentence__add_call(struct strbuf *sb, const struct activity *moment,
			const struct frame *frame);

/* Adds " in CALL ← FUNCTION", as far as known, for a moment of another thread. */
void sentence__add_place(struct strbuf *sb, const struct block *block,
			 const struct activity *moment);

/*
 * Adds " (runtime.gcStart) ← f": the collector's outermost function, and the application function
 * that called it.
 */
void sentence__add_collector(struct strbuf *sb, const struct block *block,
			     const struct activity *moment);

/* Adds the object of the wait: " for a mutex", " in garbage collection" … */
void sentence__add_object(struct strbuf *sb, const struct block *block,
			  const struct activity *moment, const char *what);

/* True if the words of this reason follow "spent", not "waited". */
bool sentence__is_spent(const char *what);

/*
 * Adds the chain: " held by thread 'x' (tid 12), which …". from: the first link to add; moment: the
 * activity of the thread that waited for it.
 */
void sentence__add_chain(struct strbuf *sb, const struct block *block, size_t from,
			 const struct activity *moment, const char *what);

/* Adds the owner or the waker, for a wait without a chain. */
void sentence__add_other(struct strbuf *sb, const struct block *block, const struct sample *sample,
			 const char *what);

#endif
