/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A block with the analysis of its samples, the input for the parts of the verdict. Internal to
 * user/verdict/.
 */
#ifndef JANK_VERDICT_ANALYSIS_H
#define JANK_VERDICT_ANALYSIS_H

#include "base/strbuf.h"
#include "model/block.h"

struct analysis {
	struct block *block;
	const char **reasons;	    /* per sample: the reason in its own state; NULL: not known */
	const struct frame **calls; /* per sample: wait_reason__frame; NULL: none */
	int *part;		    /* per sample: index into cause.parts; -1: none */
};

/*
 * Determines the reason of each sample. 0 or -ENOMEM. Borrows the block; freed by analysis__free.
 */
int analysis__read(struct analysis *analysis, struct block *block);
void analysis__free(struct analysis *analysis);

/*
 * The weight of sample i in a part: ns of a span, 1 for a tick, 0 if not in the part. Time after a
 * wake-up belongs to the runnable part, whatever the state of the span.
 */
uint64_t analysis__weight(const struct analysis *analysis, size_t i, size_t part);

/*
 * The sample with the most weight in a part; if the part has a frame, only samples in that frame.
 * The first of equals; NULL: none.
 */
const struct sample *analysis__main_sample(const struct analysis *analysis, size_t part);

/* True if the chain explains the wait that represents this part (analysis__main_wait). */
bool analysis__has_chain(const struct analysis *analysis, size_t part);

/*
 * --- Waits of a part that are the same. A part adds up the waits of one state and one reason. They
 * may differ in their calls and objects, and small waits for other reasons are added to them. So a
 * time is only said of the waits that are the same in all that the sentence says of them.
 */

enum {
	SAME_OBJECT = 1, /* file, peer, path, or lock */
	SAME_CALL = 2,	 /* system call and library function */
};

/*
 * The wait that represents the part: the longest one of those that are the same as each other
 * (reason, object, call) and took the most time together. NULL: no span is in the part.
 */
const struct sample *analysis__main_wait(const struct analysis *analysis, size_t part);

/* True if both samples have the same reason, and the same in `what` (SAME_*). */
bool analysis__is_same(const struct analysis *analysis, const struct sample *a,
		       const struct sample *b, unsigned what);

/* ns of the part's samples with the reason of `sample`, and the same in `what` (SAME_*). */
uint64_t analysis__same_ns(const struct analysis *analysis, size_t part,
			   const struct sample *sample, unsigned what);

/* ns of all samples of the part. */
uint64_t analysis__seen_ns(const struct analysis *analysis, size_t part);

/*
 * The last link of that chain with a known state, else the last link; NULL: the part has no chain.
 */
const struct link *analysis__chain_end(const struct analysis *analysis, size_t part);

/*
 * --- The parts of the verdict are the states, and the reasons in them, that took at least a tenth
 * of the time.
 */

/*
 * Fills cause.parts, except their frames, and the part of each sample. There is always at least one
 * part, of the largest state. Groups of less than a tenth count for the largest part of their
 * state.
 */
void breakdown__divide(struct analysis *analysis);

/* --- The culprit: the function that is responsible for a part of the verdict. */

/*
 * The application frame with the most time in the part, counting each sample's innermost one; NULL:
 * none was seen. *ret_share (may be NULL): its share of the samples' time, 0 to 1.
 */
const struct frame *culprit__frame(const struct analysis *analysis, size_t part, double *ret_share);

/*
 * True if a frame from culprit__frame may represent the whole part. Its function (without a name:
 * see stack__same_code) needs at least half of the time of stacks with an application frame, and a
 * quarter of the time of all stacks.
 */
bool culprit__stands(const struct analysis *analysis, size_t part, const struct frame *frame);

/* True if a frame without a name is only one of several such places of its module. */
bool culprit__is_many(const struct analysis *analysis, size_t part, const struct frame *frame);

/*
 * The innermost unnamed application place, by exact address, on the stack for nearly all of the
 * part's time: a common caller, which a debugger can look up. Dispatcher frames do not count. NULL:
 * none.
 */
const struct frame *culprit__shared_place(const struct analysis *analysis, size_t part);

/*
 * What the part's function did for most of its time, in words: "JSON.parse". From the runtime's
 * functions below it (loops/wait_reasons.tbl). NULL: not known.
 */
const char *culprit__activity(const struct analysis *analysis, size_t part,
			      const struct frame *frame);

/* The line at which the part's function of a language was for most of its time; 0: not known. */
uint32_t culprit__line(const struct analysis *analysis, size_t part, const struct frame *frame);

/*
 * The handler in which the part's frame took nearly all of its time: the outermost function of the
 * program that the loop called. NULL: not known, several, or the frame itself.
 */
const struct frame *culprit__handler(const struct analysis *analysis, size_t part,
				     const struct frame *frame);

/* Like culprit__frame, but from all ticks of the block, whatever their part. */
const struct frame *culprit__running_frame(const struct analysis *analysis);

/* The system call with the most time in the part, or NULL. */
const char *culprit__syscall(const struct analysis *analysis, size_t part);

/* The kernel function with the most ticks in a part, counting innermost frames; NULL: none. */
const struct frame *culprit__kernel_frame(const struct analysis *analysis, size_t part,
					  double *ret_share);

/*
 * The innermost function of the program's own code on the stack for 69 % of the part's
 * time; if there is none, of all application code. Without a name it counts if its start is known.
 * It is the same from run to run even if no single function below it is. NULL: none.
 */
const struct frame *culprit__common(const struct analysis *analysis, size_t part,
				    double *ret_share);

/*
 * --- The signature of a fault: the same for the same fault on any run, machine and build
 * (functions without names: of that build); different for different faults.
 */

/* Fills cause.signature from the parts, of which there is at least one. */
void signature__make(struct analysis *analysis);

/* --- Stable names, without the parts that differ between builds, machines or runs. */

/* A module: the file name without directories and versions; NULL adds nothing. */
void stable_name__add_module(struct strbuf *sb, const char *module);

#endif
