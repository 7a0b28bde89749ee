/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stack machine for DWARF expressions. See cfi.h. */
#include "symbol/unwind/cfi.h"

#include <dwarf.h>

#include "symbol/dwarf/cursor.h"

#define DEPTH_MAX 16

struct machine {
	struct cursor cur;
	const struct cfi_world *world;
	uint64_t stack[DEPTH_MAX];
	unsigned depth;
	bool bad;
};

static void push(struct machine *m, uint64_t value)
{
	if (m->depth == DEPTH_MAX)
		m->bad = true;
	else
		m->stack[m->depth++] = m->world->word == 4 ? (uint32_t)value : value;
}

static uint64_t pop(struct machine *m)
{
	if (!m->depth) {
		m->bad = true;
		return 0;
	}
	return m->stack[--m->depth];
}

static uint64_t pick(struct machine *m, unsigned n)
{
	if (n >= m->depth) {
		m->bad = true;
		return 0;
	}
	return m->stack[m->depth - 1 - n];
}

static void push_reg(struct machine *m, uint64_t reg, int64_t offset)
{
	uint64_t value = 0;

	if (!m->world->reg(m->world->ctx, reg, &value))
		m->bad = true;
	push(m, value + (uint64_t)offset);
}

static void deref(struct machine *m, unsigned size)
{
	uint64_t value = 0;

	if (!size || size > 8 || m->bad || !m->world->memory(m->world->ctx, pop(m), size, &value))
		m->bad = true;
	push(m, value);
}

static int64_t as_signed(const struct machine *m, uint64_t value)
{
	return m->world->word == 4 ? (int32_t)value : (int64_t)value;
}

/* Operations with two operands; b is the top of the stack. */
static bool run_binary(struct machine *m, uint8_t op)
{
	unsigned bits = 8 * m->world->word;
	uint64_t b = pick(m, 0), a = pick(m, 1), value;
	int64_t sa = as_signed(m, a), sb = as_signed(m, b);

	switch (op) {
	case DW_OP_and:
		value = a & b;
		break;
	case DW_OP_or:
		value = a | b;
		break;
	case DW_OP_xor:
		value = a ^ b;
		break;
	case DW_OP_plus:
		value = a + b;
		break;
	case DW_OP_minus:
		value = a - b;
		break;
	case DW_OP_mul:
		value = a * b;
		break;
	case DW_OP_shl:
		value = b < bits ? a << b : 0;
		break;
	case DW_OP_shr:
		value = b < bits ? a >> b : 0;
		break;
	case DW_OP_shra:
		value = sa >> (b < bits ? b : bits - 1);
		break;
	case DW_OP_eq:
		value = sa == sb;
		break;
	case DW_OP_ne:
		value = sa != sb;
		break;
	case DW_OP_ge:
		value = sa >= sb;
		break;
	case DW_OP_gt:
		value = sa > sb;
		break;
	case DW_OP_le:
		value = sa <= sb;
		break;
	case DW_OP_lt:
		value = sa < sb;
		break;
	default:
		return false;
	}
	pop(m);
	pop(m);
	push(m, value);
	return true;
}

static bool run_constant(struct machine *m, uint8_t op)
{
	struct cursor *cur = &m->cur;

	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		push(m, op - DW_OP_lit0);
		return true;
	}
	switch (op) {
	case DW_OP_const1u:
	case DW_OP_const2u:
	case DW_OP_const4u:
	case DW_OP_const8u:
		push(m, cursor__fixed(cur, 1u << ((op - DW_OP_const1u) / 2)));
		return true;
	case DW_OP_const1s:
	case DW_OP_const2s:
	case DW_OP_const4s:
	case DW_OP_const8s:
		push(m, cursor__signed(cur, 1u << ((op - DW_OP_const1u) / 2)));
		return true;
	case DW_OP_constu:
		push(m, cursor__uleb(cur));
		return true;
	case DW_OP_consts:
		push(m, cursor__sleb(cur));
		return true;
	}
	return false;
}

static void run_stack(struct machine *m, uint8_t op)
{
	uint64_t a;

	switch (op) {
	case DW_OP_dup:
		push(m, pick(m, 0));
		break;
	case DW_OP_over:
		push(m, pick(m, 1));
		break;
	case DW_OP_drop:
		pop(m);
		break;
	case DW_OP_swap:
		a = pick(m, 1);
		if (!m->bad) {
			m->stack[m->depth - 2] = pick(m, 0);
			m->stack[m->depth - 1] = a;
		}
		break;
	case DW_OP_plus_uconst:
		a = pop(m);
		push(m, a + cursor__uleb(&m->cur));
		break;
	case DW_OP_neg:
		push(m, -pop(m));
		break;
	case DW_OP_not:
		push(m, ~pop(m));
		break;
	case DW_OP_deref:
		deref(m, m->world->word);
		break;
	case DW_OP_deref_size:
		deref(m, cursor__fixed(&m->cur, 1));
		break;
	case DW_OP_nop:
		break;
	default:
		m->bad = true;
	}
}

static void run_one(struct machine *m, uint8_t op)
{
	uint64_t reg;

	if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
		push_reg(m, op - DW_OP_breg0, cursor__sleb(&m->cur));
	} else if (op == DW_OP_bregx) {
		reg = cursor__uleb(&m->cur);
		push_reg(m, reg, cursor__sleb(&m->cur));
	} else if (!run_constant(m, op) &&
		   !((op >= DW_OP_and && op <= DW_OP_ne) && op != DW_OP_neg && op != DW_OP_not &&
		     op != DW_OP_plus_uconst && run_binary(m, op))) {
		run_stack(m, op);
	}
}

bool cfi_expr__run(const uint8_t *expr, size_t len, const uint64_t *first,
		   const struct cfi_world *world, uint64_t *ret)
{
	struct machine m = { .cur = { expr, expr + len, false }, .world = world };

	if (first)
		push(&m, *first);
	while (m.cur.at < m.cur.end && !m.bad && !m.cur.bad)
		run_one(&m, cursor__fixed(&m.cur, 1));
	if (m.bad || m.cur.bad || !m.depth)
		return false;
	*ret = pop(&m);
	return true;
}
