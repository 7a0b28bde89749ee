/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86-64 instructions, 64-bit mode. Two tables say what follows an opcode and what it changes. The
 * maps 0F38 and 0F3A and the vector encodings (VEX, EVEX, XOP) are regular enough to need no table.
 *
 * arch/x86/kernel/uprobes.c says what the kernel emulates: branch_setup_xol_ops() and
 * push_setup_xol_ops(). It has three traps; each such instruction is INSN_NEVER here:
 *   - It accepts every two-byte opcode, including `syscall`, and then kills the program.
 *   - It identifies instructions by the opcode byte alone: VEX's vpcmpeqb (74) and vzeroupper (77)
 *     would be emulated as je and ja, and xchg %r8,%rax (41 90) as a nop.
 *   - It refuses segment and lock prefixes, and branches with an operand-size prefix.
 */
#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/code/insn.h"

/*
 * --- opcode tables: what follows each opcode, and what it changes. An opcode that is not listed
 * has no operand bytes and changes no general register. Prefixes are XX: the decoder consumes them
 * first.
 */

enum {
	AX = 1 << 0,
	CX = 1 << 1,
	DX = 1 << 2,
	BX = 1 << 3,
	BP = 1 << 5,
	SI = 1 << 6,
	DI = 1 << 7,
	R11 = 1 << 11,
};

/* Attributes of an opcode. The low byte holds the fixed registers that it changes (AX…DI). */
enum {
	M = 1 << 8,   /* ModRM follows */
	I1 = 1 << 9,  /* immediates: 1 byte, */
	I2 = 1 << 10, /* 2 bytes, */
	IZ = 1 << 11, /* 2 or 4 by operand size, */
	IV = 1 << 12, /* 2, 4 or 8 by operand size, */
	IA = 1 << 13, /* an address */
	J1 = 1 << 14, /* branch displacements */
	J4 = 1 << 15,
	WM = 1 << 16, /* changes ModRM.rm when that is a register, */
	WG = 1 << 17, /* ModRM.reg, */
	WO = 1 << 18, /* the register in the opcode's low bits */
	B8 = 1 << 19, /* byte operands: 4–7 without REX are ah…bh */
	NO = 1 << 20, /* must not be probed */
	XX = 1 << 21, /* not an instruction in 64-bit mode */
};

#define ALU(op)                                                                                    \
	[op] = M | WM | B8, [op + 1] = M | WM, [op + 2] = M | WG | B8, [op + 3] = M | WG,          \
	[op + 4] = I1 | AX, [op + 5] = IZ | AX, [op + 6] = XX, [op + 7] = XX

/* clang-format off */
static const uint32_t one_byte[256] = {
	ALU(0x00), ALU(0x08), ALU(0x10), ALU(0x18), ALU(0x20), ALU(0x28), ALU(0x30),
	[0x38] = M, [0x39] = M, [0x3a] = M, [0x3b] = M, [0x3c] = I1, [0x3d] = IZ,
	[0x3e ... 0x3f] = XX, [0x40 ... 0x4f] = XX, [0x58 ... 0x5f] = WO, [0x60 ... 0x62] = XX,
	[0x63] = M | WG, [0x64 ... 0x67] = XX,
	[0x68] = IZ, [0x69] = M | IZ | WG, [0x6a] = I1, [0x6b] = M | I1 | WG,
	[0x6c ... 0x6f] = SI | DI | CX | NO, [0x70 ... 0x7f] = J1,
	[0x80] = M | I1 | WM | B8, [0x81] = M | IZ | WM, [0x82] = XX, [0x83] = M | I1 | WM,
	[0x84] = M, [0x85] = M, [0x86] = M | WM | WG | B8, [0x87] = M | WM | WG,
	[0x88] = M | WM | B8, [0x89] = M | WM, [0x8a] = M | WG | B8, [0x8b] = M | WG,
	[0x8c] = M | WM, [0x8d] = M | WG, [0x8e] = M | NO, [0x8f] = M | WM,
	[0x91 ... 0x97] = WO | AX, [0x98] = AX, [0x99] = DX, [0x9a] = XX, [0x9f] = AX,
	[0xa0 ... 0xa1] = IA | AX, [0xa2 ... 0xa3] = IA, [0xa4 ... 0xa7] = SI | DI | CX,
	[0xa8] = I1, [0xa9] = IZ, [0xaa ... 0xab] = DI | CX, [0xac ... 0xad] = SI | AX | CX,
	[0xae ... 0xaf] = DI | CX, [0xb0 ... 0xb7] = I1 | WO | B8, [0xb8 ... 0xbf] = IV | WO,
	[0xc0] = M | I1 | WM | B8, [0xc1] = M | I1 | WM, [0xc2] = I2,
	[0xc6] = M | I1 | WM | B8, [0xc7] = M | IZ | WM, [0xc8] = I2 | I1 | BP, [0xc9] = BP,
	[0xca] = I2, [0xcc] = NO, [0xcd] = I1 | NO, [0xce] = XX, [0xcf] = NO,
	[0xd0] = M | WM | B8, [0xd1] = M | WM, [0xd2] = M | WM | B8, [0xd3] = M | WM,
	[0xd4 ... 0xd6] = XX, [0xd7] = AX, [0xd8 ... 0xde] = M, [0xdf] = M | AX,
	[0xe0 ... 0xe2] = J1 | CX, [0xe3] = J1,
	[0xe4 ... 0xe7] = I1 | AX | NO, [0xe8 ... 0xe9] = J4,
	[0xea] = XX, [0xeb] = J1, [0xec ... 0xef] = AX | NO, [0xf0] = XX,
	[0xf1] = NO, [0xf2 ... 0xf3] = XX, [0xf4] = NO,
	[0xf6] = M | B8, [0xf7] = M, [0xfa ... 0xfb] = NO, [0xfe] = M | WM | B8, [0xff] = M,
};

/* Assume that vector instructions change both registers. */
#define VEC (M | WM | WG)

static const uint32_t two_byte[256] = {
	[0x00] = M | WM | NO, [0x01] = M | WM | AX | BX | CX | DX | NO, [0x02 ... 0x03] = M | WG,
	[0x04] = XX, [0x05] = AX | CX | NO, [0x06 ... 0x09] = NO, [0x0a] = XX, [0x0b] = NO,
	[0x0c] = XX, [0x0d] = M, [0x0f] = VEC | I1 | NO,
	[0x10 ... 0x17] = VEC, [0x18 ... 0x1d] = M, [0x1e] = M | WM, [0x1f] = M,
	[0x20] = M | WM | NO, [0x21] = M | WM | NO, [0x22] = M | NO, [0x23] = M | NO,
	[0x24 ... 0x27] = XX, [0x28 ... 0x2f] = VEC, [0x30] = NO, [0x31 ... 0x33] = AX | DX,
	[0x34 ... 0x35] = NO, [0x36] = XX, [0x37] = AX | BX | CX | NO, [0x38 ... 0x3f] = XX,
	[0x40 ... 0x4f] = M | WG, [0x50 ... 0x6f] = VEC, [0x70 ... 0x73] = VEC | I1,
	[0x74 ... 0x76] = VEC, [0x78 ... 0x79] = VEC | NO, [0x7a ... 0x7b] = XX,
	[0x7c ... 0x7f] = VEC, [0x80 ... 0x8f] = J4, [0x90 ... 0x9f] = M | WM | B8,
	[0xa2] = AX | BX | CX | DX, [0xa3] = M, [0xa4] = M | I1 | WM, [0xa5] = M | WM,
	[0xa6 ... 0xa7] = M | AX | BX | CX | DX | SI | DI | NO, [0xaa] = NO, [0xab] = M | WM,
	[0xac] = M | I1 | WM, [0xad] = M | WM, [0xae] = M | WM | NO, [0xaf] = M | WG,
	[0xb0] = M | WM | AX | B8, [0xb1] = M | WM | AX, [0xb2] = M | WG, [0xb3] = M | WM,
	[0xb4 ... 0xb5] = M | WG, [0xb6] = M | WG, [0xb7] = M | WG, [0xb8] = M | WG,
	[0xb9] = M | NO, [0xba] = M | I1 | WM, [0xbb] = M | WM, [0xbc ... 0xbf] = M | WG,
	[0xc0] = M | WM | WG | B8, [0xc1] = M | WM | WG, [0xc2] = VEC | I1, [0xc3] = M,
	[0xc4 ... 0xc6] = VEC | I1, [0xc7] = M | WM | AX | DX, [0xc8 ... 0xcf] = WO,
	[0xd0 ... 0xfe] = VEC, [0xff] = M | NO,
};

/* clang-format on */

/* Decoder state of one instruction. */
struct x86 {
	const uint8_t *code;
	size_t len, at; /* at > len: the instruction is cut off */
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

/* Reads a little-endian signed number of n bytes. */
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

/* The bytes after C4, C5, 62 and 8F hold REX's bits inverted, the map and another register. */
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
		mod = 3; /* moves of control registers have no memory form */
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

/* Bit of a register. A byte register may be the second byte of the register four before. */
static uint32_t reg_bit(const struct x86 *x, unsigned reg, uint8_t rex_bit)
{
	uint32_t bit = 1u << (reg + (x->rex & rex_bit ? 8 : 0));

	return x->attr & B8 && !x->rex && reg >= 4 ? bit | 1u << (reg - 4) : bit;
}

/* Opcode groups in which ModRM.reg says whether the operand changes. */
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

/* movslq %edi,%rdi keeps the value of an int argument: count it as no change. */
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
	return INSN_STEPPED; /* the longer nops too: they are emulated only from 6.16 on */
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
