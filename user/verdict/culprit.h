/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which function a part of the verdict is blamed on. */
#ifndef JANK_VERDICT_CULPRIT_H
#define JANK_VERDICT_CULPRIT_H

#include "verdict/analysis.h"

/*
 * The application frame with the most of the part's time, by its samples' innermost ones; NULL:
 * none was seen. With ret_share: how much of the samples' time it has, 0 to 1.
 */
const struct frame *culprit__frame(const struct analysis *proof, size_t part, double *ret_share);

/*
 * Whether a frame, as culprit__frame gives it, may name the whole part: its function, or where that
 * has no name its module, has at least half of the time of stacks with an application frame, and a
 * quarter of all stacks' time.
 */
bool culprit__stands(const struct analysis *proof, size_t part, const struct frame *frame);

/* Whether a frame without a name is but one of several such places of its module. */
bool culprit__is_many(const struct analysis *proof, size_t part, const struct frame *frame);

/*
 * The innermost place of the application without a name, by its exact address, that was on the
 * stack for nearly all of the part's time: a caller of those many, which a debugger can look up.
 * The dispatcher's do not count. NULL: none.
 */
const struct frame *culprit__shared_place(const struct analysis *proof, size_t part);

/* The same as culprit__frame by the block's ticks, whatever their part. */
const struct frame *culprit__running_frame(const struct analysis *proof);

/* The system call in which most of the part's time was spent, or NULL. */
const char *culprit__syscall(const struct analysis *proof, size_t part);

/*
 * The kernel's function in which most of a part's ticks were, by their innermost ones; NULL: none.
 */
const struct frame *culprit__kernel_frame(const struct analysis *proof, size_t part,
					  double *ret_share);

/*
 * The innermost application function, with a name, that was on the stack for at least half of the
 * part's time: what stays the same from run to run where no single function below it does. NULL:
 * none.
 */
const struct frame *culprit__common(const struct analysis *proof, size_t part, double *ret_share);

#endif
