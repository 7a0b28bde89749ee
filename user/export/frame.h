/* SPDX-License-Identifier: GPL-2.0 */
/* Frames as every export reads them: also of a stack that no symbolizer has seen. */
#ifndef JANK_EXPORT_FRAME_H
#define JANK_EXPORT_FRAME_H

#include "base/function_name.h"
#include "model/block.h"

/* Number of frames to show: the symbolizer's, or one for each raw address. */
size_t stack__frame_cnt(const struct stack *stack);

/*
 * The frame at position i (< stack__frame_cnt), made of the raw address where there is no better.
 */
struct frame stack__frame(const struct stack *stack, size_t i);

/*
 * Whether two frames are the same place for merging: the same function, whatever the instruction.
 */
bool frame__same(const struct frame *a, const struct frame *b);

/* The module's name without its directories: "libc.so.6"; "" when unknown. */
const char *module__base(const char *module);

/* A share, 0 to 1 whatever the arithmetic before made of it. */
double share__bounded(double share);

#endif
