/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The culprit: the function that is responsible for a part of the verdict. */
#ifndef JANK_VERDICT_CULPRIT_H
#define JANK_VERDICT_CULPRIT_H

#include "verdict/analysis.h"

/*
 * The application frame with the most time in the part, counting each sample's innermost one; NULL:
 * none was seen. *ret_share (may be NULL): its share of the samples' time, 0 to 1.
 */
const struct frame *culprit__frame(const struct analysis *proof, size_t part, double *ret_share);

/*
 * True if a frame from culprit__frame may represent the whole part. Its function (without a name:
 * its module) needs at least half of the time of stacks with an application frame, and a quarter of
 * the time of all stacks.
 */
bool culprit__stands(const struct analysis *proof, size_t part, const struct frame *frame);

/* True if a frame without a name is only one of several such places of its module. */
bool culprit__is_many(const struct analysis *proof, size_t part, const struct frame *frame);

/*
 * The innermost unnamed application place, by exact address, on the stack for nearly all of the
 * part's time: a common caller, which a debugger can look up. Dispatcher frames do not count. NULL:
 * none.
 */
const struct frame *culprit__shared_place(const struct analysis *proof, size_t part);

/* Like culprit__frame, but from all ticks of the block, whatever their part. */
const struct frame *culprit__running_frame(const struct analysis *proof);

/* The system call with the most time in the part, or NULL. */
const char *culprit__syscall(const struct analysis *proof, size_t part);

/* The kernel function with the most ticks in a part, counting innermost frames; NULL: none. */
const struct frame *culprit__kernel_frame(const struct analysis *proof, size_t part,
					  double *ret_share);

/*
 * The innermost named application function on the stack for at least half of the part's time. It is
 * the same from run to run even if no single function below it is. NULL: none.
 */
const struct frame *culprit__common(const struct analysis *proof, size_t part, double *ret_share);

#endif
