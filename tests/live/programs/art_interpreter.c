// SPDX-License-Identifier: GPL-2.0
// A part of the stand-in for libart.so: two interpreters of DEX methods without parameters. Their
// unwind tables tell the place in the bytecode as ART's do (runtime/interpreter/cfi_asm_support.h):
// nterp's the instruction, in r12 or x22; the switch interpreter's the method's first one, in rbx
// or x19.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "art_dex.h"

struct method {
	const struct art_dex *dex;
	int32_t regs[16], result;
};

static uint32_t word(const uint8_t *at)
{
	uint32_t ret;

	memcpy(&ret, at, sizeof(ret));
	return ret;
}

static uint32_t uleb(const uint8_t **at)
{
	uint32_t ret = 0;

	for (unsigned bits = 0;; bits += 7) {
		ret |= (uint32_t)(**at & 0x7f) << bits;
		if (!(*(*at)++ & 0x80))
			return ret;
	}
}

// The first instruction of a method of the first class; NULL: it is native.
static const uint16_t *code_of(const uint8_t *dex, uint32_t wanted)
{
	const uint8_t *at = dex + word(dex + word(dex + 100) + 24);
	uint32_t statics = uleb(&at), fields = uleb(&at), directs = uleb(&at), index = 0;

	if (statics || fields || uleb(&at))
		abort();
	while (directs--) {
		uint32_t code;

		index += uleb(&at);
		uleb(&at);
		code = uleb(&at);
		if (index == wanted)
			return code ? (const uint16_t *)(dex + code + 16) : NULL;
	}
	abort();
}

void art_nterp(const uint16_t *pc, struct method *method);
void art_switch(const uint16_t *pc, struct method *method);

static void invoke(const struct method *caller, uint32_t index, int32_t *result)
{
	struct method method = { .dex = caller->dex };
	const uint16_t *code = code_of(caller->dex->bytes, index);

	if (!code)
		*result = caller->dex->native();
	else if (caller->dex->by_switch)
		art_switch(code, &method);
	else
		art_nterp(code, &method);
}

// Runs one instruction. Returns the next one; NULL: the method has ended.
__attribute__((visibility("hidden"))) const uint16_t *art_step(const uint16_t *pc, struct method *m)
{
	unsigned op = *pc & 0xff, high = *pc >> 8;

	switch (op) {
	case 0x0a: // move-result vAA
		m->regs[high] = m->result;
		return pc + 1;
	case 0x0e: // return-void
		return NULL;
	case 0x12: // const/4 vA, #+B
		m->regs[high & 15] = (int8_t)high >> 4;
		return pc + 1;
	case 0x38: // if-eqz vAA, +BBBB
		return pc + (m->regs[high] ? 2 : (int16_t)pc[1]);
	case 0x71: // invoke-static {}, method@BBBB
		invoke(m, pc[1], &m->result);
		return pc + 3;
	case 0xd8: // add-int/lit8 vAA, vBB, #+CC
		m->regs[high] = (uint32_t)m->regs[pc[1] & 0xff] + (int8_t)(pc[1] >> 8);
		return pc + 2;
	}
	abort();
}

// DW_CFA_val_expression, register 0, 9 bytes: "DEX1", drop, the register, 0
#define DEX_PC_(reg) ".cfi_escape 0x16, 0, 9, 0x0c, 'D', 'E', 'X', '1', 0x13, 0x92, " #reg ", 0\n"

#define DEX_PC(reg) DEX_PC_(reg)

#define INTERPRETER(name, reg)                                                                     \
	__asm__(".text\n.balign 16\n.globl " name "\n.type " name ", %function\n" name             \
		":\n.cfi_startproc\n" PROLOGUE DEX_PC(reg) LOOP EPILOGUE                           \
		"ret\n.cfi_endproc\n.size " name ", . - " name "\n")

#ifdef __x86_64__
#define NTERP  12
#define SWITCH 3
#define PROLOGUE                                                                                   \
	"push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset 3, -16\n"                                  \
	"push %r12\n.cfi_def_cfa_offset 24\n.cfi_offset 12, -24\n"                                 \
	"push %r13\n.cfi_def_cfa_offset 32\n.cfi_offset 13, -32\n"                                 \
	"mov %rdi, %r12\nmov %rdi, %rbx\nmov %rsi, %r13\n"
#define LOOP                                                                                       \
	"1: mov %r12, %rdi\nmov %r13, %rsi\ncall art_step\ntest %rax, %rax\njz 2f\n"               \
	"mov %rax, %r12\njmp 1b\n2: "
#define EPILOGUE                                                                                   \
	"pop %r13\n.cfi_def_cfa_offset 24\n.cfi_restore 13\n"                                      \
	"pop %r12\n.cfi_def_cfa_offset 16\n.cfi_restore 12\n"                                      \
	"pop %rbx\n.cfi_def_cfa_offset 8\n.cfi_restore 3\n"
#else
#define NTERP  22
#define SWITCH 19
#define PROLOGUE                                                                                   \
	"stp x29, x30, [sp, #-48]!\n.cfi_def_cfa_offset 48\n.cfi_offset 29, -48\n"                 \
	".cfi_offset 30, -40\nstp x19, x22, [sp, #16]\n.cfi_offset 19, -32\n"                      \
	".cfi_offset 22, -24\nstr x23, [sp, #32]\n.cfi_offset 23, -16\n"                           \
	"mov x22, x0\nmov x19, x0\nmov x23, x1\n"
#define LOOP "1: mov x0, x22\nmov x1, x23\nbl art_step\ncbz x0, 2f\nmov x22, x0\nb 1b\n2: "
#define EPILOGUE                                                                                   \
	"ldr x23, [sp, #32]\n.cfi_restore 23\nldp x19, x22, [sp, #16]\n.cfi_restore 19\n"          \
	".cfi_restore 22\nldp x29, x30, [sp], #48\n.cfi_def_cfa_offset 0\n.cfi_restore 29\n"       \
	".cfi_restore 30\n"
#endif

INTERPRETER("art_nterp", NTERP);
INTERPRETER("art_switch", SWITCH);

void art_run(const struct art_dex *dex)
{
	const uint8_t *at = dex->bytes + word(dex->bytes + word(dex->bytes + 100) + 24);
	struct method none = { .dex = dex };
	int32_t result;

	uleb(&at);
	uleb(&at);
	uleb(&at);
	uleb(&at);
	invoke(&none, uleb(&at), &result);
}
