/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A walk at each instruction of a function, including its prologue and epilogue: tables say least
 * there, and samples hit them like any other. The caller is found by its frame pointer, which the
 * callee saves and restores.
 */
#include "symbol/unwind/unwind.h"
#include "tests/unit/capture.h"
#include "tests/unit/symbol_fixture.h"

#define STACK 16384
#define STEPS 3000

static const char source[] =
	"#include <alloca.h>\n#include <stdio.h>\n#include <string.h>\n"
	"#define FN __attribute__((noinline, noclone)) \n"
	"volatile long sink;\n"
	"FN size_t words(const char *s) { sink += *strrchr(s, 'e') + *strchr(s, "
	"'w') + !memchr(s, 0, 9);\n"
	"  return strlen(s); }\n"
	"FN void first(void) { sink++; }\n"
	"FN long leaf(long n) { return n * 3 + sink; }\n"
	"FN long many(long a, long b, long c, long d) { long e = leaf(a), f = "
	"leaf(b), g = leaf(c), h = leaf(d);\n"
	"  sink += leaf(e + f); return a * e + b * f + c * g + d * h; }\n"
	"FN long room(long n) { char *p = alloca((n & 63) + 16); p[3] = n; "
	"p[n & 15] = many(n, n + 1, n + 2, n + 3);\n"
	"  sink += p[3]; return p[n & 15] + n; }\n"
	"FN void last(void) { sink--; }\n"
	"#define SHOW(f) printf(#f \" %lx\\n\", (unsigned long)&f)\n"
	"int main(void) { SHOW(first); SHOW(leaf); SHOW(many); SHOW(room); "
	"SHOW(last); puts(\"ready\"); fflush(stdout);\n"
	"  for (long n = 0;; n++) sink += room(n) + words(\"we\"); }\n";

enum { LEAF = 1, MANY = 2, ROOM = 3 };

/* room calls many, many calls leaf; main calls room. */
static bool is_whole(const struct fixture *fx, const struct unwound *got)
{
	int at = fixture__function_at(fx, got->addresses[0]);

	if (got->end != STACK_END_COMPLETE)
		return false;
	for (uint32_t i = 1; at >= LEAF && at <= ROOM; i++) {
		int next = i < got->cnt ? fixture__function_at(fx, got->addresses[i] - 1) : -2;

		if (next != (at == ROOM ? -1 : at + 1))
			return false;
		at = next;
	}
	return true;
}

static void test_steps(const char *flags)
{
	char path[PATH_MAX], command[512];
	char *argv[] = { path, NULL };
	struct symbolizer *sym = fixture__symbolizer("/nowhere", NULL);
	unsigned taken = 0, bad = 0, seen[5] = {};
	static struct capture capture;
	struct fixture fx;
	struct unwound got;

	snprintf(command, sizeof(command),
		 "cc -O2 -fomit-frame-pointer -fno-toplevel-reorder -w -z now %s -o $D/s $D/s.c",
		 flags);
	if (!fixture__sh(command))
		return;
	snprintf(path, sizeof(path), "%s", scratch__path("s"));
	fixture__start(&fx, argv);
	if (ptrace(PTRACE_SEIZE, fx.pid, NULL, (void *)PTRACE_O_EXITKILL) ||
	    !capture__take(fx.pid, STACK, &capture))
		return skip(1, "ptrace: %s", strerror(errno));
	for (; taken < STEPS && capture__step(fx.pid) && capture__again(fx.pid, STACK, &capture);
	     taken++) {
		int at;

		if (symbolizer__unwind(sym, &capture.copy, &got, 1))
			abort();
		at = fixture__function_at(&fx, got.addresses[0]);
		seen[at < 0 ? 0 : at]++;
		if (!is_whole(&fx, &got) && !bad++)
			fixture__show_walk(&fx, &got);
	}
	ok(taken == STEPS && !bad && seen[LEAF] && seen[MANY] && seen[ROOM],
	   "%s: the whole chain at each of %u instructions, except for %u", flags, taken, bad);
	symbolizer__free(sym);
	fixture__stop(&fx);
}

int main(void)
{
	scratch__init();
	scratch__write_text("s.c", source);
	test_steps("-fcf-protection=none");
	test_steps("-fcf-protection");
	test_steps("-Os");
	test_steps("-static -s"); /* its stubs for string functions have no table */
	return tap__done();
}
