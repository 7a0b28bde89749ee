/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code in the forms that HotSpot generates, in anonymous memory, of a program with a libjvm.so: a
 * call stub, an interpreter that returns by jumps, compiled code that uses the frame pointer for
 * something else, and compiled code that keeps it. Walks at each instruction: never a wrong frame,
 * and rarely one too few.
 */
#include "symbol/unwind/unwind.h"
#include "tests/unit/capture.h"
#include "tests/unit/java_code.h"
#include "tests/unit/symbol_fixture.h"

#define STACK 16384
#define STEPS 4000

static const char source[] =
	"#include <stdio.h>\n#include <string.h>\n#include <sys/mman.h>\n"
	"extern char stub[], interp[], out[], entry[], compiled[], keeps[], last[];\n"
	"static void *table[256];\n"
	"int main(void) { char *to = mmap(0, 8192, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 4096;\n"
	" memcpy(to, stub, last - stub); mprotect(to - 4096, 4096, 0);\n"
	" table[0] = to + (interp - stub); table[(0x100 + 0x50) / 8] = to + (compiled - stub);\n"
	"#define SHOW(f) printf(#f \" %lx\\n\", (unsigned long)to + (f - stub))\n"
	" SHOW(stub); SHOW(entry); SHOW(interp); SHOW(out); SHOW(compiled); SHOW(keeps); "
	"SHOW(last);\n"
	" puts(\"ready\"); fflush(stdout);\n"
	" for (;;) ((void (*)(void **))to)(table); }\n";

enum { STUB, ENTRY, INTERP, OUT, COMPILED, KEEPS, PIECES };

/* The caller: the interpreter's frame is built in its entry, and gone on its way out. */
static int caller_of(int piece)
{
	static const int callers[] = { -1, STUB, STUB, STUB, INTERP, COMPILED };

	return callers[piece];
}

enum verdict { WHOLE, SHORT, WRONG };

static enum verdict judge(const struct fixture *fx, const struct unwound *got)
{
	int at = fixture__function_at(fx, got->addresses[0]), next;
	uint32_t i;

	for (i = 1; at >= STUB && i < got->cnt; i++) {
		next = fixture__function_at(fx, got->addresses[i] -
							(got->addresses[i] != fx->addrs[0].addr));
		if (next != caller_of(at) &&
		    (at != INTERP || next != INTERP || i > 1)) /* a call within it */
			return WRONG;
		at = next;
	}
	return got->end == STACK_END_COMPLETE && at < STUB ? WHOLE : SHORT;
}

static void show(const struct fixture *fx, const struct unwound *got)
{
	diag("the walk ended by %d in %s", got->end, got->module ?: "-");
	for (uint32_t i = 0; i < got->cnt; i++)
		diag("%2u %llx in %d, of it +%llx", i, (unsigned long long)got->addresses[i],
		     fixture__function_at(fx, got->addresses[i]),
		     (unsigned long long)(got->addresses[i] - fx->addrs[0].addr));
}

static void test_steps(bool java)
{
	struct symbolizer *sym = fixture__symbolizer("/nowhere", NULL);
	unsigned taken = 0, elsewhere = 0, cnt[3] = {}, seen[PIECES] = {};
	static struct capture capture;
	struct fixture fx;
	struct unwound got;

	fixture__run(&fx, java ? "java" : "other");
	if (ptrace(PTRACE_SEIZE, fx.pid, NULL, (void *)PTRACE_O_EXITKILL) ||
	    !capture__take(fx.pid, STACK, &capture))
		return skip(1, "ptrace: %s", strerror(errno));
	for (; taken < STEPS && capture__step(fx.pid) && capture__again(fx.pid, STACK, &capture);
	     taken++) {
		enum verdict verdict;
		int at;

		if (symbolizer__unwind(sym, &capture.copy, &got, 1))
			abort();
		at = fixture__function_at(&fx, got.addresses[0]);
		if (at >= 0)
			seen[at]++;
		verdict = judge(&fx, &got);
		elsewhere += verdict == SHORT && at != ENTRY && at != OUT;
		if (!cnt[verdict]++ && verdict == WRONG && java)
			show(&fx, &got);
	}
	diag("%u steps: %u wrong, %u short, of these %u not at the entry", taken, cnt[WRONG],
	     cnt[SHORT], elsewhere);
	if (java) {
		ok(taken == STEPS && seen[STUB] && seen[INTERP] && seen[COMPILED] && seen[KEEPS],
		   "all of the code was reached");
		ok(!cnt[WRONG], "no wrong frame in %u steps", taken);
		ok(!elsewhere && cnt[SHORT] * 5 <= taken,
		   "a caller is missing only where the interpreter's frame is built or gone");
	} else {
		ok(cnt[WRONG] + cnt[SHORT], "by frame pointers the same stacks are not whole");
	}
	symbolizer__free(sym);
	fixture__stop(&fx);
}

int main(void)
{
#ifndef __x86_64__
	skip(1, "x86-64's code");
	return tap__done();
#endif
	scratch__init();
	scratch__write_text("code.s", JAVA_CODE);
	scratch__write_text("main.c", source);
	if (fixture__sh(
		    "cd $D && : >e.c && cc -shared -fPIC -o libjvm.so e.c && cp libjvm.so "
		    "libany.so && "
		    "cc -O1 -o java main.c code.s -Wl,--no-as-needed -L. -ljvm -Wl,-rpath,$D && "
		    "cc -O1 -o other main.c code.s")) {
		test_steps(true);
		test_steps(false);
	}
	return tap__done();
}
