/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations on stacks with named frames. */
#ifndef JANK_MODEL_STACK_H
#define JANK_MODEL_STACK_H

#include "model/block.h"
#include <stdbool.h>

/* Removes the probe's own frames from the leaf end: the tracepoint that took the stack. */
void stack__trim_probe(struct stack *stack);

/*
 * Cuts the user part at the first address outside of all code. Code built without frame pointers
 * leaves any value in that register, so the unwinding goes astray.
 */
void stack__trim_stray(struct stack *stack);

/*
 * Marks the dispatcher's frames: from the outermost inward, those with an address or function in
 * the callers of the loop's wait. A frame of interpreted or JIT code ends the search, because all
 * functions of an interpreter share their callers. A runtime's frames are not blamed either: their
 * `app` is false (symbol/languages/runtime.h).
 */
void stack__mark_dispatcher(struct stack *stack, const struct stack *idle_place);

/* True if it has this frame: the same address, or the same named function. */
bool stack__has(const struct stack *stack, const struct frame *frame);

/* True if it has frames of an interpreter, or of JIT code whose language is known. */
bool stack__has_language(const struct stack *stack);

/* True if a stack of its samples has such frames. */
bool block__has_language(const struct block *block);

/*
 * Sets each frame's owner, by the path of the program (NULL: changes nothing). A stack with frames
 * of an interpreter or JIT compiler is left alone: these frames are the application's. So is main,
 * which calls everything. Constant time for each frame and module.
 */
void stack__mark_owners(struct stack *stack, const char *exe);

/*
 * The frame to blame, or NULL: the innermost one of the program's own code (stack__mark_owners),
 * with or without a name; else the innermost other application frame, one with a name first.
 * Dispatcher frames count only if there are no others, and a library's never.
 */
const struct frame *stack__app_frame(const struct stack *stack);

/*
 * The same for a busy thread: inner functions of its runtime count too. They say what it computes,
 * but not why a thread waits.
 */
const struct frame *stack__busy_frame(const struct stack *stack);

/* stack__busy_frame or stack__app_frame, depending on the state (JANK_STATE_*). */
const struct frame *stack__frame_in(const struct stack *stack, uint32_t state);

/*
 * True if both frames have the same function and module. A function without a name is known by its
 * start; if that is unknown, too, all such code of a module is the same.
 */
bool stack__same_code(const struct frame *a, const struct frame *b);

/* True for application code that is not an inner function of its runtime. */
bool stack__is_app(const struct frame *frame);

/*
 * True if the callers of a wait are all there, or all up to JIT code, which has no unwind tables:
 * the chain up to it is the same each time. A stack of which too little was copied would look like
 * one with few callers.
 */
static inline bool stack_end__has_all_callers(enum stack_end end)
{
	return end == STACK_END_COMPLETE || end == STACK_END_NO_TABLE;
}

/* True if the user part reaches the thread's first function. False without a user part. */
bool stack__reaches_start(const struct stack *stack);

/*
 * Replaces the frames of an interpreter's C function by the interpreter's own frames. Input: a
 * stack with named frames, those of stack->script after all others (symbolizer__stack). Each frame
 * of its evaluation function is replaced by the frames that it ran. Frames without such a frame go
 * after the native ones: the unwinding ended early. If the program has script code of its own, only
 * that counts as application code, not the C code below it. Cuts the native part as
 * stack__trim_probe and stack__trim_stray do. 0, or -ENOMEM: the script's frames are dropped.
 */
int stack__merge_script(struct stack *stack);

#endif
