/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arm64 instructions, by a table of bit patterns; the first match counts.
 *
 * arch/arm64/kernel/probes/decode-insn.c says what the kernel simulates: branches, adr and adrp. It
 * simulates nop only since 6.13, so nop counts as stepped, and it simulates no bti or pac hint. It
 * refuses loads of literals, exclusives, system registers, exceptions, branches that authenticate,
 * and other hints.
 */
#include <elf.h>
#include <errno.h>

#include "base/code/insn.h"

/* Registers that a pattern changes. X31 is sp or the zero register and never of interest. */
enum writes {
	W_NONE,
	W_D,   /* Rd or Rt, bits 4:0 */
	W_X0,  /* a system call's result */
	W_MEM, /* depends on the kind of load or store */
	W_EXT, /* like W_D, but sign extension into itself keeps an int argument */
	W_ALL,
};

/* Position of a direct branch's displacement: `bits` bits from bit `shift` on, in words. */
struct disp {
	uint8_t shift, bits;
};

static const struct pattern {
	uint32_t mask, bits;
	uint8_t flow, probe, writes;
	struct disp disp;
} patterns[] = {
	{ 0xfc000000, 0x14000000, INSN_JUMP, INSN_EMULATED, W_NONE, { 0, 26 } },   /* b */
	{ 0xfc000000, 0x94000000, INSN_CALL, INSN_EMULATED, W_NONE, { 0, 26 } },   /* bl */
	{ 0xff000010, 0x54000000, INSN_BRANCH, INSN_EMULATED, W_NONE, { 5, 19 } }, /* b.cond */
	{ 0xff000010, 0x54000010, INSN_BRANCH, INSN_NEVER, W_NONE, { 5, 19 } },	   /* bc.cond */
	{ 0x7e000000, 0x34000000, INSN_BRANCH, INSN_EMULATED, W_NONE, { 5, 19 } }, /* cbz, cbnz */
	{ 0x7e000000, 0x36000000, INSN_BRANCH, INSN_EMULATED, W_NONE, { 5, 14 } }, /* tbz, tbnz */
	{ 0xfffffc1f, 0xd61f0000, INSN_JUMP, INSN_EMULATED, W_NONE, { 0 } },	   /* br */
	{ 0xfffffc1f, 0xd63f0000, INSN_CALL, INSN_EMULATED, W_NONE, { 0 } },	   /* blr */
	{ 0xfffffc1f, 0xd65f0000, INSN_RETURN, INSN_EMULATED, W_NONE, { 0 } },	   /* ret */
	{ 0xfffffbff, 0xd65f0bff, INSN_RETURN, INSN_NEVER, W_NONE, { 0 } }, /* retaa, retab */
	{ 0xfe600000, 0xd6200000, INSN_CALL, INSN_NEVER, W_NONE, { 0 } },   /* blraa, … */
	{ 0xfe600000, 0xd6000000, INSN_JUMP, INSN_NEVER, W_NONE, { 0 } },   /* braa, … */
	{ 0xfe000000, 0xd6000000, INSN_STOP, INSN_NEVER, W_NONE, { 0 } },   /* eret, drps */
	{ 0x1f000000, 0x10000000, INSN_NEXT, INSN_EMULATED, W_D, { 0 } },   /* adr, adrp */
	{ 0x3b000000, 0x18000000, INSN_NEXT, INSN_NEVER, W_D, { 0 } },	    /* ldr literal */
	{ 0xffe0001f, 0xd4000001, INSN_SYSCALL, INSN_NEVER, W_X0, { 0 } },  /* svc */
	{ 0xff000000, 0xd4000000, INSN_STOP, INSN_NEVER, W_NONE, { 0 } },   /* brk, hlt, … */
	{ 0xffffffff, 0xd503201f, INSN_NEXT, INSN_STEPPED, W_NONE, { 0 } }, /* nop */
	{ 0xffffff3f, 0xd503241f, INSN_NEXT, INSN_STEPPED, W_NONE, { 0 } }, /* bti */
	{ 0xffffff1f,
	  0xd503231f,
	  INSN_NEXT,
	  INSN_STEPPED,
	  W_NONE,
	  { 0 } }, /* paciaz…: see hint() */
	{ 0xfffff01f, 0xd503201f, INSN_NEXT, INSN_NEVER, W_NONE, { 0 } },   /* other hints */
	{ 0xfffff01f, 0xd503301f, INSN_NEXT, INSN_STEPPED, W_NONE, { 0 } }, /* barriers */
	{ 0xffc00000, 0xd5000000, INSN_NEXT, INSN_NEVER, W_D, { 0 } },	    /* msr, mrs, sys */
	{ 0xffff0000, 0x00000000, INSN_STOP, INSN_NEVER, W_NONE, { 0 } },   /* udf */
	{ 0x3f000000, 0x08000000, INSN_NEXT, INSN_NEVER, W_ALL, { 0 } },    /* exclusives, cas */
	{ 0x3b200c00, 0x19000400, INSN_NEXT, INSN_NEVER, W_ALL, { 0 } },   /* memory copy and set */
	{ 0x0a000000, 0x08000000, INSN_NEXT, INSN_STEPPED, W_MEM, { 0 } }, /* loads and stores */
	{ 0x1fe00000, 0x1a400000, INSN_NEXT, INSN_STEPPED, W_NONE, { 0 } }, /* ccmp, ccmn */
	{ 0xfffffc00, 0x93407c00, INSN_NEXT, INSN_STEPPED, W_EXT, { 0 } },  /* sxtw */
	{ 0x00000000, 0x00000000, INSN_NEXT, INSN_STEPPED, W_D, { 0 } },
};

static uint32_t field(uint32_t word, unsigned shift, unsigned bits)
{
	return word >> shift & ((1u << bits) - 1);
}

static uint32_t bit_of(uint32_t reg)
{
	return reg == 31 ? 0 : 1u << reg;
}

/* The kernel refuses the authenticating half of the pac hints (aut…, 28 to 31). */
static enum insn_probe hint(uint32_t word, enum insn_probe probe)
{
	return (word & 0xfffff01f) == 0xd503201f && field(word, 5, 7) >= 28 &&
			       field(word, 5, 7) < 32
		       ? INSN_NEVER
		       : probe;
}

/* Loads and stores: the general registers that are loaded, and the base register on write-back. */
static uint32_t memory_writes(uint32_t word)
{
	uint32_t t = bit_of(field(word, 0, 5)), base = bit_of(field(word, 5, 5));
	uint32_t t2 = bit_of(field(word, 10, 5));
	bool simd = field(word, 26, 1), load = field(word, 22, 2);

	if ((word & 0x3a000000) == 0x28000000) { /* pairs: only bit 22 marks a load */
		load = field(word, 22, 1);
		return (load && !simd ? t | t2 : 0) | (field(word, 23, 1) ? base : 0);
	}
	if ((word & 0x3f000000) == 0x0c000000 || (word & 0x3f000000) == 0x0d000000)
		return base; /* vector structures */
	if ((word & 0x3b200000) == 0x38000000 && !field(word, 10, 1))
		base = 0; /* unscaled and unprivileged: no write-back */
	else if ((word & 0x3b000000) != 0x38000000 || field(word, 21, 1))
		base = 0;
	if ((word & 0x3b200c00) == 0x38200000)
		load = true; /* atomics return the old value */
	return (load && !simd ? t : 0) | base;
}

static uint32_t writes(const struct pattern *pattern, uint32_t word)
{
	switch (pattern->writes) {
	case W_D:
		return bit_of(field(word, 0, 5));
	case W_X0:
		return 1;
	case W_MEM:
		return memory_writes(word);
	case W_EXT:
		return field(word, 0, 5) == field(word, 5, 5) ? 0 : bit_of(field(word, 0, 5));
	case W_ALL:
		return 0x7fffffff;
	}
	return 0;
}

static int arm64__decode(const uint8_t *code, size_t len, struct insn *ret)
{
	const struct pattern *pattern = patterns;
	uint32_t word;

	if (len < 4)
		return -EBADMSG;
	word = code[0] | code[1] << 8 | code[2] << 16 | (uint32_t)code[3] << 24;
	while ((word & pattern->mask) != pattern->bits)
		pattern++;
	*ret = (struct insn){
		.len = 4,
		.flow = pattern->flow,
		.probe = hint(word, pattern->probe),
		.has_target = pattern->disp.bits,
		.writes = writes(pattern, word),
	};
	if (pattern->disp.bits) {
		uint32_t disp = field(word, pattern->disp.shift, pattern->disp.bits);

		ret->target =
			(int32_t)(disp << (32 - pattern->disp.bits)) >> (32 - pattern->disp.bits);
		ret->target *= 4;
	}
	if ((word & 0x7f800000) == 0x52800000) { /* movz */
		ret->has_imm = true;
		ret->imm = (int64_t)((uint64_t)field(word, 5, 16) << (16 * field(word, 21, 2)));
	}
	return 0;
}

const struct insn_arch insn_arm64 = {
	.name = "arm64",
	.elf_machine = EM_AARCH64,
	.decode = arm64__decode,
	.arg0 = 1 << 0,
	.arg = { 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 4 },
	.args = 0xf,
	.result = 1 << 0,
	.nr = 1 << 8,
	.wait_nrs = { 22, 441, -1 },
};
