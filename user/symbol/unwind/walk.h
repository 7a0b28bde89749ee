/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A walk from frame to frame: its place, the copied registers and memory, and its steps from a
 * frame to its caller. Shared by the unwinder's files.
 */
#ifndef JANK_SYMBOL_UNWIND_WALK_H
#define JANK_SYMBOL_UNWIND_WALK_H

#include "symbol/languages/language.h"
#include "symbol/unwind/java_code.h"
#include "symbol/unwind/tables.h"
#include "symbol/unwind/unwind.h"

#define NO_REG 0xff

#define FRAME_CODE_BEFORE   1  /* most bytes before an instruction that are looked at */
#define FRAME_CODE_PROLOGUE 16 /* bytes of a function's first instructions */
#define FRAME_CODE_STUB	    16 /* bytes of a linker stub */

/* frame_code.c: what the instructions of a machine do to a function's frame. */
struct frame_code {
	uint8_t before; /* bytes before an instruction that is_frameless reads */
	/*
	 * Returns true when a function that begins with these FRAME_CODE_PROLOGUE bytes sets up a
	 * frame pointer. size gets the distance from it to the caller's stack pointer, where that
	 * differs between functions; 0: unknown, or the same in all functions.
	 */
	bool (*sets_up_frame)(const uint8_t *code, uint64_t *size);
	/* Returns true when the code moves the stack pointer, or (arm64) calls. */
	bool (*changes_stack)(const uint8_t *code, size_t len);
	/*
	 * Returns true when the function is about to make its frame at `code`, or has removed it.
	 * code: FRAME_CODE_PROLOGUE bytes from there, `before` bytes before it. slot gets the
	 * position of the return address in words above the stack pointer; unused where a register
	 * holds it.
	 */
	bool (*is_frameless)(const uint8_t *code, unsigned *slot);
	/*
	 * Returns true when a linker stub (PLT0) has pushed a pair of words before `code`; the
	 * second word is the return address. code: FRAME_CODE_STUB bytes before it and after it.
	 * NULL where calls push the return address.
	 */
	bool (*pushed_link)(const uint8_t *code);
};

extern const struct frame_code frame_code_x86, frame_code_arm64;

/* An instruction set, with the register numbers of its unwind tables. */
struct unwind_arch {
	uint16_t machine; /* EM_* */
	uint8_t word;	  /* bytes */
	uint8_t sp, fp, pc;
	uint8_t link; /* register with the return address where no call pushes it; or NO_REG */
	uint8_t reg_cnt;
	uint64_t saved;		       /* bit mask of callee-saved registers */
	uint64_t pc_mask;	       /* bits of a code address */
	const uint8_t *copied;	       /* index of each register in the copy; NULL: its number */
	const struct frame_code *code; /* NULL: its instructions are not read */
	uint8_t bytecode;  /* register of V8's interpreter with its bytecode; 64 bits only */
	uint8_t dex_begin; /* register of ART's switch interpreter with its method's begin */
};

/* Position of a walk: an address and what is known about it. */
struct unwind_place {
	uint64_t pc;
	bool exact; /* interrupted there; false: a call returns there */
	const struct region *region;
	struct cfi_row row; /* all 0: none */
	struct cfi *cfi;    /* NULL: no row */
};

struct walk {
	struct process_env *env;
	struct process *process;
	const struct unwind_arch *arch;
	const struct copy_event *copy;
	struct unwound *ret;
	struct unwind_place at;
	uint64_t regs[CFI_REG_MAX];
	uint64_t known;	    /* bit mask */
	uint64_t pc_mask;   /* see code_address__mask */
	uint64_t bottom;    /* address where the copy begins */
	uint64_t low;	    /* the caller's frame lies above */
	enum stack_end why; /* why memory could not be read */
	bool by_fp;	    /* frame pointers led to this frame */
	bool refreshed;
	struct native_frame *frames; /* frames that may be of a language; NULL: not wanted */
	size_t frame_cnt;
	bool trial; /* a trial walk from a possible caller (unwind.c) */
};

/* Result of a step. */
enum unwind_step {
	STEP_TO,	  /* regs and *pc are the caller's */
	STEP_INTERRUPTED, /* the same; a signal interrupted the caller there */
	STEP_COMPLETE,
	STEP_NONE, /* this method finds no caller; try another */
	STEP_ENDS, /* no method finds a caller: see walk.why */
};

/* Returns the machine (EM_*) of the 32-bit programs of x86-64 or arm64. */
uint16_t unwind_arch__narrow(uint16_t machine);

/* Returns the instruction set of an EM_*: x86-64, i386, arm64 or arm. */
const struct unwind_arch *unwind_arch__of(uint16_t machine);

/*
 * Loads the registers of the walk's copy. The first address is the thread's pc. pc_mask: bits of a
 * code address on the copy's machine.
 */
void walk__begin(struct walk *w, const struct unwind_arch *arch, uint64_t pc_mask);

/* Reads a word from the copy. Returns false when it is outside, see `why`. */
bool walk__read(struct walk *w, uint64_t addr, unsigned size, uint64_t *ret);
bool walk__word(struct walk *w, uint64_t addr, uint64_t *ret);

/* Gets a register's value. Returns false when it is unknown. */
bool walk__reg(const struct walk *w, uint64_t reg, uint64_t *ret);
/* Gets the address of a slot in memory. Returns false when it is in a register, or unknown. */
bool walk__slot(const struct walk *w, const struct path_slot *slot, uint64_t *ret);
void walk__set(struct walk *w, unsigned reg, uint64_t value);

/*
 * Reads the mappings again, at a limited rate, when pc is outside all of them. The region of the
 * walk's place is looked up again and may become NULL.
 */
void walk__refresh(struct walk *w, uint64_t pc);

/* Fills the place of an address. Returns false when no code is there. */
bool walk__place(struct walk *w, uint64_t pc, bool exact, struct unwind_place *ret);

/* Returns true when the place is in HotSpot's JIT code. */
bool walk__is_in_java(const struct walk *w, const struct unwind_place *place);

/* Returns true when a place follows a call. Returns `otherwise` when its code cannot be read. */
bool walk__is_return(struct walk *w, const struct unwind_place *place, bool otherwise);

/* Returns true when the code before pc is a call. ret gets the place of pc. */
bool walk__is_called_from(struct walk *w, uint64_t pc, struct unwind_place *ret);

/*
 * Leaves a leaf function. slot: where its return address is, unless that is in the link register.
 * saved: address of the caller's frame pointer; 0: it is in its register.
 */
void walk__leave_leaf(struct walk *w, uint64_t slot, uint64_t saved);

/*
 * Returns true when pc is where a signal handler returns to, so that the kernel's frame follows.
 * ret gets that place.
 */
bool walk__is_handler_return(struct walk *w, uint64_t pc, struct unwind_place *ret);

/*
 * unwind_frame.c: returns true in code of compilers that always keep a frame pointer: without a
 * file, or a long stretch of code without a table.
 */
bool walk__is_managed(const struct unwind_place *place);

/* unwind_art.c: returns true in code that ART compiled, without a table. */
bool walk__is_in_art(const struct unwind_place *place);

/* --- steps */

/* unwind_table.c: step by the unwind table */
enum unwind_step unwind_table__step(struct walk *w, uint64_t *pc);
/*
 * unwind_signal.c: step through the registers that the kernel saved on the stack for a signal. The
 * code that the handler returns to identifies the frame. STEP_NONE: it is other code.
 */
enum unwind_step unwind_signal__step(struct walk *w, uint64_t *pc);
/* unwind_frame.c: step without a table */
enum unwind_step unwind_frame__step(struct walk *w, uint64_t *pc);
/* unwind_table.c: step by Go's function table; STEP_NONE: it has no answer */
enum unwind_step unwind_go__step(struct walk *w, uint64_t *pc);
/* unwind_return.c: step without a table and without a frame pointer, by the instructions */
enum unwind_step unwind_return__step(struct walk *w, uint64_t *pc);
/* unwind_art.c: step from a compiled method of ART without a table. As unwind_java__step. */
enum unwind_step unwind_art__step(struct walk *w, uint64_t *pc);
/* unwind_java.c: step from HotSpot's JIT code. Returns STEP_TO, STEP_NONE or STEP_ENDS. */
enum unwind_step unwind_java__step(struct walk *w, uint64_t *pc);

/*
 * unwind_return.c: returns true when the code keeps a register unchanged until it returns to the
 * address in this slot of the stack.
 */
bool unwind_return__keeps(struct walk *w, unsigned reg, uint64_t slot);

/*
 * --- unwind_paths.c: follower of code paths, for code without a table and without frame pointers
 * (musl, hand-written assembly). It follows the instructions from the current address to the
 * return, which shows how far the return address lies above the stack pointer. It also follows the
 * code from the target of the caller's call, which must give the same distance.
 */

#define PATH_REGS	16
#define PATH_RESULT_MAX 4
#define PATH_RBP	5 /* in the numbering of x86 instructions */

/* unwind_return.c: DWARF register numbers, by the number in x86 instructions. */
extern const uint8_t unwind_return__dwarf_of[PATH_REGS];

/* State at an address on a path. */
struct path_state {
	uint64_t addr;
	struct path_slot sp; /* off is relative: PATH_SP: to the first sp; PATH_FP: to the fp */
	struct path_slot regs[PATH_REGS];
	/* where the path itself pushed the frame pointer; 0: it did not */
	int32_t pushed_fp;
};

struct paths {
	/* states at returns; distinct by sp */
	struct path_state results[PATH_RESULT_MAX];
	unsigned result_cnt;
	bool framed; /* HotSpot's interpreter: leave the frame by the frame pointer */
	/* the path reached the goal; met_sp is the offset of the stack pointer there */
	bool met;
	int32_t met_sp;
};

/*
 * Follows the code of a region from an address to its returns. When goal is not 0, stops when a
 * path reaches goal.
 */
void paths__follow(struct walk *w, const struct region *region, uint64_t from, uint64_t goal,
		   struct paths *ret);

/*
 * path_state.c: runs one instruction. Returns false when the stack pointer is unknown after it.
 */
bool path_state__run(struct path_state *state, const uint8_t *code, uint32_t writes, bool is_call);

#endif
