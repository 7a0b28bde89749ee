/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinder of user stacks. Input: copied registers and stack memory of a thread. Output: return
 * addresses, leaf first.
 * It uses the modules' unwind tables, or frame pointers where there is no table and the chain
 * holds. Otherwise it stops: a missing frame is better than a wrong one. Used on the symbolizer's
 * thread only.
 */
#ifndef JANK_SYMBOL_UNWIND_UNWIND_H
#define JANK_SYMBOL_UNWIND_UNWIND_H

#include "model/block.h"
#include "model/event.h"
#include "symbol/names/symbolize.h"
#include <stdint.h>

#define UNWIND_MAX 512 /* addresses */

#define UNWIND_DEX_MAX 128

/* A frame of ART's interpreter. */
struct dex_frame {
	uint32_t index; /* of its address in struct unwound */
	/*
	 * Address of the bytecode in the process: the instruction, or one beside it (nterp, mterp);
	 * the method's first one (the switch interpreter, which does not tell the instruction).
	 */
	uint64_t pc;
};

struct unwound {
	/*
	 * leaf first: the thread's pc, then return addresses; for a frame that a signal
	 * interrupted, its pc plus 1
	 */
	uint64_t addresses[UNWIND_MAX];
	uint32_t cnt; /* at least 1 */
	/* The functions of frames in code of a language (language.h); JANK_SCRIPT_NATIVE. */
	struct jank_script_frame script[STACK_SCRIPT_MAX];
	uint32_t script_cnt;
	struct dex_frame dex[UNWIND_DEX_MAX]; /* by index, ascending */
	uint32_t dex_cnt;
	enum stack_end end;
	/*
	 * module where the walk ended early, or NULL; owned by the symbolizer, valid until its next
	 * trim
	 */
	const char *module;
	/* bytes of the copy up to the uppermost byte that was read */
	uint32_t used_sz;
};

/*
 * Unwinds copied stacks of threads: rets[i] is the result of copies[i]. Their processes need not be
 * known yet. Several cost less than one by one if another process does the work. 0 or -ENOMEM. A
 * stack that cannot be walked to its end gives a shorter result, see `end`.
 */
int symbolizer__unwind(struct symbolizer *sym, const struct copy_event *copies,
		       struct unwound *rets, size_t cnt);

#endif
