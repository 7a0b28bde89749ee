/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind step for HotSpot's JIT code (JDK 8 and later), which has no unwind tables.
 * HotSpot's compilers keep a frame pointer only with -XX:+PreserveFramePointer. Else they use that
 * register like any other, so a chain of frame pointers skips callers. The step therefore follows
 * the code to its return. HotSpot's interpreter never leaves by a return instruction, but keeps
 * frame pointers.
 */
#ifndef JANK_SYMBOL_UNWIND_UNWIND_JAVA_H
#define JANK_SYMBOL_UNWIND_UNWIND_JAVA_H

#include "symbol/unwind/unwind_parts.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Patterns of HotSpot's x86-64 code that show how a frame is left. */

#define JAVA_RETURN_BYTES   20 /* for java_code__is_return */
#define JAVA_PROLOGUE_BYTES 96 /* for java_code__keeps_frame */
#define JAVA_FAR	    (64 << 10)

/* jmp *(%r10,%rbx,8): the interpreter continues with its next bytecode. */
bool java_code__is_dispatch(const uint8_t *code);

/* jmp *%reg, jmp *N(%rbx) (code of a method): to the caller, or a tail call. */
bool java_code__is_tail_jump(const uint8_t *code);

/*
 * Returns true when such a jump belongs to the interpreter, which saves the stack pointer in the
 * frame before it. code: from 4 bytes before the jump.
 */
bool java_code__is_invocation(const uint8_t *code);

/* push %rbp; mov %rsp, %rbp */
bool java_code__sets_up_frame(const uint8_t *code);

/* mov N(%rsp), %rbp: a stub that saved all registers restores them; it never changed this one. */
bool java_code__restores_fp(const uint8_t *code);

/*
 * Returns true when a callee returns here without a call before it. It returns into the
 * interpreter, which first loads the stack pointer from its frame; or, from a safepoint, to the
 * load that led there. code: JAVA_RETURN_BYTES from the address.
 */
bool java_code__is_return(const uint8_t *code);

/*
 * Returns true when a function sets up a frame pointer. code: its first JAVA_PROLOGUE_BYTES, padded
 * with zeros. *ret_at gets the offset after the set-up.
 */
bool java_code__keeps_frame(const uint8_t *code, size_t *ret_at);

/* Returns true when the place is in HotSpot's JIT code. */
bool unwind_java__is(const struct walk *w, const struct unwind_place *place);

/*
 * Returns true when a place in such code follows a call, or when HotSpot itself returns there.
 * False when the code cannot be read.
 */
bool unwind_java__is_return(struct walk *w, const struct unwind_place *place);

/* Steps to the caller. Returns STEP_TO, STEP_NONE or STEP_ENDS. */
enum unwind_step unwind_java__step(struct walk *w, uint64_t *pc);

#endif
