/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walks through damaged code in the forms that HotSpot generates, in a process with a libjvm.so: a
 * walk ends, and has only addresses of code. The process chooses code and stack.
 */
#include <sys/mman.h>
#include <sys/prctl.h>

#include "symbol/unwind/unwind.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/capture.h"
#include "tests/unit/java_code.h"
#include "tests/unit/symbol_fixture.h"

#define CODE_SZ	 (64 << 10)
#define STACK_SZ 8192
#define WALKS	 8

#ifdef __x86_64__
__asm__(JAVA_CODE "\n.text\n");
extern const uint8_t stub[], last[];
#else
static const uint8_t stub[1], *last = stub;
#endif

static struct {
	struct fuzz fuzz;
	uint64_t walks, deep, addr;
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

/* Pieces of the real forms, damaged here and there, and instructions that change the stack. */
static void make_code(void)
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

	make_code();
	return process_vm_writev(run.pid, &local, 1, &remote, 1, 0) == CODE_SZ;
}

/* Where a call returns to, if there is one behind a random place. */
static uint64_t any_return(void)
{
	size_t from = fuzz__below(&run.fuzz, CODE_SZ);
	const uint8_t *call = memchr(run.code + from, 0xe8, CODE_SZ - from);

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
	uint64_t sp = rec->regs[7], word;
	struct unwound got;

	for (size_t at = 0; at < STACK_SZ; at += sizeof(word)) {
		word = any_word(sp);
		memcpy(run.capture.bytes + at, &word, sizeof(word));
	}
	rec->regs[6] = any_word(sp);
	rec->regs[16] = run.addr + fuzz__below(&run.fuzz, CODE_SZ);
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

int main(void)
{
	scratch__init();
	if (&last[0] == &stub[0])
		skip_all("x86-64's code");
	if (!start())
		skip_all("no ptrace here");
	run.fuzz = fuzz__begin(20);
	while (fuzz__goes_on(&run.fuzz) && !run.broken) {
		struct symbolizer *sym;

		if (!put_code())
			abort();
		cost__begin(&run.fuzz.cost);
		sym = fixture__symbolizer("/nowhere", NULL);
		for (int i = 0; i < WALKS && !run.broken; i++)
			walk(sym);
		cost__end(&run.fuzz.cost, CODE_SZ + WALKS * STACK_SZ);
		symbolizer__free(sym);
	}
	ok(!run.broken, "every promise is kept in %llu rounds: %s",
	   (unsigned long long)run.fuzz.round, run.broken ?: "yes");
	ok(run.deep && run.deep < run.walks, "%llu of %llu walks go on",
	   (unsigned long long)run.deep, (unsigned long long)run.walks);
	cost__ok(&run.fuzz.cost);
	kill(run.pid, SIGKILL);
	fuzz__report(&run.fuzz);
	return tap__done();
}
