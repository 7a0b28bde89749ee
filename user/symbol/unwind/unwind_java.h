/* SPDX-License-Identifier: GPL-2.0 */
/*
 * HotSpot's made code (JDK 8 and later), of which no table tells. Its compilers keep a frame pointer only with
 * -XX:+PreserveFramePointer, and else use the register as any other: a chain of frame pointers then leads past callers. So
 * the code is followed to where it returns. Its interpreter never returns by a return instruction, but keeps frame pointers.
 */
#ifndef JANK_SYMBOL_UNWIND_UNWIND_JAVA_H
#define JANK_SYMBOL_UNWIND_UNWIND_JAVA_H

#include "symbol/unwind/insn_java.h"
#include "symbol/unwind/unwind_parts.h"

/* Whether the walk is in such code. */
bool unwind_java__is(const struct walk *w, const struct unwind_place *place);

/* Whether a place in such code is behind a call, or HotSpot itself returns there; code that can't be read is not. */
bool unwind_java__is_return(struct walk *w, const struct unwind_place *place);

/* STEP_TO or STEP_NONE. */
enum unwind_step unwind_java__step(struct walk *w, uint64_t *pc);

#endif
