/* SPDX-License-Identifier: GPL-2.0 */
/*
 * x86-64 opcodes: what follows each, and what it changes. For insn_x86.c alone. An opcode that is not
 * listed stands by itself and changes no general register. Prefixes are XX: they were taken before.
 */
#ifndef JANK_BASE_CODE_INSN_X86_TABLE_H
#define JANK_BASE_CODE_INSN_X86_TABLE_H

#include <stdint.h>

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

/* Attributes of an opcode; its low byte holds the fixed registers it changes (AX…DI). */
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
	XX = 1 << 21, /* no instruction in 64-bit mode */
};

#define ALU(op)                                                                                    \
	[op] = M | WM | B8, [op + 1] = M | WM, [op + 2] = M | WG | B8, [op + 3] = M | WG,          \
	[op + 4] = I1 | AX, [op + 5] = IZ | AX, [op + 6] = XX, [op + 7] = XX

/* clang-format off */
static const uint32_t one_byte[256] = {
	ALU(0x00), ALU(0x08), ALU(0x10), ALU(0x18), ALU(0x20), ALU(0x28), ALU(0x30),
	[0x38] = M, [0x39] = M, [0x3a] = M, [0x3b] = M, [0x3c] = I1, [0x3d] = IZ,
	[0x3e ... 0x3f] = XX, [0x40 ... 0x4f] = XX, [0x58 ... 0x5f] = WO, [0x60 ... 0x62] = XX, [0x63] = M | WG, [0x64 ... 0x67] = XX,
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
	[0xe0 ... 0xe2] = J1 | CX, [0xe3] = J1, [0xe4 ... 0xe7] = I1 | AX | NO, [0xe8 ... 0xe9] = J4,
	[0xea] = XX, [0xeb] = J1, [0xec ... 0xef] = AX | NO, [0xf0] = XX, [0xf1] = NO, [0xf2 ... 0xf3] = XX, [0xf4] = NO,
	[0xf6] = M | B8, [0xf7] = M, [0xfa ... 0xfb] = NO, [0xfe] = M | WM | B8, [0xff] = M,
};

/* Vector instructions are taken to change both registers, whatever those are. */
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

#endif
