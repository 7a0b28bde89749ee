/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The bytecode's address of ART's interpreters, which their unwind tables give by an expression of
 * its own. The test's interpreter has such a table, and calls itself for another method.
 */
#include "symbol/unwind/unwind.h"
#include "tests/unit/capture.h"
#include "tests/unit/symbol_fixture.h"

#define STACK 16384

/* DW_CFA_val_expression, register 0, 9 bytes: "DEX1", drop, a register (12 or 22) and 2 */
#define RULE(reg) ".cfi_escape 0x16, 0, 9, 0x0c, 'D', 'E', 'X', '1', 0x13, 0x92, " reg ", 2\\n"

static const char source[] =
	"#include <stdio.h>\n"
	"volatile long sink; char outer_code[8], inner_code[8];\n"
	"void first(void) { sink++; }\n"
	"__attribute__((noinline)) void leaf(void) { for (;;) sink++; }\n"
	"void interpret(char *code, void (*next)(void));\n"
	"#ifdef __x86_64__\n"
	"__asm__(\".globl interpret\\n interpret:\\n .cfi_startproc\\n push %r12\\n\"\n"
	"\".cfi_def_cfa_offset 16\\n .cfi_offset 12, -16\\n mov %rdi, %r12\\n" RULE(
		"12") "\"\n"
		      "\"call *%rsi\\n pop %r12\\n .cfi_def_cfa_offset 8\\n ret\\n .cfi_endproc\\n\");\n"
		      "#else\n"
		      "__asm__(\".globl interpret\\n interpret:\\n .cfi_startproc\\n\"\n"
		      "\"stp x22, x30, [sp, #-16]!\\n .cfi_def_cfa_offset 16\\n .cfi_offset 22, -16\\n\"\n"
		      "\".cfi_offset 30, -8\\n mov x22, x0\\n" RULE(
			      "22") "blr x1\\n\"\n"
				    "\"ldp x22, x30, [sp], #16\\n .cfi_def_cfa_offset 0\\n ret\\n .cfi_endproc\\n\");\n"
				    "#endif\n"
				    "__attribute__((noinline)) void inner(void) { interpret(inner_code, leaf); sink++; }\n"
				    "void last(void) { sink--; }\n"
				    "#define SHOW(f) printf(#f \" %lx\\n\", (unsigned long)&f)\n"
				    "int main(void) { SHOW(first); SHOW(leaf); SHOW(interpret); SHOW(inner); SHOW(last);\n"
				    "  SHOW(outer_code); SHOW(inner_code); puts(\"ready\"); fflush(stdout);\n"
				    "  interpret(outer_code, inner); sink++; return 0; }\n";

static void check_dex(const struct fixture *fx, const struct unwound *got, uint32_t nth,
		      uint32_t index, const char *code)
{
	const struct dex_frame *dex = &got->dex[nth];

	is_uint(dex->index, index, "%s: the frame of the interpreter", code);
	is_uint(dex->pc, fixture__addr(fx, code) + 2, "%s: and its place in the bytecode", code);
}

int main(void)
{
	static struct capture capture;
	static struct unwound got;
	struct symbolizer *sym;
	struct fixture fx;

	scratch__init();
	scratch__write_text("i.c", source);
	if (!fixture__sh("cc -O2 -fno-toplevel-reorder -w -o $D/i $D/i.c"))
		return tap__done();
	fixture__run(&fx, "i");
	if (ptrace(PTRACE_SEIZE, fx.pid, NULL, (void *)PTRACE_O_EXITKILL))
		skip_all("no ptrace here");
	do { /* until it is in leaf */
		usleep(1000);
		if (!capture__take(fx.pid, STACK, &capture))
			skip_all("no ptrace here");
		sym = fixture__symbolizer("/nowhere", NULL);
		if (symbolizer__unwind(sym, &capture.copy, &got, 1))
			abort();
		symbolizer__free(sym);
		capture__go_on(fx.pid);
	} while (fixture__function_at(&fx, got.addresses[0]) != 1);
	is_int(got.end, STACK_END_COMPLETE, "the walk is complete");
	is_uint(got.dex_cnt, 2, "two frames of the interpreter");
	check_dex(&fx, &got, 0, 1, "inner_code"); /* leaf, interpret, inner, interpret, main */
	check_dex(&fx, &got, 1, 3, "outer_code");
	fixture__stop(&fx);
	return tap__done();
}
