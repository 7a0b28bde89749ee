/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An interpreter's own frames take the place of its C function's. */
#ifndef JANK_VERDICT_INTERP_MERGE_H
#define JANK_VERDICT_INTERP_MERGE_H

#include "model/block.h"

/*
 * The stack's frames are named, those of stack->script after all others (symbolizer__stack). Each
 * frame of CPython's evaluation function is replaced by the Python frames that it ran; what no such
 * frame shows for stands behind the native ones: the walk broke off. Where there is Python code of
 * the program's own, that is what the program is, not the C below it. Cuts the native part as
 * stack__trim_probe and stack__trim_stray do. 0, or -ENOMEM: the script's frames are gone.
 */
int stack__merge_script(struct stack *stack);

#endif
