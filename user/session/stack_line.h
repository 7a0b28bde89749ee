/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stack in a few words. */
#ifndef JANK_SESSION_STACK_LINE_H
#define JANK_SESSION_STACK_LINE_H

#include "model/block.h"
#include <stddef.h>

/*
 * The program's own functions, innermost first: "read_line ← load_config ← main". A file stands for
 * functions without a name. At most five, the last one the outermost. stack: with named frames.
 * Empty: no function is known. Any thread.
 */
void stack_line__make(const struct stack *stack, char *ret, size_t sz);

#endif
