/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walks through damaged code in the forms that HotSpot generates, on x86-64 and arm64, in a
 * process with a libjvm.so: a walk ends, and has only addresses of code. The process chooses code
 * and stack.
 */
#include <sys/mman.h>
#include <sys/prctl.h>

#include "symbol/unwind/java_code.h"
#include "symbol/unwind/unwind.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/capture.h"
#include "tests/unit/java_code.h"
#include "tests/unit/symbol_fixture.h"

#define CODE_SZ	 (64 << 10)
#define STACK_SZ 8192
#define WALKS	 8
#define LOOKS	 64

#ifdef __x86_64__
__asm__(JAVA_CODE "\n.text\n");
extern const uint8_t stub[], last[];
#else
static const uint8_t stub[1], *last = stub;
#endif

static struct {
	struct fuzz fuzz;
	uint64_t walks, deep, addr, sp;
	bool arm64;
	uint64_t frames[JAVA_FRAME_PAIR + 1];
	const char *broken;
	pid_t pid;
	uint8_t code[CODE_SZ];
	struct capture capture;
} run;

/* Maps the file and room for code, reports its address, and waits. */
static void be_java(const char *library, int to)
{
	int fd = open(library, O_RDONLY | O_CLOEXEC);
	void *lib = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	void *code = mmap(NULL, CODE_SZ, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t addr = lib == MAP_FAILED || code == MAP_FAILED ? 0 : (uintptr_t)code;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(to, &addr, sizeof(addr)) == sizeof(addr))
		pause();
	_exit(0);
}

static bool start(void)
{
	const char *library = scratch__write_text("libjvm.so", "no ELF");
	int ends[2];

	if (pipe(ends))
		return false;
	run.pid = fork();
	if (!run.pid)
		be_java(library, ends[1]);
	return run.pid > 0 && read(ends[0], &run.addr, sizeof(run.addr)) == sizeof(run.addr) &&
	       run.addr && !ptrace(PTRACE_SEIZE, run.pid, NULL, (void *)PTRACE_O_EXITKILL) &&
	       capture__take(run.pid, STACK_SZ, &run.capture);
}

/* Instructions around arm64's frames; a frame of 64 bytes. */
static const uint32_t arm64[] = {
	0xd10103ff, 0xa9037bfd, 0xa9437bfd, 0x910103ff, 0xa9bf7bfd, 0xa8c17bfd, 0xcb2863ff,
	0x8b2863ff, 0x910003bf, 0xd65f03c0, 0x94000010, 0xd63f0100, 0xf85f03b4, 0xf81f03bf,
	0xf85f03a8, 0xb940011f, 0x54000040, 0x14000010, 0xd503201f, 0xf90003e1,
};

static uint32_t any_arm64(void)
{
	return fuzz__chance(&run.fuzz, 8) ? (uint32_t)fuzz__any(&run.fuzz)
					  : arm64[fuzz__below(&run.fuzz, sizeof(arm64) / 4)];
}

static void make_arm64(void)
{
	for (size_t at = 0; at < CODE_SZ; at += 4) {
		uint32_t insn = any_arm64();

		memcpy(run.code + at, &insn, sizeof(insn));
	}
}

/* A buffer of exactly the stated size, so that the sanitizer catches a byte too much. */
static void look_at_frame(void)
{
	uint32_t *code = malloc(JAVA_ARM64_BYTES);
	enum java_frame frame;

	for (size_t i = 0; i < JAVA_ARM64_BYTES / 4; i++)
		code[i] = any_arm64();
	frame = java_arm64__frame((const uint8_t *)code, 64);
	if (frame > JAVA_FRAME_PAIR)
		run.broken = "a frame in a state that is none";
	run.frames[frame]++;
	free(code);
}

/* Pieces of the real forms, damaged here and there, and instructions that change the stack. */
static void make_x86(void)
{
	static const uint8_t changes[] = { 0x50, 0x55, 0x58, 0x5d, 0xc3, 0xc9, 0x90, 0xe8,
					   0xe9, 0xeb, 0x74, 0x0f, 0xff, 0x48, 0x41, 0x83 };
	struct fuzz *f = &run.fuzz;
	size_t form_sz = last - stub, at = 0;

	while (at < CODE_SZ) {
		size_t from = fuzz__below(f, form_sz), len = fuzz__below(f, form_sz - from) + 1;

		if (fuzz__chance(f, 8)) {
			run.code[at++] = changes[fuzz__below(f, sizeof(changes))];
			continue;
		}
		len = len < CODE_SZ - at ? len : CODE_SZ - at;
		memcpy(run.code + at, stub + from, len);
		at += len;
	}
	for (size_t i = fuzz__below(f, CODE_SZ / 64); i; i--)
		fuzz__damage(f, run.code, CODE_SZ);
}

static bool put_code(void)
{
	struct iovec local = { run.code, CODE_SZ };
	struct iovec remote = { (void *)(uintptr_t)run.addr, CODE_SZ };

	if (run.arm64)
		make_arm64();
	else
		make_x86();
	return process_vm_writev(run.pid, &local, 1, &remote, 1, 0) == CODE_SZ;
}

/* Where a call returns to, if there is one behind a random place. */
static uint64_t any_return(void)
{
	size_t from = fuzz__below(&run.fuzz, CODE_SZ);
	const uint8_t *call = memchr(run.code + from, run.arm64 ? 0x94 : 0xe8, CODE_SZ - from);

	if (run.arm64)
		return run.addr + (call ? (size_t)(call - run.code) + 1 : from);
	return run.addr + (call ? (size_t)(call - run.code) + 5 : from);
}

static uint64_t any_word(uint64_t sp)
{
	struct fuzz *f = &run.fuzz;

	switch (fuzz__below(f, 8)) {
	case 0:
		return fuzz__number(f);
	case 1:
		return sp + 8 * fuzz__below(f, STACK_SZ / 8);
	case 2:
		return run.addr + fuzz__below(f, CODE_SZ);
	default:
		return any_return();
	}
}

static void walk(struct symbolizer *sym)
{
	struct jank_rec_copy *rec = &run.capture.copy.rec;
	uint64_t sp = run.sp, word;
	struct unwound got;

	for (size_t at = 0; at < STACK_SZ; at += sizeof(word)) {
		word = any_word(sp);
		memcpy(run.capture.bytes + at, &word, sizeof(word));
	}
	rec->regs[run.arm64 ? 31 : 7] = sp;
	rec->regs[run.arm64 ? 29 : 6] = any_word(sp);
	rec->regs[30] = any_word(sp);
	rec->regs[run.arm64 ? 32 : 16] = run.addr + fuzz__below(&run.fuzz, CODE_SZ);
	if (symbolizer__unwind(sym, &run.capture.copy, &got, 1))
		run.broken = "a walk that fails";
	run.walks++;
	run.deep += got.cnt > 3;
	if (!got.cnt || got.cnt > UNWIND_MAX || got.used_sz > rec->copy_sz)
		run.broken = "a walk out of bounds";
	for (uint32_t i = 0; i < got.cnt && i < UNWIND_MAX; i++)
		if (got.addresses[i] - run.addr > CODE_SZ && !run.broken)
			run.broken = "an address that is not code";
}

static struct symbolizer *symbolizer(void)
{
	const struct symbolizer_opts opts = { .kallsyms = "",
					      .debug_dir = "/nowhere",
					      .machine = run.arm64 ? EM_AARCH64 : 0 };
	struct symbolizer *ret;

	if (symbolizer__new(&opts, &ret, NULL))
		abort();
	return ret;
}

int main(void)
{
	scratch__init();
	if (&last[0] == &stub[0])
		skip_all("x86-64's code");
	if (!start())
		skip_all("no ptrace here");
	run.sp = run.capture.copy.rec.regs[7];
	run.fuzz = fuzz__begin(20);
	while (fuzz__goes_on(&run.fuzz) && !run.broken) {
		struct symbolizer *sym;

		run.arm64 = run.fuzz.round & 1;

		if (!put_code())
			abort();
		cost__begin(&run.fuzz.cost);
		sym = symbolizer();
		for (int i = 0; i < LOOKS; i++)
			look_at_frame();
		for (int i = 0; i < WALKS && !run.broken; i++)
			walk(sym);
		cost__end(&run.fuzz.cost, CODE_SZ + WALKS * STACK_SZ);
		symbolizer__free(sym);
	}
	ok(!run.broken, "every promise is kept in %llu rounds: %s",
	   (unsigned long long)run.fuzz.round, run.broken ?: "yes");
	ok(run.deep && run.deep < run.walks, "%llu of %llu walks go on",
	   (unsigned long long)run.deep, (unsigned long long)run.walks);
	ok(run.frames[JAVA_FRAME_NONE] && run.frames[JAVA_FRAME_EMPTY] &&
		   run.frames[JAVA_FRAME_PAIR] && run.frames[JAVA_FRAME_WHOLE],
	   "arm64's frames were in each state");
	cost__ok(&run.fuzz.cost);
	kill(run.pid, SIGKILL);
	fuzz__report(&run.fuzz);
	return tap__done();
}
