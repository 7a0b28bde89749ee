/* SPDX-License-Identifier: GPL-2.0 */
/* A step by a module's unwind table. */
#include "symbol/unwind/cfi_expr.h"
#include "symbol/unwind/unwind_parts.h"

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

/* The caller's register by its rule; false: not known (why: of memory outside of the copy). */
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

/* Frames lie one above the other; a leaf of arm64 may have none. A signal's may be on a stack of its own. */
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

/* Where the return address is, from the CFA on; false: in a register, or not at one place. */
static bool ra_offset(const struct unwind_place *at, int64_t *ret)
{
	const struct cfi_rule *rule = rule_of(at, at->row.ra);
	bool ok = rule && rule->how == CFI_OFFSET;

	*ret = ok ? rule->value : 0;
	return ok;
}

/*
 * Its place is below the stack pointer: it was popped, of which tables have no word (gcc, clang), or it is a leaf's that
 * keeps it in the red zone. Popped, the value is in its register again, and stays there until the function returns.
 */
static bool is_popped(struct walk *w, const struct cfi_rule *rule, uint64_t cfa)
{
	return w->at.exact && rule->how == CFI_OFFSET &&
	       wrapped(w, cfa + (int64_t)rule->value) < w->bottom &&
	       unwind_return__keeps(w, rule->reg, cfa - w->arch->word);
}

/* All of the caller's registers are found before any is changed. */
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
 * The caller's stack pointer is the CFA, but where the return address lies at or above that: the linker's stub pushed it, with a
 * word more, before. So glibc has it of arm64's _dl_runtime_resolve (sysdeps/aarch64/dl-trampoline.S), from the second
 * instruction on.
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

enum unwind_step unwind_table__step(struct walk *w, uint64_t *pc)
{
	enum unwind_step ret;
	uint64_t cfa;

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
