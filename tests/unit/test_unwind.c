/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walks through programs with a known chain of calls, built with the usual options. A walk may end
 * early where there is no table, and must report that. It must never show another chain.
 */
#include "symbol/unwind/unwind.h"

#include "base/code/insn.h"
#include "symbol/unwind/walk.h"
#include "tests/unit/capture.h"
#include "tests/unit/symbol_fixture.h"

#define STACK 16384

/*
 * The functions are in this order, so that an address identifies its function. Each calls the one
 * above, and does something after the call.
 */
static const char source[] =
	"#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
	"#include <sys/mman.h>\n#include <sys/time.h>\n#include <time.h>\n#include "
	"<unistd.h>\n#include <poll.h>\n"
	"#define FN __attribute__((noinline, noclone)) \n"
	"volatile long sink; long numbers[512]; char text[512]; char mode;\n"
	"void below(void);\n"
	"#ifdef __x86_64__\n"
	/* the canonical frame address is *(rsp - 8) + 8, as in OpenSSL's hashes for AVX2 */
	"asm(\".text; below: .cfi_startproc; mov %rsp, %rax; sub $0x238, %rsp; and $-64, %rsp;\"\n"
	"  \"mov %rax, -8(%rsp); .cfi_escape 0xf, 5, 0x77, 0x78, 6, 0x23, 8;\"\n"
	"  \"mov $99999, %ecx; 1: dec %ecx; jnz 1b; mov -8(%rsp), %rsp;\"\n"
	"  \".cfi_def_cfa %rsp, 8; ret; .cfi_endproc\");\n"
	"#endif\n"
	"FN void first(void) { sink++; }\n"
	"FN int cmp(const void *a, const void *b) { sink++; return *(long *)a < *(long *)b ? -1 : "
	"1; }\n"
	"void (*made)(void);\n"
	"void make(void) {\n"
	"#ifdef __x86_64__\n"
	/*
	 * push rbx, rbp; sub rsp, 0x98; xor ebp, ebp; mov ecx, 99999; 1: dec ecx; jnz 1b; add rsp,
	 * 0x98; pop rbp, rbx; ret
	 */
	"  static const char code[] = "
	"\"\\x53\\x55\\x48\\x81\\xec\\x98\\0\\0\\0\\x31\\xed\\xb9\\x9f\\x86\\1\\0\"\n"
	"    \"\\xff\\xc9\\x75\\xfc\\x48\\x81\\xc4\\x98\\0\\0\\0\\x5d\\x5b\\xc3\";\n"
	"  made = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\n"
	"  memcpy(made, code, sizeof(code));\n"
	"#endif\n}\n"
	"void (*volatile none)(void);\n"
	"FN void on_signal(int n) { while (mode == 'n') sink++; for (int i = 0; i < 999; i++) sink += i; }\n"
	"FN long c(long n) { struct timespec ts; long sum = n;\n"
	"  switch (mode) {\n"
	"  case 'p': for (int i = 0; i < 99; i++) { sum += strlen(text); sum += memchr(text, 0, "
	"512) != 0; } break;\n"
	"  case 'v': for (int i = 0; i < 99; i++) { clock_gettime(CLOCK_MONOTONIC, &ts); sum += "
	"ts.tv_nsec; } break;\n"
	"  case 'q': for (int i = 0; i < 512; i++) numbers[i] = i * 7919 % 509; qsort(numbers, "
	"512, sizeof(long), cmp); break;\n"
	"  case 's': poll(0, 0, 50); break;\n"
	"  case 'm': made(); break;\n"
	"  case 'n': none(); break;\n"
	"#ifdef __x86_64__\n"
	"  case 'r': below(); break;\n"
	"#endif\n"
	"  default: for (int i = 0; i < 999; i++) sum += sink * i; }\n"
	"  sink = sum; return sum + 1; }\n"
	"FN long b(long n) { char buf[128]; memset(buf, n, sizeof(buf)); long ret = c(n + 1); sink "
	"+= buf[ret & 127]; return ret; }\n"
	"FN long a(long n) { long ret = b(n) + 3; sink += ret; return ret; }\n"
	"FN void last(void) { sink--; }\n"
	"#define SHOW(f) printf(#f \" %lx\\n\", (unsigned long)&f)\n"
	"int main(int argc, char **argv) { mode = argv[1][0]; memset(text, 'x', 500);\n"
	"  SHOW(first); SHOW(cmp); SHOW(on_signal); SHOW(c); SHOW(b); SHOW(a); SHOW(last); "
	"puts(\"ready\"); fflush(stdout);\n"
	"  if (mode == 'h') { struct itimerval it = { { 0, 300 }, { 0, 300 } }; signal(SIGVTALRM, "
	"on_signal); setitimer(ITIMER_VIRTUAL, &it, 0); }\n"
	"  if (mode == 'm') make();\n"
	"  if (mode == 'n') signal(SIGSEGV, on_signal);\n"
	"  for (;;) sink += a(sink); }\n";

struct build {
	const char *name, *compiler, *flags;
	/* each walk must be complete, with the whole chain unless it was on its way */
	bool complete;
	const char *after; /* a command on $D/p */
};

/* Without tables main cannot be left: it never returns, and is called by a pointer. */
static const struct build builds[] = {
	{ "-O2 without frame pointers, stripped", "cc", "-fomit-frame-pointer", true,
	  "strip $D/p" },
	{ "-O0", "cc", "-O0", true, NULL },
	{ "static", "cc", "-static", true, "strip $D/p" },
	{ "not PIE, lazy PLT", "cc", "-no-pie -Wl,-z,lazy", true, NULL },
	{ "-fcf-protection, separate PLT", "cc", "-fcf-protection -Wl,-z,ibtplt", true, NULL },
	{ ".debug_frame only", "cc", "-g -fno-asynchronous-unwind-tables -fno-unwind-tables -gz",
	  true, NULL },
	{ ".debug_frame in .gnu_debugdata", "cc",
	  "-g -fno-asynchronous-unwind-tables -fno-unwind-tables", true,
	  "objcopy --only-keep-debug $D/p $D/m && xz -f $D/m && strip $D/p && "
	  "objcopy --add-section .gnu_debugdata=$D/m.xz $D/p" },
	{ "no table, no frame pointer", "cc",
	  "-fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer", false, NULL },
	{ "no table, frame pointers", "cc",
	  "-fno-asynchronous-unwind-tables -fno-unwind-tables -fno-omit-frame-pointer", false,
	  NULL },
	{ "static musl", "musl-gcc", "-static", true, NULL },
	{ "static musl, stripped", "musl-gcc", "-static", true, "strip $D/p" },
#ifdef __x86_64__
	/* its vdso has no table, and the table of its memcpy lacks a push */
	{ "i386, static", "i686-linux-gnu-gcc", "-static", false, NULL },
	{ "i386 without frame pointers", "i686-linux-gnu-gcc", "-static -fomit-frame-pointer",
	  false, "strip $D/p" },
#endif
};

static const struct {
	char key;
	const char *name;
} modes[] = {
	{ 'b', "busy" },
	{ 'p', "in libc by PLT" },
	{ 'v', "in vdso" },
	{ 'q', "qsort" },
	{ 'h', "signal handler" },
	{ 's', "asleep" },
	{ 'n', "handler of a null call" },
#ifdef __x86_64__
	{ 'm',
	  /* the caller needs no frame pointer, which this code loses */
	  "in code made at run time" },
	{ 'r', "frame address below the stack pointer" },
#endif
};

struct score {
	unsigned samples, complete, wrong, chains;
	unsigned ends[STACK_END_DEEP + 1];
};

enum { CMP = 1, ON_SIGNAL = 2, C = 3, B = 4, A = 5 };

/* After c comes b, after b comes a; only c's callees come before c. */
static bool is_chain(const struct fixture *fx, const struct unwound *got, bool *ret_whole)
{
	int before = -1, at;

	*ret_whole = false;
	for (uint32_t i = 0; i < got->cnt; i++, before = at) {
		at = fixture__function_at(fx, got->addresses[i] - (i > 0));
		if ((before == C && at != B) || (before == B && at != A) ||
		    (at == B && i && before != C && before != -1) ||
		    (at == A && i && before != B && before != -1) || (before == A && at >= 0))
			return false;
		*ret_whole |= before == B && at == A;
	}
	return true;
}

static uint64_t cpu_ns(pid_t pid)
{
	struct timespec ts = {};
	clockid_t id;

	if (!clock_getcpuclockid(pid, &id))
		clock_gettime(id, &ts);
	return ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

#define NAPS 100

/* On a busy machine the program does not run between two samples: wait until it has run. */
static void let_run(pid_t pid)
{
	uint64_t before = cpu_ns(pid);

	for (int i = 0; i < NAPS; i++) {
		usleep(200 + rand() % 1500);
		if (cpu_ns(pid) > before)
			return;
	}
}

static void take(struct symbolizer *sym, const struct fixture *fx, struct score *score)
{
	static struct capture capture;
	struct unwound got;
	bool whole;

	let_run(fx->pid);
	if (!capture__take(fx->pid, STACK, &capture))
		return;
	if (symbolizer__unwind(sym, &capture.copy, &got, 1))
		abort();
	score->samples++;
	score->ends[got.end]++;
	score->complete += got.end == STACK_END_COMPLETE;
	if (!is_chain(fx, &got, &whole) && !score->wrong++)
		fixture__show_walk(fx, &got);
	else if (got.end != STACK_END_COMPLETE && getenv("JANK_UNWIND_SHOW"))
		fixture__show_walk(fx, &got);
	score->chains += whole;
	capture__go_on(fx->pid);
}

#define MORE 25 /* times the samples wanted */

static void test_mode(const struct build *build, size_t mode)
{
	unsigned want = getenv("JANK_UNWIND_SAMPLES") ? atoi(getenv("JANK_UNWIND_SAMPLES")) : 40;
	char path[PATH_MAX], key[] = { modes[mode].key, 0 };
	char *argv[] = { path, key, NULL };
	struct symbolizer *sym = fixture__symbolizer("/nowhere", NULL);
	struct score score = {};
	struct fixture fx;

	snprintf(path, sizeof(path), "%s", scratch__path("p"));
	fixture__start(&fx, argv);
	if (ptrace(PTRACE_SEIZE, fx.pid, NULL, (void *)PTRACE_O_EXITKILL))
		return skip(1, "ptrace: %s", strerror(errno));
	/* A program that is on its way in most samples needs more of them. */
	for (unsigned i = 0; i < want || (i < MORE * want && score.chains * 4 <= want * 3); i++)
		take(sym, &fx, &score);
	ok(score.samples >= want && !score.wrong &&
		   (!build->complete ||
		    (score.complete == score.samples && score.chains * 4 > want * 3)),
	   "%s, %s: %u samples, %u complete, %u with the whole chain, none with another (%u)",
	   build->name, modes[mode].name, score.samples, score.complete, score.chains, score.wrong);
	symbolizer__free(sym);
	fixture__stop(&fx);
}

static void test_build(const struct build *build)
{
	char command[512];

	snprintf(command, sizeof(command), "command -v %s >/dev/null", build->compiler);
	if (system(command))
		return skip(1, "no %s", build->compiler);
	snprintf(command, sizeof(command), "%s -O2 -fno-toplevel-reorder -w %s -o $D/p $D/p.c",
		 build->compiler, build->flags);
	if (!fixture__sh(command) || (build->after && !fixture__sh(build->after)))
		return;
	if (!fixture__runs("p"))
		return skip(1, "this kernel runs no programs of %s", build->compiler);
	for (size_t mode = 0; mode < sizeof(modes) / sizeof(*modes); mode++)
		if ((modes[mode].key != 'm' && modes[mode].key != 'r') || build == builds)
			test_mode(build, mode);
}

/*
 * The registers of an architecture that need not be this machine's, each with a value of its own.
 */
static void test_begin(const char *name, uint16_t machine, unsigned sp, unsigned pc)
{
	static struct copy_event copy;
	static struct unwound got;
	struct walk w = { .copy = &copy, .ret = &got };

	for (unsigned i = 0; i < JANK_REG_MAX; i++)
		copy.rec.regs[i] = 0x10000 + i * 16;
	if (machine == EM_ARM) /* the kernel has it in both */
		copy.rec.regs[13] = copy.rec.regs[31];
	walk__begin(&w, unwind_arch__of(machine), UINT64_MAX);
	is_uint(got.addresses[0], copy.rec.regs[pc],
		"%s: a walk begins at the thread's instruction", name);
	is_uint(w.bottom, copy.rec.regs[sp], "%s: and at its stack pointer", name);
}

/* A signed address of a machine with 39 bits, as an Android device has it. */
static void test_mask(void)
{
	static struct copy_event copy = { .rec.regs[32] = 0x20005c390884a8 };
	static struct unwound got;
	struct walk w = { .copy = &copy, .ret = &got };

	walk__begin(&w, unwind_arch__of(EM_AARCH64), (1ull << 39) - 1);
	is_uint(got.addresses[0], 0x5c390884a8, "the signature of the first address is removed");
	is_uint((uintptr_t)test_mask & ~code_address__mask(), 0,
		"this machine's addresses stay as they are");
}

int main(void)
{
	test_mask();
	test_begin("x86-64", EM_X86_64, 7, 16);
	test_begin("i386", EM_386, 7, 16);
	test_begin("arm64", EM_AARCH64, 31, 32);
	test_begin("arm", EM_ARM, 31, 32);
	scratch__init();
	scratch__write_text("p.c", source);
	for (size_t i = 0; i < sizeof(builds) / sizeof(*builds); i++)
		if (!getenv("JANK_UNWIND_ONLY") ||
		    strstr(builds[i].name, getenv("JANK_UNWIND_ONLY")))
			test_build(&builds[i]);
	return tap__done();
}
