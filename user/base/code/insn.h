/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine instruction, as far as placing a uprobe near it requires: length, branch target,
 * changed general registers, and what the kernel does with a probe on it. This is no disassembler:
 * operands are not decoded. The set of changed registers may hold too many registers, never too
 * few.
 */
#ifndef JANK_BASE_CODE_INSN_H
#define JANK_BASE_CODE_INSN_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum insn_flow {
	INSN_NEXT,    /* continues with the next instruction */
	INSN_BRANCH,  /* conditional */
	INSN_JUMP,    /* never continues with the next instruction */
	INSN_CALL,    /* returns; the call-clobbered registers have changed */
	INSN_SYSCALL, /* like INSN_CALL, by the kernel */
	INSN_RETURN,
	INSN_STOP, /* traps; the next instruction is not reached */
};

/*
 * Cost of a uprobe on the instruction, cheapest first (docs/kernel-facts.md). From INSN_NEVER on it
 * must not be probed.
 */
enum insn_probe {
	INSN_EMULATED, /* by every supported kernel */
	INSN_NOP5,     /* x86: cheapest from 6.18 on, single-stepped before 6.16 */
	INSN_STEPPED,
	INSN_NEVER, /* the kernel refuses it, or it would break the program */
};

struct insn {
	uint8_t len;
	uint8_t flow;	 /* enum insn_flow */
	uint8_t probe;	 /* enum insn_probe */
	bool has_target; /* a direct branch, jump or call */
	bool has_imm;	 /* loads or pushes a constant */
	uint32_t writes; /* bit n: general register n, in the machine's numbering */
	int64_t target;	 /* from the instruction's first byte */
	int64_t imm;
};

/* An instruction set, with the registers of its C calls and system calls. */
struct insn_arch {
	const char *name;
	uint16_t elf_machine;
	/* Decodes one instruction. 0, or -EBADMSG: not an instruction, or cut off at `len`. */
	int (*decode)(const uint8_t *code, size_t len, struct insn *ret);
	uint32_t arg0;	 /* first argument of a function */
	uint32_t arg[5]; /* each of the first five, JANK_MARK_ARG_MAX */
	uint32_t args;	 /* the first four */
	uint32_t result; /* of functions and of system calls */
	uint32_t nr;	 /* number of a system call */
	int wait_nrs[4]; /* numbers of the epoll waits, terminated by -1 */
};

extern const struct insn_arch insn_x86, insn_arm64;

/* The instruction set of an ELF machine (EM_*), or NULL. */
const struct insn_arch *insn_arch__by_machine(uint16_t elf_machine);

/*
 * --- call sites: whether an address is a return address, judged by the code before it. machine:
 * EM_* of that code; x86-64, i386, arm64, arm in both its states. Other machines have no calls.
 */

#ifdef __aarch64__
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_X86_64
#endif

/*
 * The bits of a code address in a register or on a stack of this machine. arm64 signs return
 * addresses in the bits above: how many the kernel's size of user addresses says (39 bits on
 * Android). Without signatures there is nothing to remove.
 */
uint64_t code_address__mask(void);

#define CALL_BYTES 8 /* bytes to read before the address */

/* True if a call ends at the address. code: the CALL_BYTES bytes before the address. */
bool is_behind_call(uint16_t machine, const uint8_t *code);

/*
 * The target of the direct call before the address. False: the call is through a register or
 * memory, there is no call, or the code is arm's.
 */
bool call_site__target(uint16_t machine, const uint8_t *code, uint64_t address, uint64_t *ret);

#endif
