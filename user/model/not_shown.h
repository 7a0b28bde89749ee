/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reasons for which a dispatch over the threshold is no block of the output, and the blocks of
 * each. Every place that withholds one counts it here. Hangs are not counted: their blocks are.
 * One thread at a time: the intake thread has counts of its own.
 */
#ifndef JANK_MODEL_NOT_SHOWN_H
#define JANK_MODEL_NOT_SHOWN_H

#include <stdint.h>

struct block;

/* X(NAME, word of the record, what the summary says after the number) */
#define NOT_SHOWN_REASONS(X)                                                                       \
	X(THRESHOLD, "threshold", "below their threshold")                                         \
	X(STOPPED, "stopped", "of stopped processes (--debugging shows them)")                     \
	X(PAUSED, "paused", "while the agent was paused")                                          \
	X(QUEUE, "queue", "lost in a full queue")                                                  \
	X(OVERRIDE, "override", "of processes with watch = no")                                    \
	X(COUNT, "count", "after the last one of -n")                                              \
	X(LOOP, "loop", "of loops that -l leaves out")                                             \
	X(EARLY, "early", "whose waits began before the loop was known")                           \
	X(PROBATION, "probation", "of threads that may be in no loop")                             \
	X(RESTS, "rests", "of idle threads")                                                       \
	X(NESTED, "nested", "of handlers in which their loop turned")                              \
	X(SIG, "sig", "of faults that --sig leaves out")                                           \
	X(IGNORED, "ignored", "by --ignore")                                                       \
	X(LIMITS, "limits", "over the limits of records")

#define NOT_SHOWN_X(NAME, word, phrase) NOT_SHOWN_##NAME,
enum not_shown_reason { NOT_SHOWN_REASONS(NOT_SHOWN_X) NOT_SHOWN_CNT };
#undef NOT_SHOWN_X
#define SHOWN NOT_SHOWN_CNT /* for a function that returns the reason */

struct not_shown {
	uint64_t cnt[NOT_SHOWN_CNT];
	/* Called for the first NOT_SHOWN_TOLD_MAX of each reason; NULL: nobody asks. */
	void (*tell)(enum not_shown_reason reason, uint32_t pid, uint64_t delay_ns);
};
#define NOT_SHOWN_TOLD_MAX 100

void not_shown__add(struct not_shown *not_shown, enum not_shown_reason reason, uint32_t pid,
		    uint64_t delay_ns);

/* The same; a hang is not counted. */
void not_shown__add_block(struct not_shown *not_shown, enum not_shown_reason reason,
			  const struct block *block);

/* Adds the counts of another thread. */
void not_shown__merge(struct not_shown *to, const struct not_shown *from);

const char *not_shown__word(enum not_shown_reason reason);
/* The reason of a word; SHOWN: none, or an unknown word. */
enum not_shown_reason not_shown__reason(const char *word);
/* What the summary says of a word of a record: the word itself if it is unknown. */
const char *not_shown__phrase(const char *word);

#endif
