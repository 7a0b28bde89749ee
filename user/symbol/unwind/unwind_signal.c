/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Signal handlers of code without tables (musl, Go): what a handler returns to is a system call by which the kernel puts all
 * registers back, from where it had put them above the stack pointer.
 */
#include <string.h>

#include "symbol/unwind/unwind_parts.h"

#ifdef __aarch64__
#define CONTEXT_REGS                                                                               \
	312 /* siginfo 128, ucontext up to its sigcontext 176, the fault's address 8; x0 to x30, sp, pc */
static const uint8_t forms[][8] = {
	{ 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 }, /* mov x8, #139; svc #0 */
};
#define FORM_MAX 8

static int place_of(unsigned reg)
{
	return CONTEXT_REGS + 8 * reg;
}
#else
#define CONTEXT_REGS 40 /* of the ucontext: flags, link, stack; then by the kernel's order */
static const uint8_t forms[][9] = {
	{ 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 }, /* mov $15, %rax; syscall */
	{ 0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05, 0, 0 },	  /* mov $15, %eax; syscall */
};
#define FORM_MAX     9

static int place_of(unsigned reg)
{
	static const uint8_t order[] = { 13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16 };

	return CONTEXT_REGS + 8 * order[reg];
}
#endif

bool unwind_signal__is_trampoline(struct walk *w, const struct unwind_place *place)
{
	uint8_t code[FORM_MAX];

	if (w->arch->word != 8 ||
	    tables__code(w->env, w->process, place->region, place->pc, code, sizeof(code)))
		return false;
	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		size_t len = forms[i][FORM_MAX - 1] ? FORM_MAX : 7;

#ifdef __aarch64__
		len = FORM_MAX;
#endif
		if (!memcmp(code, forms[i], len))
			return true;
	}
	return false;
}

enum unwind_step unwind_signal__step(struct walk *w, uint64_t *pc)
{
	uint64_t sp, value;

	if (!walk__reg(w, w->arch->sp, &sp))
		return STEP_NONE;
	for (unsigned i = 0; i < w->arch->reg_cnt; i++) {
		if (!walk__word(w, sp + place_of(i), &value))
			return STEP_ENDS;
		walk__set(w, i, value);
	}
	w->low = w->regs[w->arch->sp];
	*pc = w->regs[w->arch->pc];
	return STEP_INTERRUPTED;
}
