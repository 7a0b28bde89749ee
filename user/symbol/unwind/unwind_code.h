/* SPDX-License-Identifier: GPL-2.0 */
/* What instructions do to a function's frame, where no table tells: of this machine's architecture. */
#ifndef JANK_SYMBOL_UNWIND_UNWIND_CODE_H
#define JANK_SYMBOL_UNWIND_UNWIND_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNWIND_PROLOGUE 16 /* bytes of a function's first instructions */
#ifdef __aarch64__
#define UNWIND_BEFORE 0 /* bytes before an instruction */
#else
#define UNWIND_BEFORE 1
#endif
#define UNWIND_STUB 16 /* bytes of a linker's stub */

/* Whether a function that begins with these UNWIND_PROLOGUE bytes sets up a frame pointer. size gets how far the caller's stack
 * pointer lies above it, where that is not the same in all functions; 0: not known, or as everywhere. */
bool unwind_code__sets_up_frame(const uint8_t *code, uint64_t *size);

/* Whether the code moves the stack pointer, or calls. */
bool unwind_code__changes_stack(const uint8_t *code, size_t len);

/*
 * Whether the function is about to make its frame at `code`, or has taken it down: UNWIND_PROLOGUE bytes from there on, UNWIND_BEFORE in front
 * of it. slot gets where its return address is, from the stack pointer on (in words); without a meaning where a register has it.
 */
bool unwind_code__is_frameless(const uint8_t *code, unsigned *slot);

/*
 * Whether a stub of the linker's (PLT0) has pushed a pair of words before `code`, the second of which is the return address: UNWIND_STUB bytes
 * before it and as many from there on. False on x86-64, where the linker makes tables for its stubs.
 */
bool unwind_code__pushed_link(const uint8_t *code);

#endif
