/* SPDX-License-Identifier: GPL-2.0 */
/*
 * x86-64 instructions, 64-bit mode. Two tables say what follows an opcode and what it changes; the
 * maps 0F38 and 0F3A and the vector encodings (VEX, EVEX, XOP) are regular enough to need none.
 *
 * What the kernel emulates is in arch/x86/kernel/uprobes.c: branch_setup_xol_ops() and
 * push_setup_xol_ops(). Traps there, each of them INSN_NEVER here:
 *  - It takes every two-byte opcode for good, `syscall` included, and then kills the program.
 *  - It tells instructions by the opcode byte alone: VEX's vpcmpeqb (74) and vzeroupper (77) would be
 *    emulated as je and ja, and xchg %r8,%rax (41 90) as a nop.
 *  - It refuses segment and lock prefixes, and branches with an operand-size prefix.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/code/insn.h"
#include "base/code/insn_x86_table.h"

/* One instruction while it is read. */
struct x86 {
	const uint8_t *code;
	size_t len, at; /* at > len: it is cut off */
	bool opsize, addrsize, rep, repne, refused_prefix;
	uint8_t rex;
	uint8_t map; /* 0: one byte, 1: 0F, 2: 0F38, 3: 0F3A; XOP: 8 to 10 */
	bool vector; /* VEX, EVEX or XOP */
	uint8_t vvvv;
	uint8_t op, modrm;
	uint32_t attr;
	int64_t imm;
};

enum { REX_B = 1, REX_X = 2, REX_R = 4, REX_W = 8 };

static uint8_t take(struct x86 *x)
{
	uint8_t byte = x->at < x->len ? x->code[x->at] : 0;

	x->at++;
	return byte;
}

/* A little-endian number of n bytes, its sign kept. */
static int64_t take_int(struct x86 *x, unsigned n)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)take(x) << (8 * i);
	return n < 8 ? (int64_t)(v << (64 - 8 * n)) >> (64 - 8 * n) : (int64_t)v;
}

static bool take_prefix(struct x86 *x, uint8_t byte)
{
	switch (byte) {
	case 0x66:
		return x->opsize = true;
	case 0x67:
		return x->addrsize = true;
	case 0xf2:
		return x->repne = true;
	case 0xf3:
		return x->rep = true;
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0xf0:
		return x->refused_prefix = true;
	case 0x64:
	case 0x65:
		return true;
	}
	return false;
}

/* REX counts only directly before the opcode. Returns the opcode's first byte. */
static uint8_t take_prefixes(struct x86 *x)
{
	uint8_t byte = take(x);

	while (x->at < 15 && (take_prefix(x, byte) || (byte & 0xf0) == 0x40)) {
		x->rex = (byte & 0xf0) == 0x40 ? byte : 0;
		byte = take(x);
	}
	return byte;
}

/* The bytes behind C4, C5, 62 and 8F hold REX's bits inverted, the map and a further register. */
static int take_vector(struct x86 *x, uint8_t escape)
{
	uint8_t p0 = take(x), p1 = escape == 0xc5 ? p0 : take(x);

	x->vector = true;
	x->rex = (uint8_t)(~p0 >> 5) & (escape == 0xc5 ? REX_R : REX_R | REX_X | REX_B);
	x->vvvv = (uint8_t)(~p1 >> 3) & 15;
	x->map = escape == 0xc5 ? 1 : p0 & (escape == 0x62 ? 7 : 31);
	if (escape == 0x62)
		take(x);
	x->op = take(x);
	x->attr = VEC | NO;
	if (x->map == 3 || x->map == 8 || (x->map == 1 && two_byte[x->op] & I1))
		x->attr |= I1;
	if (x->map == 10)
		x->attr |= IZ;
	if (escape != 0x62 && x->map == 1 && x->op == 0x77)
		x->attr = NO; /* vzeroupper, vzeroall */
	return x->map && x->map <= 10 ? 0 : -EBADMSG;
}

static int take_opcode(struct x86 *x)
{
	uint8_t op = take_prefixes(x);

	if (op == 0xc4 || op == 0xc5 || op == 0x62)
		return take_vector(x, op);
	if (op == 0x8f && x->at < x->len && (x->code[x->at] & 31) >= 8)
		return take_vector(x, op);
	x->op = op;
	x->attr = one_byte[op];
	if (op == 0x0f) {
		x->op = take(x);
		x->map = x->op == 0x38 ? 2 : x->op == 0x3a ? 3 : 1;
		x->attr = two_byte[x->op];
	}
	if (x->map > 1) {
		x->op = take(x);
		x->attr = VEC | (x->map == 3 ? I1 : 0);
	}
	return x->attr & XX ? -EBADMSG : 0;
}

static void take_modrm(struct x86 *x)
{
	uint8_t mod, rm, base;

	x->modrm = take(x);
	mod = x->modrm >> 6;
	base = rm = x->modrm & 7;
	if (x->map == 1 && (x->op & 0xfc) == 0x20)
		mod = 3; /* moves of control registers know no memory */
	if (mod != 3 && rm == 4)
		base = take(x) & 7;
	if (mod == 2 || (mod == 0 && base == 5))
		x->at += 4;
	else if (mod == 1)
		x->at++;
}

static int take_immediates(struct x86 *x)
{
	unsigned word = x->opsize && !(x->rex & REX_W) ? 2 : 4;
	bool is_test = !x->map && (x->op & 0xfe) == 0xf6 && !(x->modrm & 0x30);

	if (x->attr & I2)
		x->at += 2;
	if (x->attr & (I1 | J1) || (is_test && x->op == 0xf6))
		x->imm = take_int(x, 1);
	if (x->attr & IZ || (is_test && x->op == 0xf7))
		x->imm = take_int(x, word);
	if (x->attr & IV)
		x->imm = take_int(x, x->rex & REX_W ? 8 : word);
	if (x->attr & IA)
		x->at += x->addrsize ? 4 : 8;
	if (x->map == 1 && !x->vector && x->op == 0x78 && (x->opsize || x->repne))
		x->at += 2; /* extrq, insertq: two bytes */
	if (x->attr & J4) {
		if (word == 2)
			return -EBADMSG; /* Intel takes 4 bytes here, AMD 2 */
		x->imm = take_int(x, 4);
	}
	return 0;
}

/* Bit of a register; a byte register may also be the second byte of the one four before. */
static uint32_t reg_bit(const struct x86 *x, unsigned reg, uint8_t rex_bit)
{
	uint32_t bit = 1u << (reg + (x->rex & rex_bit ? 8 : 0));

	return x->attr & B8 && !x->rex && reg >= 4 ? bit | 1u << (reg - 4) : bit;
}

/* Groups whose ModRM.reg says whether the operand is changed. */
static uint32_t group_writes(const struct x86 *x)
{
	unsigned sub = x->modrm >> 3 & 7;
	bool is_reg = x->modrm >> 6 == 3;
	uint32_t rm = is_reg ? reg_bit(x, x->modrm & 7, REX_B) : 0;

	if (!x->map && x->op >= 0x80 && x->op <= 0x83)
		return sub == 7 ? 0 : rm; /* cmp */
	if (!x->map && (x->op & 0xfe) == 0xf6)
		return sub < 2 ? 0 : sub < 4 ? rm : AX | DX; /* test; not, neg; mul, div */
	if (!x->map && x->op == 0xff)
		return sub < 2 ? rm : 0; /* inc, dec; call, jmp, push */
	if (x->map == 1 && x->op == 0xba)
		return sub == 4 ? 0 : rm; /* bt */
	if (x->map == 1 && x->op == 0x1e)
		return x->rep && sub == 1 ? rm : 0; /* rdssp, among hints */
	return x->attr & WM ? rm : 0;
}

/* movslq %edi,%rdi keeps what an int argument is made of: no change. */
static bool extends_itself(const struct x86 *x)
{
	return !x->map && x->op == 0x63 && x->modrm >> 6 == 3 &&
	       reg_bit(x, x->modrm & 7, REX_B) == reg_bit(x, x->modrm >> 3 & 7, REX_R);
}

static uint32_t writes(const struct x86 *x)
{
	uint32_t mask = x->attr & 0xff;

	if (x->map == 1 && !x->vector && x->op == 0x05)
		mask |= R11;
	if (!x->map && x->op == 0x90 && x->rex & REX_B)
		mask |= AX | 1 << 8;
	if (x->vector)
		mask |= 1u << x->vvvv;
	if (x->attr & WO)
		mask |= reg_bit(x, x->op & 7, REX_B);
	if (!(x->attr & M) || extends_itself(x))
		return mask;
	if (x->attr & WG)
		mask |= reg_bit(x, x->modrm >> 3 & 7, REX_R);
	return mask | group_writes(x);
}

static enum insn_flow flow_one_byte(const struct x86 *x)
{
	unsigned sub = x->modrm >> 3 & 7;

	switch (x->op) {
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3:
		return INSN_BRANCH;
	case 0xe8:
		return INSN_CALL;
	case 0xe9:
	case 0xeb:
		return INSN_JUMP;
	case 0xc2 ... 0xc3:
	case 0xca ... 0xcb:
		return INSN_RETURN;
	case 0xcc:
	case 0xf1:
	case 0xf4:
		return INSN_STOP;
	case 0xff:
		return sub == 2 || sub == 3   ? INSN_CALL
		       : sub == 4 || sub == 5 ? INSN_JUMP
					      : INSN_NEXT;
	}
	return INSN_NEXT;
}

static enum insn_flow flow(const struct x86 *x)
{
	if (x->vector || x->map > 1)
		return INSN_NEXT;
	if (!x->map)
		return flow_one_byte(x);
	switch (x->op) {
	case 0x05:
		return INSN_SYSCALL;
	case 0x0b:
	case 0xb9:
	case 0xff:
		return INSN_STOP;
	}
	return x->attr & J4 ? INSN_BRANCH : INSN_NEXT;
}

static enum insn_probe probe(const struct x86 *x)
{
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	bool nop = !x->map && x->op == 0x90;
	bool loop = !x->map && x->op >= 0xe0 && x->op <= 0xe3;

	if (x->attr & NO || x->refused_prefix || (nop && x->rex & REX_B))
		return INSN_NEVER;
	if (x->attr & (J1 | J4) && !loop)
		return x->opsize ? INSN_NEVER : INSN_EMULATED;
	if (nop && !x->rep && !x->repne)
		return INSN_EMULATED;
	if (!x->map && (x->op & 0xf8) == 0x50 && (x->at == 1 || (x->at == 2 && x->rex == 0x41)))
		return INSN_EMULATED;
	if (x->at == sizeof(nop5) && !memcmp(x->code, nop5, sizeof(nop5)))
		return INSN_NOP5;
	return INSN_STEPPED; /* the longer nops as well: emulated only from 6.16 on */
}

/* mov $constant to a register or to memory, push $constant */
static bool loads_constant(const struct x86 *x)
{
	return !x->map && (x->attr & IV || x->op == 0xc7 || x->op == 0x68 || x->op == 0x6a);
}

static int x86__decode(const uint8_t *code, size_t len, struct insn *ret)
{
	struct x86 x = { .code = code, .len = len < 15 ? len : 15 };

	if (take_opcode(&x))
		return -EBADMSG;
	if (x.attr & M)
		take_modrm(&x);
	if (take_immediates(&x) || x.at > x.len)
		return -EBADMSG;
	*ret = (struct insn){
		.len = (uint8_t)x.at,
		.flow = flow(&x),
		.probe = probe(&x),
		.has_target = x.attr & (J1 | J4),
		.has_imm = loads_constant(&x),
		.writes = writes(&x),
		.imm = x.imm,
	};
	if (ret->has_target)
		ret->target = x.imm + ret->len;
	return 0;
}

const struct insn_arch insn_x86 = {
	.name = "x86-64",
	.elf_machine = EM_X86_64,
	.decode = x86__decode,
	.arg0 = DI,
	.arg = { DI, SI, DX, CX, 1 << 8 },
	.args = DI | SI | DX | CX,
	.result = AX,
	.nr = AX,
	.wait_nrs = { 232, 281, 441, -1 },
};
