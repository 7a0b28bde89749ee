/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HotSpot's made code (JDK 8 and later), of which no table tells. Its compilers keep a frame
 * pointer only with -XX:+PreserveFramePointer, and else use the register as any other: a chain of
 * frame pointers then leads past callers. So the code is followed to where it returns. Its
 * interpreter never returns by a return instruction, but keeps frame pointers.
 */
#ifndef JANK_SYMBOL_UNWIND_UNWIND_JAVA_H
#define JANK_SYMBOL_UNWIND_UNWIND_JAVA_H

#include "symbol/unwind/unwind_parts.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What HotSpot's x86-64 code looks like where that tells how a frame is left. */

#define JAVA_RETURN_BYTES   20 /* for java_code__is_return */
#define JAVA_PROLOGUE_BYTES 96 /* for java_code__keeps_frame */
#define JAVA_FAR	    (64 << 10)

/* jmp *(%r10,%rbx,8): the interpreter goes on to its next bytecode. */
bool java_code__is_dispatch(const uint8_t *code);

/* jmp *%reg, jmp *N(%rbx) (a method's code): to the caller, or in place of a call. */
bool java_code__is_tail_jump(const uint8_t *code);

/*
 * Whether that is of the interpreter: before it the stack pointer was kept in the frame. From 4
 * bytes before the jump on.
 */
bool java_code__is_invocation(const uint8_t *code);

/* push %rbp; mov %rsp, %rbp */
bool java_code__sets_up_frame(const uint8_t *code);

/* mov N(%rsp), %rbp: a stub that saved all registers puts them back; this one never had changed. */
bool java_code__restores_fp(const uint8_t *code);

/*
 * Where a callee returns to without a call before it: into the interpreter, which begins with
 * taking the stack pointer from its frame; or, out of a safepoint, to the load that led there.
 * JAVA_RETURN_BYTES of code from the address on.
 */
bool java_code__is_return(const uint8_t *code);

/*
 * Whether a function whose first JAVA_PROLOGUE_BYTES these are (less: zeros) sets a frame pointer
 * up. Where: *ret_at, behind it.
 */
bool java_code__keeps_frame(const uint8_t *code, size_t *ret_at);

/* Whether the walk is in such code. */
bool unwind_java__is(const struct walk *w, const struct unwind_place *place);

/*
 * Whether a place in such code is behind a call, or HotSpot itself returns there; code that can't
 * be read is not.
 */
bool unwind_java__is_return(struct walk *w, const struct unwind_place *place);

/* STEP_TO or STEP_NONE. */
enum unwind_step unwind_java__step(struct walk *w, uint64_t *pc);

#endif
