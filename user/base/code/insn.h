/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What must be known of a machine instruction to put a uprobe near it: its length, where it goes,
 * which general registers it changes, and what the kernel does with a probe on it. No disassembler:
 * operands are not decoded, and a set of changed registers may name one too many, never one too
 * few.
 */
#ifndef JANK_BASE_CODE_INSN_H
#define JANK_BASE_CODE_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum insn_flow {
	INSN_NEXT,    /* goes on behind itself */
	INSN_BRANCH,  /* conditional */
	INSN_JUMP,    /* never behind itself */
	INSN_CALL,    /* comes back, the call-clobbered registers changed */
	INSN_SYSCALL, /* the same, by the kernel */
	INSN_RETURN,
	INSN_STOP, /* traps; what follows is not reached */
};

/*
 * What a uprobe on it costs, best first (docs/kernel-facts.md); from INSN_NEVER on it must not be.
 */
enum insn_probe {
	INSN_EMULATED, /* by every kernel that we support */
	INSN_NOP5,     /* x86: cheapest from 6.18 on, single-stepped before 6.16 */
	INSN_STEPPED,
	INSN_NEVER, /* refused by the kernel, or it would break the program */
};

struct insn {
	uint8_t len;
	uint8_t flow;	 /* enum insn_flow */
	uint8_t probe;	 /* enum insn_probe */
	bool has_target; /* a direct branch, jump or call */
	bool has_imm;	 /* loads or pushes a constant */
	uint32_t writes; /* bit n: general register n, in the machine's own numbering */
	int64_t target;	 /* from the instruction's first byte */
	int64_t imm;
};

/* An instruction set, and the registers of its C and system calls. */
struct insn_arch {
	const char *name;
	uint16_t elf_machine;
	/* Decodes one instruction. 0, or -EBADMSG: not an instruction, or cut off by `len`. */
	int (*decode)(const uint8_t *code, size_t len, struct insn *ret);
	uint32_t arg0;	 /* first argument of a function */
	uint32_t arg[5]; /* each of the first five, JANK_MARK_ARG_MAX */
	uint32_t args;	 /* the first four */
	uint32_t result; /* of a function and of a system call */
	uint32_t nr;	 /* number of a system call */
	int wait_nrs[4]; /* the epoll waits' numbers, ended by -1 */
};

extern const struct insn_arch insn_x86, insn_arm64;

/* The instruction set of an ELF machine (EM_*), or NULL. */
const struct insn_arch *insn_arch__by_machine(uint16_t elf_machine);

#endif
