/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signal handlers of code without tables (musl, Go, arm). A handler returns to a system call. The
 * kernel then restores all registers from where it saved them, above the stack pointer.
 */
#include <elf.h>
#include <string.h>

#include "symbol/unwind/walk.h"

#define FORM_MAX 9
#define ARM64_REGS                                                                                 \
	312 /* siginfo 128, ucontext up to its sigcontext 176, fault address 8; x0 to x30, sp, pc */
#define ARM_REGS      32	       /* ucontext up to its sigcontext 20, three words; r0 to pc */
#define ARM_INFO_REGS (128 + ARM_REGS) /* with a siginfo before: of handlers that want it */
#define X86_64_REGS   40 /* in the ucontext, after flags, link, stack; then in the kernel's order */

/* The code that a handler returns to, and the offset of the saved registers from sp there. */
struct form {
	uint16_t machine;
	uint16_t regs;
	uint8_t len;
	uint8_t code[FORM_MAX];
};

static const struct form forms[] = {
	/* mov $15, %rax; syscall */
	{ EM_X86_64, X86_64_REGS, 9, { 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 } },
	/* mov $15, %eax; syscall */
	{ EM_X86_64, X86_64_REGS, 7, { 0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 } },
	/* arm: mov r7, #119 or #173; svc 0; in arm and in Thumb state */
	{ EM_ARM, ARM_REGS, 8, { 0x77, 0x70, 0xa0, 0xe3, 0x00, 0x00, 0x00, 0xef } },
	{ EM_ARM, ARM_REGS, 4, { 0x77, 0x27, 0x00, 0xdf } },
	{ EM_ARM, ARM_INFO_REGS, 8, { 0xad, 0x70, 0xa0, 0xe3, 0x00, 0x00, 0x00, 0xef } },
	{ EM_ARM, ARM_INFO_REGS, 4, { 0xad, 0x27, 0x00, 0xdf } },
	/* mov x8, #139; svc #0 */
	{ EM_AARCH64, ARM64_REGS, 8, { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 } },
};

/* Offset of a register from the first saved one. */
static unsigned place_of(const struct unwind_arch *arch, unsigned reg)
{
	static const uint8_t x86_64[] = {
		13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16
	};

	return arch->word * (arch->machine == EM_X86_64 ? x86_64[reg] : reg);
}

static const struct form *form_at(struct walk *w, const struct unwind_place *place)
{
	uint8_t code[FORM_MAX];

	if (w->arch->machine == EM_386 || /* its C libraries and vdso have tables for theirs */
	    tables__code(w->env, w->process, place->region, place->pc, code, sizeof(code)))
		return NULL;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (forms[i].machine == w->arch->machine &&
		    !memcmp(code, forms[i].code, forms[i].len))
			return &forms[i];
	return NULL;
}

enum unwind_step unwind_signal__step(struct walk *w, uint64_t *pc)
{
	const struct form *form = w->at.exact ? form_at(w, &w->at) : NULL;
	uint64_t sp, value;

	if (!form || !walk__reg(w, w->arch->sp, &sp))
		return STEP_NONE;
	for (unsigned i = 0; i < w->arch->reg_cnt; i++) {
		if (!walk__word(w, sp + form->regs + place_of(w->arch, i), &value))
			return STEP_ENDS;
		walk__set(w, i, value);
	}
	w->low = w->regs[w->arch->sp];
	*pc = w->regs[w->arch->pc];
	return STEP_INTERRUPTED;
}

bool walk__is_handler_return(struct walk *w, uint64_t pc, struct unwind_place *ret)
{
	return walk__place(w, pc, true, ret) &&
	       ((ret->row.has_table && ret->row.signal) || form_at(w, ret));
}
