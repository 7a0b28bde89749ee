/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an x86-64 instruction does to the stack pointer, and which saved registers it restores. See
 * walk.h.
 */
#include <string.h>

#include "symbol/unwind/walk.h"

#define SP    4 /* in the numbering of x86 instructions */
#define FP    5
#define SAVED (1u << 3 | 1u << FP | 0xf << 12)
#define REX_R 4
#define REX_B 1

struct form {
	uint8_t rex, op, modrm;
	const uint8_t *rest; /* after modrm */
};

static struct form form_of(const uint8_t *code)
{
	struct form ret = {};

	while (*code == 0x66 || *code == 0xf2 || *code == 0xf3 || *code == 0x2e || *code == 0x3e)
		code++;
	if ((*code & 0xf0) == 0x40)
		ret.rex = *code++;
	ret.op = code[0];
	ret.modrm = code[1];
	ret.rest = code + 2;
	return ret;
}

static int32_t number(const uint8_t *from, bool wide)
{
	int32_t ret;

	if (!wide)
		return (int8_t)*from;
	memcpy(&ret, from, sizeof(ret));
	return ret;
}

static void pop(struct path_state *state, unsigned reg)
{
	bool own = reg == FP && state->pushed_fp && state->sp.base == PATH_SP &&
		   state->sp.off == state->pushed_fp;

	state->regs[reg] = own ? (struct path_slot){ .base = PATH_KEPT } : state->sp;
	state->sp.off += 8;
}

static void push(struct path_state *state, unsigned reg)
{
	state->sp.off -= 8;
	if (reg == FP && state->regs[FP].base == PATH_KEPT && state->sp.base == PATH_SP)
		state->pushed_fp = state->sp.off;
}

/* Sets the stack pointer to the frame pointer + off. */
static bool from_fp(struct path_state *state, int32_t off)
{
	if (state->regs[FP].base != PATH_KEPT)
		return false;
	state->sp = (struct path_slot){ PATH_FP, off };
	return true;
}

/*
 * push, pop, leave. Returns 1 when done, 0 for other instructions, -1 when the path cannot be
 * followed.
 */
static int run_push(struct path_state *state, const struct form *f)
{
	unsigned reg = (f->op & 7) | (f->rex & REX_B ? 8 : 0), sub = f->modrm >> 3 & 7;

	if ((f->op & 0xf8) == 0x50) {
		push(state, reg);
	} else if (f->op == 0x68 || f->op == 0x6a || (f->op == 0xff && sub == 6) || f->op == 0x9c) {
		state->sp.off -= 8;
	} else if (f->op == 0x9d || (f->op == 0x8f && f->modrm >> 6 != 3)) { /* flags, memory */
		state->sp.off += 8;
	} else if ((f->op & 0xf8) == 0x58) {
		if (reg == SP)
			return -1;
		pop(state, reg);
	} else if (f->op == 0xc9) {
		if (!from_fp(state, 0))
			return -1;
		pop(state, FP);
	} else {
		return 0;
	}
	return 1;
}

/* add, sub, lea and mov to the stack pointer. Returns the same as run_push. */
static int run_move(struct path_state *state, const struct form *f)
{
	bool wide = f->op == 0x81 || f->modrm >> 6 == 2;

	if (f->rex & REX_B)
		return 0;
	if ((f->op == 0x83 || f->op == 0x81) && (f->modrm == 0xec || f->modrm == 0xc4)) {
		int32_t n = number(f->rest, wide);

		state->sp.off += f->modrm == 0xec ? -n : n;
		return 1;
	}
	if (f->rex & REX_R)
		return 0;
	if (f->op == 0x8d && (f->modrm == 0x64 || f->modrm == 0xa4) && f->rest[0] == 0x24) {
		state->sp.off += number(f->rest + 1, wide);
		return 1;
	}
	if (f->op == 0x8d && (f->modrm == 0x65 || f->modrm == 0xa5))
		return from_fp(state, number(f->rest, wide)) ? 1 : -1;
	if ((f->op == 0x89 && f->modrm == 0xec) || (f->op == 0x8b && f->modrm == 0xe5))
		return from_fp(state, 0) ? 1 : -1;
	return 0;
}

/* mov N(%rsp), REG restores a register that the function saved. */
static bool run_load(struct path_state *state, const struct form *f)
{
	unsigned reg = (f->modrm >> 3 & 7) | (f->rex & REX_R ? 8 : 0), mod = f->modrm >> 6;

	if (f->op != 0x8b || (f->modrm & 7) != 4 || (mod != 1 && mod != 2) || f->rest[0] != 0x24 ||
	    f->rex & REX_B || reg == SP || !(f->rex & 8))
		return false;
	state->regs[reg] = state->sp;
	state->regs[reg].off += number(f->rest + 1, mod == 2);
	return true;
}

/*
 * VEX, EVEX: the decoder takes the number of a vector register for that of a general register.
 * These instructions never change the stack pointer. Those that move vectors from and to memory
 * change no general register.
 */
static uint32_t vector_keeps(const struct form *f, const uint8_t *code)
{
	static const uint8_t moves[] = { 0x10, 0x11, 0x28, 0x29, 0x6f, 0x7f };
	uint8_t op = f->op == 0xc5 ? code[2] : f->op == 0xc4 ? code[3] : code[4];
	uint8_t map = f->op == 0xc5 ? 1 : f->op == 0xc4 ? code[1] & 31 : code[1] & 7;

	if (f->rex || (f->op != 0xc4 && f->op != 0xc5 && f->op != 0x62))
		return 0;
	return map == 1 && memchr(moves, op, sizeof(moves)) ? UINT32_MAX : 1u << SP;
}

bool path_state__run(struct path_state *state, const uint8_t *code, uint32_t writes, bool is_call)
{
	struct form f = form_of(code);
	int res;

	if (is_call)
		return true;
	writes &= ~vector_keeps(&f, code);
	res = run_push(state, &f) ?: run_move(state, &f);
	if (res)
		return res > 0 && state->sp.off > -(1 << 20) && state->sp.off < 1 << 20;
	if (run_load(state, &f))
		return true;
	for (unsigned reg = 0; reg < PATH_REGS; reg++)
		if (writes >> reg & 1 && SAVED >> reg & 1)
			state->regs[reg].base = PATH_LOST;
	return !(writes >> SP & 1);
}
