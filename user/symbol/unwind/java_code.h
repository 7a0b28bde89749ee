/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HotSpot's JIT code, which has no unwind tables: patterns that show how a frame is left, on x86-64
 * (JDK 8 and later) and arm64 (11 and later), and a cache of the exits found.
 */
#ifndef JANK_SYMBOL_UNWIND_JAVA_CODE_H
#define JANK_SYMBOL_UNWIND_JAVA_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process;
struct process_env;
struct region;

/* Location of a register's value at the end of a followed code path. */
enum path_base {
	PATH_KEPT, /* a register with the value that it has where the path begins */
	PATH_SP,   /* in memory, relative to the stack pointer where the path begins */
	PATH_FP,   /* in memory, relative to the frame pointer there */
	PATH_LOST,
};

struct path_slot {
	uint8_t base; /* enum path_base */
	int32_t off;
};

/* --- cache of the exits of HotSpot code, one per process */

#define JAVA_WAYS   1024
#define JAVA_EXITS  3
#define JAVA_WAY_NS 5000000000ull

struct java_exit {
	struct path_slot slot; /* location of the return address */
	struct path_slot fp;   /* location of the return address */
};

struct jvm_exit {
	uint64_t pc, at_ns;
	struct java_exit exits[JAVA_EXITS];
	uint8_t exit_cnt;
	bool framed; /* interpreter code: leave the frame by the frame pointer */
};

/* Both arrays are indexed by the lowest bits of the address. */
struct jvm_exits {
	struct jvm_exit ways[JAVA_WAYS];
	/* return addresses that do not follow a call */
	uint64_t returns[JAVA_WAYS];
};

/* --- patterns of arm64 (java_arm64.c) */

#define JAVA_ARM64_BEFORE 12 /* of them, bytes before the address */
#define JAVA_ARM64_BYTES  76 /* for java_arm64__frame */

/* A method's frame while it runs: what is there of it. */
enum java_frame {
	JAVA_FRAME_WHOLE,
	JAVA_FRAME_NONE,  /* not built yet, or removed */
	JAVA_FRAME_EMPTY, /* it has its room, but nothing is stored yet */
	JAVA_FRAME_PAIR,  /* only the frame pointer and the return address are pushed */
};

/* The frame of a compiled method at an address. code: JAVA_ARM64_BYTES; size: of the whole frame */
enum java_frame java_arm64__frame(const uint8_t *code, uint32_t size);

/* ret. code: 4 bytes */
bool java_arm64__is_bare_return(const uint8_t *code);

/* As java_code__is_return. code: 12 bytes from the address */
bool java_arm64__is_return(const uint8_t *code);

/* --- patterns of x86-64 */

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
 * Returns true when a callee returns here into the interpreter, which loads the stack pointer from
 * its frame. code: JAVA_RETURN_BYTES from the address.
 */
bool java_code__enters_interpreter(const uint8_t *code);

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

/*
 * Returns true when the address, in such code, follows a call, or when HotSpot itself returns
 * there. False when the code cannot be read. machine: EM_*
 */
bool java_code__returns_to(struct process_env *env, struct process *process, uint16_t machine,
			   const struct region *region, uint64_t pc);

/* The process's cache of exits, created when needed; NULL: out of memory. */
struct jvm_exits *java_code__exits(struct process *process);

#endif
