/* SPDX-License-Identifier: GPL-2.0 */
/* Frames as every export reads them: also of a stack that no symbolizer has seen. */
#ifndef JANK_EXPORT_FRAME_H
#define JANK_EXPORT_FRAME_H

#include "base/strbuf.h"
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

/*
 * A function's name, short: no C++ argument list, return type or qualifiers; template arguments
 * replaced by `templ` (such as "<…>", or ""); Rust's `<T as Trait>::f` as `T::f`. With `plain`,
 * parentheses are left out too (Go's `main.(*T).f` as `main.*T.f`, `(anonymous namespace)` as
 * `anonymous`). A name that makes no sense as C++ stays as it is, as far as it could be read.
 */
void function__add_short(struct strbuf *sb, const char *name, const char *templ, bool plain);

/* A cause's share, 0 to 1 whatever the arithmetic before made of it. */
double cause__share(const struct cause *cause);

#endif
