/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A user stack's return addresses, from copied registers and memory: by the unwind tables of the
 * modules where they have some, by frame pointers where they don't and the chain holds, and no
 * further: a missing frame is better than a wrong one. On the symbolizer's thread.
 */
#ifndef JANK_SYMBOL_UNWIND_UNWIND_H
#define JANK_SYMBOL_UNWIND_UNWIND_H

#include "model/block.h"
#include "model/event.h"
#include "symbol/names/symbolize.h"
#include <stdint.h>

#define UNWIND_MAX 512 /* addresses */

struct unwound {
	uint64_t addresses
		[UNWIND_MAX]; /* leaf first: where the thread was, then return addresses; of what a signal interrupted, one more than where it was */
	uint32_t cnt;	      /* at least 1 */
	enum stack_end end;
	const char *
		module; /* where the walk ended early: whose code; the symbolizer's until its next trim; or NULL */
	uint32_t used_sz; /* of the copy: up to the uppermost byte that was read */
};

/*
 * Walks the copy of a thread of a process, known or not yet. 0 or -ENOMEM; what cannot be walked
 * ends early.
 */
int symbolizer__unwind(struct symbolizer *sym, uint32_t pid, const struct copy_event *copy,
		       struct unwound *ret);

#endif
