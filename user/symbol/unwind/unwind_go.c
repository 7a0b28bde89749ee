/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A step by Go's own table of functions, which tells how far the stack pointer is from where the function began
 * (runtime/traceback.go in Go). Where there is a link register all of Go's frames are left so: the frame pointer is below the
 * frame, which is out of a leaf's copy. Elsewhere the leaf's alone: from there on the frame pointer leads.
 */
#include "symbol/unwind/unwind_parts.h"

/* Pushed by the call; or at the stack pointer, but in the register of a leaf without a frame (cmd/internal/obj/arm64). 0: not known. */
static uint64_t return_address(struct walk *w, uint64_t sp)
{
	uint64_t pc = 0;
	bool ok;

	if (w->arch->link == NO_REG)
		ok = walk__word(w, sp + w->at.row.depth, &pc);
	else if (w->at.row.depth)
		ok = walk__word(w, sp, &pc);
	else
		ok = w->at.exact && walk__reg(w, w->arch->link, &pc);
	return ok ? pc & w->arch->pc_mask : 0;
}

/* Where the caller's frame pointer is, of a leaf: below the return address, once the frame pointer points there. 0: in its register. */
static uint64_t saved_fp(const struct walk *w, uint64_t slot)
{
	uint64_t fp;

	return w->at.row.depth && walk__reg(w, w->arch->fp, &fp) && fp == slot - w->arch->word ? fp
											       : 0;
}

enum unwind_step unwind_go__step(struct walk *w, uint64_t *pc)
{
	bool has_link = w->arch->link != NO_REG, handles;
	struct unwind_place caller;
	uint64_t sp;

	if (!w->at.row.has_depth || !(has_link || w->at.exact) || !walk__reg(w, w->arch->sp, &sp))
		return STEP_NONE;
	*pc = return_address(w, sp);
	handles = walk__is_handler_return(w, *pc, &caller);
	if (has_link && w->at.row.is_top && !handles)
		return STEP_COMPLETE;
	if (!handles && !walk__is_called_from(w, *pc, &caller))
		return STEP_NONE;
	if (!has_link) {
		walk__leave_leaf(w, sp + w->at.row.depth, saved_fp(w, sp + w->at.row.depth));
		return STEP_TO;
	}
	w->known = 0;
	w->low = sp + w->at.row.depth;
	walk__set(w, w->arch->sp, w->low);
	return STEP_TO;
}
