/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can be said of a stack once its frames have names. */
#ifndef JANK_MODEL_STACK_H
#define JANK_MODEL_STACK_H

#include "model/block.h"
#include <stdbool.h>

/* Removes the probe's own frames from the leaf end: the tracepoint that took the stack. */
void stack__trim_probe(struct stack *stack);

/*
 * Cuts the user part where it leaves all code: code built without frame pointers leaves any value
 * in their register, and the walk goes astray.
 */
void stack__trim_stray(struct stack *stack);

/*
 * Marks the frames that belong to the dispatcher: from the outermost one inward, those whose
 * address or function is among the callers of the loop's wait. A frame of managed code ends it,
 * since all of an interpreter's functions share their callers.
 */
void stack__mark_dispatcher(struct stack *stack, const struct stack *idle_place);

/*
 * The innermost frame of the target's own code that has a name, else one that has none, or NULL.
 * The dispatcher's count only where there are no others.
 */
const struct frame *stack__app_frame(const struct stack *stack);

/*
 * The same where a thread was busy: what it computed is told by the inner functions of its runtime,
 * too, which are nobody's where one waits.
 */
const struct frame *stack__busy_frame(const struct stack *stack);

/* The one of these that goes with the state, JANK_STATE_*. */
const struct frame *stack__frame_in(const struct stack *stack, uint32_t state);

/* Do both frames stand for one function of one module? Code without a name counts by its module. */
bool stack__same_code(const struct frame *a, const struct frame *b);

/* Is it the application's, not an inner function of its runtime? */
bool stack__is_app(const struct frame *frame);

/* Does the user part reach the thread's first function? False for no user part. */
bool stack__reaches_start(const struct stack *stack);

#endif
