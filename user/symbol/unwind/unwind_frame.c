/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Step by the frame pointer, where there is no table. The frame pointer is trusted in code of
 * compilers that always keep it (Go, V8 and other JIT compilers): code without a file, or a long
 * stretch of code without any table. In other code it is trusted only when the function is seen to
 * set it up. A caller is accepted only after a call.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/code/insn.h"
#include "symbol/unwind/walk.h"

#define FUNCTION_MAX (1u << 20)
#define LEAF_MAX     1024 /* bytes of a function without a frame */
#define NEAR	     (1u << 20)

static bool code_at(struct walk *w, const struct region *region, uint64_t addr, uint8_t *buf,
		    size_t len)
{
	return !tables__code(w->env, w->process, region, addr, buf, len);
}

/*
 * Gets the target of the call before a return address. Returns false when the call is indirect or
 * cannot be read.
 */
static bool callee_of(struct walk *w, const struct unwind_place *place, uint64_t *ret)
{
	uint8_t code[CALL_BYTES];

	return code_at(w, place->region, place->pc - sizeof(code), code, sizeof(code)) &&
	       call_site__target(w->arch->machine, code, place->pc, ret);
}

bool walk__is_managed(const struct unwind_place *place)
{
	const struct mapped *mapped = place->region->mapped;

	return place->cfi ? place->row.managed : mapped->kind == MAPPED_ANON && !mapped->is_art_jit;
}

/*
 * Returns true where the function is about to make its frame, or has removed it. ret_slot gets the
 * address of the return address.
 */
static bool has_no_frame_yet(struct walk *w, uint64_t *ret_slot)
{
	uint8_t code[FRAME_CODE_BEFORE + FRAME_CODE_PROLOGUE];
	const struct frame_code *of = w->arch->code;
	unsigned slot;

	if (!code_at(w, w->at.region, w->at.pc - of->before, code,
		     of->before + FRAME_CODE_PROLOGUE) ||
	    !of->is_frameless(code + of->before, &slot))
		return false;
	*ret_slot = w->low + slot * w->arch->word;
	return true;
}

/* Leaves the linker stub that resolves a function by its number. */
static bool leave_stub(struct walk *w, uint64_t *pc)
{
	uint8_t code[2 * FRAME_CODE_STUB];
	struct unwind_place caller;

	if (w->arch->link == NO_REG ||
	    !code_at(w, w->at.region, w->at.pc - FRAME_CODE_STUB, code, sizeof(code)) ||
	    !w->arch->code->pushed_link(code + FRAME_CODE_STUB) ||
	    !walk__word(w, w->low + w->arch->word, pc))
		return false;
	*pc &= w->pc_mask;
	w->known &= w->arch->saved;
	w->low += 2 * w->arch->word;
	walk__set(w, w->arch->sp, w->low);
	return walk__is_called_from(w, *pc, &caller);
}

/*
 * Gets the caller of a leaf that has no frame (yet): from a stack slot, or from the link register.
 */
static bool leaf_address(struct walk *w, uint64_t slot, struct unwind_place *ret)
{
	uint64_t pc;

	if (w->arch->link == NO_REG ? !walk__word(w, slot, &pc) : !walk__reg(w, w->arch->link, &pc))
		return false;
	return walk__is_called_from(w, pc & w->pc_mask, ret);
}

/* Returns true when no code from `begin` (see may_begin) to here has moved the stack pointer. */
static bool is_straight(struct walk *w, uint64_t begin)
{
	uint8_t code[LEAF_MAX];
	uint64_t len = w->at.pc - begin;

	return code_at(w, w->at.region, begin, code, len) &&
	       !w->arch->code->changes_stack(code, len);
}

static bool may_begin(struct walk *w, uint64_t addr)
{
	return addr && addr <= w->at.pc && w->at.pc - addr <= LEAF_MAX;
}

/*
 * Returns true in a leaf that never makes a frame: no code since its begin has moved the stack
 * pointer. The begin is the target of the caller's direct call. Otherwise it is the symbol's: a
 * linker stub or another function jumped there.
 */
static bool is_frameless(struct walk *w, struct unwind_place *ret)
{
	uint64_t begin = 0;

	if (!leaf_address(w, w->low, ret))
		return false;
	if (!callee_of(w, ret, &begin) || !may_begin(w, begin))
		begin = tables__function(w->env, w->process, w->at.region, w->at.pc);
	return may_begin(w, begin) && is_straight(w, begin);
}

/*
 * Returns true when the function that the caller called is this one, and keeps a frame pointer.
 * size: see struct frame_code.
 */
static bool keeps_frame(struct walk *w, const struct unwind_place *caller, uint64_t *size)
{
	uint64_t begin =
		tables__function(w->env, w->process, w->at.region, w->at.pc - !w->at.exact);
	uint64_t callee;
	uint8_t code[FRAME_CODE_PROLOGUE];
	bool direct = callee_of(w, caller, &callee);

	if (direct && begin && callee != begin)
		return false;
	if (!begin)
		begin = direct ? callee : 0;
	return begin && begin <= w->at.pc && w->at.pc - begin < FUNCTION_MAX &&
	       code_at(w, w->at.region, begin, code, sizeof(code)) &&
	       w->arch->code->sets_up_frame(code, size);
}

/*
 * Returns the distance from the frame pointer to the stack pointer of C++ that calls V8's JSEntry
 * on arm64: above the pair it saves x19 to x28 and d8 to d15 (frame-constants-arm64.h in V8). Below
 * the frame pointer is the frame's kind, times 2. 0: another frame.
 */
static uint64_t entry_size(struct walk *w, const struct unwind_place *caller, uint64_t fp)
{
	uint64_t kind;

	if (w->arch->machine != EM_AARCH64 || !caller->row.has_table ||
	    !walk__word(w, fp - 8, &kind))
		return 0;
	return kind == 2 || kind == 4 ? 20 * 8 : 0;
}

static enum unwind_step outside(struct walk *w, uint64_t fp)
{
	if (w->why == STACK_END_ASTRAY || !walk__is_managed(&w->at) || fp - w->low > NEAR)
		return STEP_NONE;
	return STEP_ENDS;
}

enum unwind_step unwind_frame__step(struct walk *w, uint64_t *pc)
{
	uint64_t fp, next_fp, slot = 0, size = 0;
	enum unwind_step took;
	struct unwind_place caller;
	unsigned word = w->arch->word;

	if (walk__is_in_java(w, &w->at))
		return unwind_java__step(w, pc);
	took = unwind_art__step(w, pc);
	if (took == STEP_NONE)
		took = unwind_go__step(w, pc);
	if (took != STEP_NONE)
		return took;
	if (!walk__is_managed(&w->at) && unwind_return__step(w, pc) == STEP_TO)
		return STEP_TO;
	if (w->at.exact && has_no_frame_yet(w, &slot) && leaf_address(w, slot, &caller)) {
		walk__leave_leaf(w, slot,
				 slot > w->low ? w->low
					       : 0); /* the frame pointer was pushed, too */
		*pc = caller.pc;
		return STEP_TO;
	}
	if (w->at.exact && is_frameless(w, &caller)) {
		walk__leave_leaf(w, w->low, 0);
		*pc = caller.pc;
		return STEP_TO;
	}
	if (w->at.exact && leave_stub(w, pc))
		return STEP_TO;
	if (w->arch->fp == NO_REG || !walk__reg(w, w->arch->fp, &fp))
		return STEP_NONE;
	if (!fp && w->by_fp)
		return STEP_COMPLETE;
	if (fp < w->low || fp % word)
		return STEP_NONE;
	if (!walk__word(w, fp + word, pc) || !walk__word(w, fp, &next_fp))
		return outside(w, fp);
	*pc &= w->pc_mask;
	if (!*pc)
		return walk__is_managed(&w->at) ? STEP_COMPLETE : STEP_NONE;
	if (walk__is_managed(&w->at))
		walk__refresh(w, *pc - 1);
	if (!w->at.region || !walk__place(w, *pc, false, &caller) ||
	    !walk__is_return(w, &caller, walk__is_managed(&w->at)))
		return STEP_NONE;
	if (walk__is_managed(&w->at))
		size = entry_size(w, &caller, fp);
	else if (!keeps_frame(w, &caller, &size))
		return STEP_NONE;
	w->known = 0;
	walk__set(w, w->arch->fp, next_fp);
	if (w->arch->link == NO_REG)
		size = 2 * word;
	if (size)
		walk__set(w, w->arch->sp, fp + size);
	w->low = fp + 2 * word;
	w->by_fp = true;
	return STEP_TO;
}
