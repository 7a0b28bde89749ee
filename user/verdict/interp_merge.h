/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces the frames of an interpreter's C function by the interpreter's own frames. */
#ifndef JANK_VERDICT_INTERP_MERGE_H
#define JANK_VERDICT_INTERP_MERGE_H

#include "model/block.h"

/*
 * Input: a stack with named frames, those of stack->script after all others (symbolizer__stack).
 * Each frame of CPython's evaluation function is replaced by the Python frames that it ran. Python
 * frames without such a frame go after the native ones: the unwinding ended early. If the program
 * has Python code of its own, only that counts as application code, not the C code below it. Cuts
 * the native part as stack__trim_probe and stack__trim_stray do. 0, or -ENOMEM: the script's frames
 * are dropped.
 */
int stack__merge_script(struct stack *stack);

#endif
