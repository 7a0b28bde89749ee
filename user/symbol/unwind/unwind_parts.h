/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the unwinder share: a walk, and its steps from a frame to the caller's. */
#ifndef JANK_SYMBOL_UNWIND_UNWIND_PARTS_H
#define JANK_SYMBOL_UNWIND_UNWIND_PARTS_H

#include "symbol/unwind/tables.h"
#include "symbol/unwind/unwind.h"

#define NO_REG 0xff

/* An instruction set, by the numbers that its unwind tables use. */
struct unwind_arch {
	uint16_t machine; /* EM_* */
	uint8_t word;	  /* bytes */
	uint8_t sp, fp, pc;
	uint8_t link; /* holds the return address where no call has pushed it; or NO_REG */
	uint8_t reg_cnt;
	uint64_t saved;	       /* bits: registers that a function leaves as it found them */
	uint64_t pc_mask;      /* arm64 signs return addresses above */
	const uint8_t *copied; /* where a register is in the copy; NULL: at its number */
};

/* Where a walk is: an address with what is known of it. */
struct unwind_place {
	uint64_t pc;
	bool exact; /* interrupted there, not called from there */
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
	uint64_t known;	    /* bits */
	uint64_t bottom;    /* where the copy begins */
	uint64_t low;	    /* the caller's frame lies above */
	enum stack_end why; /* memory could not be read */
	bool by_fp;	    /* the frame was reached by frame pointers */
	bool refreshed;
	bool trial; /* of a caller that may be one (unwind_return.c) */
};

/* What a step comes to. */
enum unwind_step {
	STEP_TO,	  /* regs, and *pc, are the caller's */
	STEP_INTERRUPTED, /* the same; the caller was interrupted there */
	STEP_COMPLETE,
	STEP_NONE, /* this way does not lead on */
	STEP_ENDS, /* nor does another: walk.why */
};

/* The instruction set of an EM_*: x86-64, i386, arm64 or arm. */
const struct unwind_arch *unwind_arch__of(uint16_t machine);

/* Takes the registers of the walk's copy: its first address is where the thread was. */
void walk__begin(struct walk *w, const struct unwind_arch *arch);

/* From w->at on, to the end. */
void walk__run(struct walk *w);

/* A word of memory, from the copy. False: outside, see `why`. */
bool walk__read(struct walk *w, uint64_t addr, unsigned size, uint64_t *ret);
bool walk__word(struct walk *w, uint64_t addr, uint64_t *ret);

/* A register's value; false: not known here. */
bool walk__reg(const struct walk *w, uint64_t reg, uint64_t *ret);
void walk__set(struct walk *w, unsigned reg, uint64_t value);

/*
 * For an address outside of all mappings, they are read again, now and then; the walk's place stays
 * (or has no region).
 */
void walk__refresh(struct walk *w, uint64_t pc);

/* The place of an address; false: no code is there. */
bool walk__place(struct walk *w, uint64_t pc, bool exact, struct unwind_place *ret);

/* Whether a place is behind a call; what cannot be read is, if `otherwise`. */
bool walk__is_return(struct walk *w, const struct unwind_place *place, bool otherwise);

/* Whether a call is seen before pc. ret: its place. */
bool walk__is_called_from(struct walk *w, uint64_t pc, struct unwind_place *ret);

/*
 * Leaves a leaf, whose return address was in that slot of the stack, or in the link register.
 * saved: where its caller's frame pointer is; 0: in its register.
 */
void walk__leave_leaf(struct walk *w, uint64_t slot, uint64_t saved);

/* A handler returns to code that the kernel's frame follows. ret: that place. */
bool walk__is_handler_return(struct walk *w, uint64_t pc, struct unwind_place *ret);

enum unwind_step unwind_table__step(struct walk *w, uint64_t *pc); /* unwind_table.c */
enum unwind_step unwind_frame__step(struct walk *w,
				    uint64_t *pc); /* unwind_frame.c: without a table */
enum unwind_step unwind_go__step(struct walk *w,
				 uint64_t *pc); /* unwind_table.c: STEP_NONE: it tells nothing */
enum unwind_step unwind_return__step(struct walk *w,
				     uint64_t *pc); /* unwind_return.c: nor a frame pointer */

enum unwind_step unwind_behind__step(struct walk *w,
				     uint64_t *pc); /* unwind_return.c: nor instructions */

/*
 * unwind_return.c: does the code keep a register until it returns to what is in this slot of the
 * stack?
 */
bool unwind_return__keeps(struct walk *w, unsigned reg, uint64_t slot);

/* unwind_table.c: what the kernel put on the stack, by the code that a handler returns to. */
bool unwind_signal__is_trampoline(struct walk *w, const struct unwind_place *place);
enum unwind_step unwind_signal__step(struct walk *w, uint64_t *pc);

#endif
