/* SPDX-License-Identifier: GPL-2.0 */
/* What HotSpot's x86-64 code looks like where that tells how a frame is left. */
#ifndef JANK_SYMBOL_UNWIND_INSN_JAVA_H
#define JANK_SYMBOL_UNWIND_INSN_JAVA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JAVA_RETURN_BYTES   20 /* for java_code__is_return */
#define JAVA_PROLOGUE_BYTES 96 /* for java_code__keeps_frame */
#define JAVA_FAR	    (64 << 10)

/* jmp *(%r10,%rbx,8): the interpreter goes on to its next bytecode. */
bool java_code__is_dispatch(const uint8_t *code);

/* jmp *%reg, jmp *N(%rbx) (a method's code): to the caller, or in place of a call. */
bool java_code__is_tail_jump(const uint8_t *code);

/* Whether that is of the interpreter: before it the stack pointer was kept in the frame. From 4 bytes before the jump on. */
bool java_code__is_invocation(const uint8_t *code);

/* push %rbp; mov %rsp, %rbp */
bool java_code__sets_up_frame(const uint8_t *code);

/* mov N(%rsp), %rbp: a stub that saved all registers puts them back; this one never had changed. */
bool java_code__restores_fp(const uint8_t *code);

/*
 * Where a callee returns to without a call before it: into the interpreter, which begins with taking the stack pointer from
 * its frame; or, out of a safepoint, to the load that led there. JAVA_RETURN_BYTES of code from the address on.
 */
bool java_code__is_return(const uint8_t *code);

/* Whether a function whose first JAVA_PROLOGUE_BYTES these are (less: zeros) sets a frame pointer up. Where: *ret_at, behind it. */
bool java_code__keeps_frame(const uint8_t *code, size_t *ret_at);

#endif
