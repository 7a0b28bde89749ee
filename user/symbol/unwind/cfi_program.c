/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interpreter of the CIE and FDE instructions, up to an address. */
#include <dwarf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/must.h"
#include "symbol/unwind/cfi_parts.h"

#define REMEMBER_MAX 8
#define STEP_MAX     65536
#define ADVANCE_LOC8 0x1d /* MIPS */

struct state {
	struct cfi_rule cfa, regs[CFI_REG_MAX];
	struct cfi_rule dex; /* see cfi_row */
};

struct run {
	struct cfi *cfi;
	const struct cfi_fde *fde;
	struct cursor *cur;
	const uint8_t *begin;
	uint64_t loc, upto;
	struct state now, first; /* first: the state after the CIE's instructions */
	struct state remembered[REMEMBER_MAX];
	unsigned depth;
};

/* Ignores registers that we don't use (vectors, flags). */
static void rule(struct run *run, uint64_t reg, uint8_t how, int64_t value)
{
	if (reg >= CFI_REG_MAX)
		return;
	if (value < INT32_MIN || value > INT32_MAX)
		run->cur->bad = true;
	run->now.regs[reg] = (struct cfi_rule){ .reg = reg, .how = how, .value = value };
}

static void cfa(struct run *run, uint64_t reg, int64_t value)
{
	if (reg >= CFI_REG_MAX || value < INT32_MIN || value > INT32_MAX)
		run->cur->bad = true;
	run->now.cfa = (struct cfi_rule){ .reg = reg, .how = CFI_VAL_OFFSET, .value = value };
}

static void restore(struct run *run, uint64_t reg)
{
	if (reg < CFI_REG_MAX)
		run->now.regs[reg] = run->first.regs[reg];
}

static int64_t factored(const struct run *run, int64_t n)
{
	return (int64_t)((uint64_t)n * (uint64_t)run->fde->cie.data_align);
}

/* Stores a copy of an expression. */
static struct cfi_rule expression(struct run *run, uint8_t how)
{
	uint64_t len = cursor__uleb(run->cur);
	const uint8_t *from = cursor__skip(run->cur, len);
	struct cfi_rule ret = { .how = how, .len = len, .value = run->cfi->expr_len };
	size_t cap = run->cfi->expr_cap ? 2 * run->cfi->expr_cap : 256;

	if (!from || len > CFI_EXPR_MAX || run->cfi->expr_len + len > CFI_EXPRS_MAX) {
		run->cur->bad = true;
		return ret;
	}
	if (run->cfi->expr_len + len > run->cfi->expr_cap) {
		run->cfi->expr_cap = cap + len;
		run->cfi->exprs = must__realloc(run->cfi->exprs, run->cfi->expr_cap);
	}
	if (len)
		memcpy(run->cfi->exprs + run->cfi->expr_len, from, len);
	run->cfi->expr_len += len;
	return ret;
}

/*
 * An expression of ART that tells no register's value: the register with the interpreter's place in
 * the bytecode. It pushes "DEX1" and drops it (ART's runtime/interpreter/cfi_asm_support.h).
 */
static bool is_dex(const struct run *run, const struct cfi_rule *rule, struct cfi_rule *ret)
{
	static const uint8_t mark[] = {
		DW_OP_const4u, 'D', 'E', 'X', '1', DW_OP_drop, DW_OP_bregx
	};
	const uint8_t *expr = run->cfi->exprs + rule->value;
	struct cursor cur = { expr + sizeof(mark), expr + rule->len, false };
	uint64_t reg;
	int64_t off;

	if (run->cur->bad || rule->len <= sizeof(mark) || memcmp(expr, mark, sizeof(mark)))
		return false;
	reg = cursor__uleb(&cur);
	off = cursor__sleb(&cur);
	if (cur.bad || reg >= CFI_REG_MAX || off < INT32_MIN || off > INT32_MAX)
		return false;
	*ret = (struct cfi_rule){ .reg = reg, .how = CFI_VAL_OFFSET, .value = off };
	return true;
}

static void expression_of_reg(struct run *run, uint8_t how)
{
	uint64_t reg = cursor__uleb(run->cur);
	struct cfi_rule rule = expression(run, how);

	if (how == CFI_VAL_EXPR && is_dex(run, &rule, &run->now.dex))
		return;
	rule.reg = reg;
	if (reg < CFI_REG_MAX)
		run->now.regs[reg] = rule;
}

static void remember(struct run *run)
{
	if (run->depth == REMEMBER_MAX)
		run->cur->bad = true;
	else
		run->remembered[run->depth++] = run->now;
}

/* Changes register or offset of the CFA. This is an error while an expression gives the CFA. */
static void change_cfa(struct run *run, bool of_reg, int64_t value)
{
	if (run->now.cfa.how != CFI_VAL_OFFSET || value < INT32_MIN || value > INT32_MAX ||
	    (of_reg && value >= CFI_REG_MAX))
		run->cur->bad = true;
	else if (of_reg)
		run->now.cfa.reg = value;
	else
		run->now.cfa.value = value;
}

/* Instructions that set a register's rule. Returns false for other instructions. */
static bool run_rule(struct run *run, uint8_t op)
{
	struct cursor *cur = run->cur;
	uint64_t reg;

	switch (op) {
	case DW_CFA_offset_extended:
		reg = cursor__uleb(cur);
		rule(run, reg, CFI_OFFSET, factored(run, cursor__uleb(cur)));
		return true;
	case DW_CFA_offset_extended_sf:
		reg = cursor__uleb(cur);
		rule(run, reg, CFI_OFFSET, factored(run, cursor__sleb(cur)));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		reg = cursor__uleb(cur);
		rule(run, reg, CFI_OFFSET, factored(run, -cursor__uleb(cur)));
		return true;
	case DW_CFA_val_offset:
		reg = cursor__uleb(cur);
		rule(run, reg, CFI_VAL_OFFSET, factored(run, cursor__uleb(cur)));
		return true;
	case DW_CFA_val_offset_sf:
		reg = cursor__uleb(cur);
		rule(run, reg, CFI_VAL_OFFSET, factored(run, cursor__sleb(cur)));
		return true;
	case DW_CFA_restore_extended:
		restore(run, cursor__uleb(cur));
		return true;
	case DW_CFA_undefined:
		rule(run, cursor__uleb(cur), CFI_UNDEFINED, 0);
		return true;
	case DW_CFA_same_value:
		rule(run, cursor__uleb(cur), CFI_SAME, 0);
		return true;
	case DW_CFA_register:
		reg = cursor__uleb(cur);
		rule(run, reg, CFI_REGISTER, cursor__uleb(cur));
		return true;
	case DW_CFA_expression:
		expression_of_reg(run, CFI_EXPR);
		return true;
	case DW_CFA_val_expression:
		expression_of_reg(run, CFI_VAL_EXPR);
		return true;
	}
	return false;
}

/* Instructions for the CFA and for the state as a whole. */
static bool run_cfa(struct run *run, uint8_t op)
{
	struct cursor *cur = run->cur;
	uint64_t reg;

	switch (op) {
	case DW_CFA_nop:
	case DW_CFA_GNU_window_save: /* arm64: toggles whether return addresses are signed */
		return true;
	case DW_CFA_GNU_args_size:
		cursor__uleb(cur);
		return true;
	case DW_CFA_def_cfa:
		reg = cursor__uleb(cur);
		cfa(run, reg, cursor__uleb(cur));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = cursor__uleb(cur);
		cfa(run, reg, factored(run, cursor__sleb(cur)));
		return true;
	case DW_CFA_def_cfa_register:
		change_cfa(run, true, cursor__uleb(cur) & INT64_MAX);
		return true;
	case DW_CFA_def_cfa_offset:
		change_cfa(run, false, cursor__uleb(cur) & INT64_MAX);
		return true;
	case DW_CFA_def_cfa_offset_sf:
		change_cfa(run, false, factored(run, cursor__sleb(cur)));
		return true;
	case DW_CFA_def_cfa_expression:
		run->now.cfa = expression(run, CFI_EXPR);
		return true;
	case DW_CFA_remember_state:
		remember(run);
		return true;
	case DW_CFA_restore_state:
		if (run->depth)
			run->now = run->remembered[--run->depth];
		else
			cur->bad = true;
		return true;
	}
	return false;
}

/*
 * Instructions that advance the address: *loc gets the new one. Returns false for other
 * instructions.
 */
static bool run_advance(struct run *run, uint8_t op, uint64_t *loc)
{
	struct cursor *cur = run->cur;
	uint64_t delta;

	switch (op) {
	case DW_CFA_set_loc:
		*loc = cfi_entry__pointer(run->cfi, cur, run->fde->cie.fde_enc,
					  run->fde->program_addr + (cur->at - run->begin), 0);
		return true;
	case DW_CFA_advance_loc1:
		delta = cursor__fixed(cur, 1);
		break;
	case DW_CFA_advance_loc2:
		delta = cursor__fixed(cur, 2);
		break;
	case DW_CFA_advance_loc4:
		delta = cursor__fixed(cur, 4);
		break;
	case ADVANCE_LOC8:
		delta = cursor__fixed(cur, 8);
		break;
	default:
		return false;
	}
	*loc = run->loc + delta * run->fde->cie.code_align;
	return true;
}

static void run_one(struct run *run, uint8_t op, uint64_t *loc)
{
	uint8_t low = op & 0x3f;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		*loc = run->loc + low * run->fde->cie.code_align;
		return;
	case DW_CFA_offset:
		rule(run, low, CFI_OFFSET, factored(run, cursor__uleb(run->cur)));
		return;
	case DW_CFA_restore:
		restore(run, low);
		return;
	}
	if (!run_cfa(run, op) && !run_rule(run, op) && !run_advance(run, op, loc))
		run->cur->bad = true;
}

/* The rules after the last advance to an address at or below `upto` are those of `upto`. */
static int run_all(struct run *run, struct cursor *cur)
{
	unsigned steps = 0;

	run->cur = cur;
	run->begin = cur->at;
	while (cur->at < cur->end && !cur->bad && steps++ < STEP_MAX) {
		uint64_t loc = run->loc;

		run_one(run, cursor__fixed(cur, 1), &loc);
		if (loc > run->upto || loc < run->loc)
			break;
		run->loc = loc;
	}
	return cur->bad ? -EBADMSG : 0;
}

int cfi_rules__add(struct cfi *cfi, const struct cfi_rule *rules, size_t cnt, struct cfi_row *row)
{
	if (cfi->rule_cnt + CFI_REG_MAX > CFI_RULES_MAX)
		return -ENOSPC;
	if (cfi->rule_cnt + CFI_REG_MAX > cfi->rule_cap) {
		cfi->rule_cap = cfi->rule_cap ? 2 * cfi->rule_cap : 256;
		cfi->rules = must__realloc(cfi->rules, cfi->rule_cap * sizeof(*cfi->rules));
	}
	row->rules = cfi->rule_cnt;
	row->rule_cnt = cnt;
	for (size_t i = 0; i < cnt; i++)
		cfi->rules[cfi->rule_cnt++] = rules[i];
	return 0;
}

static int keep(struct cfi *cfi, const struct state *state, struct cfi_row *row)
{
	struct cfi_rule rules[CFI_REG_MAX];
	size_t cnt = 0;

	row->cfa = state->cfa;
	row->dex = state->dex;
	for (size_t i = 0; i < CFI_REG_MAX; i++)
		if (state->regs[i].how != CFI_UNSAID)
			rules[cnt++] = state->regs[i];
	return cfi_rules__add(cfi, rules, cnt, row);
}

int cfi_program__run(struct cfi *cfi, const struct cfi_fde *fde, uint64_t vaddr,
		     struct cfi_row *row)
{
	struct run run = { .cfi = cfi, .fde = fde, .loc = fde->start, .upto = vaddr };
	struct cursor first = fde->cie.program, rest = fde->program;
	int ret = run_all(&run, &first);

	if (ret)
		return ret;
	run.first = run.now;
	ret = run_all(&run, &rest);
	if (ret)
		return ret;
	if (run.now.cfa.how == CFI_UNSAID)
		return -EBADMSG;
	row->ra = fde->cie.ra;
	row->signal = fde->cie.signal;
	return keep(cfi, &run.now, row);
}
