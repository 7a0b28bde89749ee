/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames that the sentence names beside the one to blame. Pure functions; frames are borrowed. */
#ifndef JANK_VERDICT_FRAMES_H
#define JANK_VERDICT_FRAMES_H

#include "model/block.h"

/*
 * The library's function that `app`, a frame of the stack, called and that took the time. syscall:
 * in which it waited, or NULL. NULL: not known, or nothing but that system call.
 */
const struct frame *stack__called(const struct stack *stack, const struct frame *app,
				  const char *syscall);

/*
 * The outermost function of the program that the loop called: the handler of the turn. NULL: the
 * stack does not reach the loop, or the loop's own frames in it are not known.
 */
const struct frame *stack__handler(const struct stack *stack);

#endif
