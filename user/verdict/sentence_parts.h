/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sentence's clauses, one for each part of the verdict. Inside of sentence*.c only. */
#ifndef JANK_VERDICT_SENTENCE_PARTS_H
#define JANK_VERDICT_SENTENCE_PARTS_H

#include "base/strbuf.h"
#include "model/chain/wait_reason.h"
#include "verdict/analysis.h"

/* A clause that is being made. */
struct clause {
	struct strbuf *sb;
	const struct analysis *proof;
	const struct block *block;
	size_t nr; /* of the part */
	const struct cause_part *part;
	const struct sample *sample; /* that answers for the most of it; NULL: none */
	uint64_t ns;
	bool open; /* it goes on: a hang's */
};

void clause__add_busy(struct clause *c);     /* on the CPU */
void clause__add_runnable(struct clause *c); /* waiting for one */
void clause__add_wait(struct clause *c);     /* blocked */

/* "waited 150 ms", or "has been waiting for 5.2 s" */
void clause__add_verb(struct clause *c, const char *past, const char *going_on);

/* A part's frame, which may stand for several places. */
void clause__add_frame(struct clause *c, const struct frame *frame);

/*
 * " in CALL ← ", of a moment that was in that frame (NULL: not known), which the caller adds if
 * true is returned.
 */
bool sentence__add_call(struct strbuf *sb, const struct activity *moment,
			const struct frame *frame);

/* " in CALL ← FUNCTION", as far as it is known: of a moment of another thread. */
void sentence__add_place(struct strbuf *sb, const struct block *block,
			 const struct activity *moment);

/*
 * " (runtime.gcStart) ← f": the collector's outermost function, and the application's that it was
 * called by.
 */
void sentence__add_collector(struct strbuf *sb, const struct block *block,
			     const struct activity *moment);

/* What was waited for: " for a mutex", " in garbage collection" … */
void sentence__add_object(struct strbuf *sb, const struct block *block,
			  const struct activity *moment, const char *what);

/* Do the what's words go with "spent", not with "waited"? */
bool sentence__is_spent(const char *what);

/*
 * Whom the wait was for, and what that one did, to the end: " held by thread 'x' (tid 12), which
 * …". from: the chain's link to begin with; moment: of the one that waited for it.
 */
void sentence__add_chain(struct strbuf *sb, const struct block *block, size_t from,
			 const struct activity *moment, const char *what);

/* Who held it, or ended it, where there is no chain. */
void sentence__add_other(struct strbuf *sb, const struct block *block, const struct sample *sample,
			 const char *what);

#endif
