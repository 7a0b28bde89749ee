/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The caller behind code that was compiled at run time, has no unwind table and keeps no frame pointer (PCRE2, PHP). Such code is
 * called by a pointer, from code with a table. Of the words above the stack pointer the first counts that is behind such a call and
 * from which tables lead to the thread's start.
 */
#include "base/code/call_site.h"
#include "symbol/unwind/unwind_java.h"
#include "symbol/unwind/unwind_parts.h"

#define SCAN_WORDS 512
#define SCAN_CALLS 8

static bool is_made(const struct walk *w)
{
	return !w->trial && w->arch->word == 8 && w->arch->link == NO_REG && !w->at.cfi &&
	       w->at.region->mapped->kind == MAPPED_ANON && !unwind_java__is(w, &w->at);
}

/* By a pointer, as far as the code can be read. */
static bool is_called_from(struct walk *w, uint64_t pc, struct unwind_place *ret)
{
	uint8_t code[CALL_BYTES];
	uint64_t callee;

	return walk__is_called_from(w, pc, ret) && ret->row.has_table &&
	       !tables__code(w->env, w->process, ret->region, pc - sizeof(code), code,
			     sizeof(code)) &&
	       !call_site__target(code, pc, &callee);
}

static void go_to(struct walk *w, const struct unwind_place *place, uint64_t slot)
{
	w->low = slot + w->arch->word;
	w->known = 0;
	walk__set(w, w->arch->sp, w->low);
	w->at = *place;
	w->by_fp = false;
}

/* How a walk from there would end. */
static enum stack_end try(const struct walk *w, const struct unwind_place *place, uint64_t slot)
{
	static _Thread_local struct unwound found; /* too large for a stack */
	struct walk trial = *w;

	found.cnt = 1;
	trial.ret = &found;
	trial.trial = true;
	go_to(&trial, place, slot);
	walk__run(&trial);
	return found.end;
}

enum unwind_step unwind_behind__step(struct walk *w, uint64_t *pc)
{
	enum stack_end before = w->why, end = STACK_END_NO_TABLE;
	struct unwind_place place;
	unsigned calls = 0;
	uint64_t sp;

	if (!is_made(w) || !walk__reg(w, w->arch->sp, &sp))
		return STEP_NONE;
	for (unsigned i = 0; i < SCAN_WORDS && calls < SCAN_CALLS; i++) {
		if (!walk__word(w, sp + i * 8, pc) || !is_called_from(w, *pc, &place))
			continue;
		end = try(w, &place, sp + i * 8);
		if (end == STACK_END_COMPLETE) {
			go_to(w, &place, sp + i * 8);
			return STEP_TO;
		}
		if (end == STACK_END_COPY || end == STACK_END_HOLE)
			break; /* more of the stack would tell */
		calls++;
	}
	w->why = end == STACK_END_COPY || end == STACK_END_HOLE ? end : before;
	return w->why == end ? STEP_ENDS : STEP_NONE;
}
