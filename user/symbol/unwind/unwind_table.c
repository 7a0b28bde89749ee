/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind step by a module's unwind table. */
#include <string.h>

#include "symbol/unwind/cfi.h"
#include "symbol/unwind/walk.h"

static bool world_reg(void *ctx, uint64_t reg, uint64_t *ret)
{
	return walk__reg(ctx, reg, ret);
}

static bool world_memory(void *ctx, uint64_t addr, unsigned size, uint64_t *ret)
{
	return walk__read(ctx, addr, size, ret);
}

static bool evaluate(struct walk *w, const struct cfi_rule *rule, const uint64_t *first,
		     uint64_t *ret)
{
	struct cfi_world world = { world_reg, world_memory, w, w->arch->word };

	return cfi_expr__run(cfi__expr(w->at.cfi, rule), rule->len, first, &world, ret);
}

static uint64_t wrapped(const struct walk *w, uint64_t value)
{
	return w->arch->word == 4 ? (uint32_t)value : value;
}

static bool find_cfa(struct walk *w, uint64_t *ret)
{
	const struct cfi_rule *rule = &w->at.row.cfa;

	if (rule->how == CFI_EXPR)
		return evaluate(w, rule, NULL, ret);
	if (!walk__reg(w, rule->reg, ret))
		return false;
	*ret = wrapped(w, *ret + (int64_t)rule->value);
	return true;
}

/*
 * Computes the caller's register by its rule. Returns false when it is unknown; then w->why is set
 * if memory outside the copy was read.
 */
static bool apply(struct walk *w, const struct cfi_rule *rule, uint64_t cfa, uint64_t *ret)
{
	uint64_t addr;

	switch (rule->how) {
	case CFI_SAME:
		return walk__reg(w, rule->reg, ret);
	case CFI_OFFSET:
		return walk__word(w, wrapped(w, cfa + (int64_t)rule->value), ret);
	case CFI_VAL_OFFSET:
		*ret = wrapped(w, cfa + (int64_t)rule->value);
		return true;
	case CFI_REGISTER:
		return walk__reg(w, rule->value, ret);
	case CFI_EXPR:
		return evaluate(w, rule, &cfa, &addr) && walk__word(w, addr, ret);
	case CFI_VAL_EXPR:
		return evaluate(w, rule, &cfa, ret);
	}
	return false;
}

static const struct cfi_rule *rule_of(const struct unwind_place *at, unsigned reg)
{
	const struct cfi_rule *rules = cfi__rules(at->cfi, &at->row);

	for (unsigned i = 0; i < at->row.rule_cnt; i++)
		if (rules[i].reg == reg)
			return &rules[i];
	return NULL;
}

/*
 * Frames lie one above the other. A leaf on arm64 may have an empty frame. A signal frame may be on
 * another stack.
 */
static bool is_above(const struct walk *w, uint64_t cfa)
{
	if (w->at.row.signal)
		return true;
	return cfa > w->low || (cfa == w->low && w->at.exact && w->arch->link != NO_REG);
}

static enum unwind_step find_pc(struct walk *w, uint64_t cfa, uint64_t *pc)
{
	const struct cfi_rule *rule = rule_of(&w->at, w->at.row.ra);

	w->why = STACK_END_ASTRAY;
	if (!rule && w->at.row.ra == w->arch->link && walk__reg(w, w->arch->link, pc))
		return STEP_TO;
	if (!rule)
		return STEP_ENDS;
	if (rule->how == CFI_UNDEFINED)
		return STEP_COMPLETE;
	return apply(w, rule, cfa, pc) ? STEP_TO : STEP_ENDS;
}

/*
 * Gets the offset of the return address from the CFA. Returns false when it is in a register, or
 * not at one place.
 */
static bool ra_offset(const struct unwind_place *at, int64_t *ret)
{
	const struct cfi_rule *rule = rule_of(at, at->row.ra);
	bool ok = rule && rule->how == CFI_OFFSET;

	*ret = ok ? rule->value : 0;
	return ok;
}

/*
 * Returns true when a register was popped. Its saved place is then below the stack pointer, and
 * tables do not say so (gcc, clang). A leaf that keeps the register in the red zone looks the same.
 * A popped value is in its register again, and stays there until the function returns.
 */
static bool is_popped(struct walk *w, const struct cfi_rule *rule, uint64_t cfa)
{
	return w->at.exact && rule->how == CFI_OFFSET &&
	       wrapped(w, cfa + (int64_t)rule->value) < w->bottom &&
	       unwind_return__keeps(w, rule->reg, cfa - w->arch->word);
}

/* Computes all registers of the caller before it changes any. */
static void find_regs(struct walk *w, uint64_t cfa)
{
	const struct cfi_rule *rules = cfi__rules(w->at.cfi, &w->at.row);
	struct walk caller = { .arch = w->arch, .known = w->known & w->arch->saved };
	uint64_t value;

	for (unsigned i = 0; i < w->arch->reg_cnt; i++)
		caller.regs[i] = w->regs[i];
	walk__set(&caller, w->arch->sp, cfa);
	for (unsigned i = 0; i < w->at.row.rule_cnt; i++) {
		if (rules[i].reg >= w->arch->reg_cnt)
			continue;
		if (apply(w, &rules[i], cfa, &value))
			walk__set(&caller, rules[i].reg, value);
		else if (!is_popped(w, &rules[i], cfa))
			caller.known &= ~(1ull << rules[i].reg);
	}
	for (unsigned i = 0; i < w->arch->reg_cnt; i++)
		w->regs[i] = caller.regs[i];
	w->known = caller.known;
}

/*
 * The caller's stack pointer is the CFA, except when the return address lies at or above it. Then
 * the linker's stub pushed it before, with one more word. So does glibc for arm64's
 * _dl_runtime_resolve (sysdeps/aarch64/dl-trampoline.S), from the second instruction on.
 */
static void skip_pushed(struct walk *w, uint64_t cfa)
{
	struct unwind_place next;
	int64_t off;

	if (!ra_offset(&w->at, &off) &&
	    (!w->at.exact || cfa != w->bottom || !walk__place(w, w->at.pc + 4, true, &next) ||
	     next.row.cfa.reg != w->at.row.cfa.reg || !ra_offset(&next, &off)))
		return;
	if (off < 0)
		return;
	w->low = cfa + 2 * w->arch->word * (1 + off / (2 * w->arch->word));
	walk__set(w, w->arch->sp, w->low);
}

/* The registers that ART's interpreters use differ: runtime/interpreter/mterp, and entrypoints. */
static void note_dex(struct walk *w)
{
	const struct cfi_rule *rule = &w->at.row.dex;
	struct unwound *ret = w->ret;
	uint64_t pc;

	if (ret->dex_cnt == UNWIND_DEX_MAX || !walk__reg(w, rule->reg, &pc))
		return;
	pc = wrapped(w, pc + (int64_t)rule->value);
	ret->dex[ret->dex_cnt++] = (struct dex_frame){ .index = ret->cnt - 1, .pc = pc };
	if (w->frames && pc)
		w->frames[w->frame_cnt++] = (struct native_frame){
			.pc = w->at.pc,
			.exact = w->at.exact,
			.in_file = true,
			.index = ret->cnt - 1,
			.dex = pc,
			.dex_begins = rule->reg == w->arch->dex_begin,
		};
}

enum unwind_step unwind_table__step(struct walk *w, uint64_t *pc)
{
	enum unwind_step ret;
	uint64_t cfa;

	if (w->at.row.dex.how != CFI_UNSAID)
		note_dex(w);
	w->why = STACK_END_NO_TABLE;
	if (!find_cfa(w, &cfa))
		return STEP_ENDS;
	w->why = STACK_END_ASTRAY;
	if (!is_above(w, cfa))
		return STEP_ENDS;
	ret = find_pc(w, cfa, pc);
	if (ret != STEP_TO)
		return ret;
	find_regs(w, cfa);
	w->low = w->at.row.signal ? w->regs[w->arch->sp] : cfa;
	if (w->arch->link != NO_REG && !w->at.row.signal)
		skip_pushed(w, cfa);
	return w->at.row.signal ? STEP_INTERRUPTED : STEP_TO;
}

/*
 * --- Step by Go's function table, which gives the distance of the stack pointer from its value at
 * the function's begin (runtime/traceback.go in Go). On machines with a link register all Go frames
 * are left this way: the saved frame pointer lies below the frame, outside a leaf's copy. On others
 * only the leaf is left this way; then the frame pointer leads.
 */

/*
 * Returns the return address: the call pushed it; or it is at the stack pointer; or, in a leaf
 * without a frame, in the link register (cmd/internal/obj/arm64). 0: unknown.
 */
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
	return ok ? pc & w->pc_mask : 0;
}

/*
 * Returns the address of the caller's frame pointer in a leaf: below the return address, once the
 * frame pointer points there. 0: it is in its register.
 */
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
