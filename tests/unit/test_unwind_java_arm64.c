/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walks through a compiled method of arm64 over a small HotSpot in this process's memory: from each
 * of its instructions to the same method that called it, and to the interpreter.
 */
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>

#include "symbol/languages/runtime.h"
#include "symbol/names/process.h"
#include "symbol/names/symbolize_parts.h"
#include "symbol/unwind/unwind.h"
#include "tests/tap.h"
#include "tests/unit/hotspot_image.h"
#include "tests/unit/symbol_fixture.h"

#define SP	  0x7ffff0000000ull
#define FRAME	  64
#define OUTER	  (SP + FRAME)	   /* stack pointer of the caller */
#define FP	  (SP + 4 * FRAME) /* of the interpreter */
#define ENTRY	  (IMAGE_STUBS + 0x100)
#define FIRST	  16 /* instructions in the method before the code */
#define BEHIND_BL 3

/* How far the stack pointer is below the caller's, and whether the link register has the caller. */
static const struct {
	uint32_t insn, room;
	bool link;
} code[] = {
	{ 0xd10103ff, 0, true },      /* sub sp, sp, #64 */
	{ 0xa9037bfd, FRAME, true },  /* stp x29, x30, [sp, #48] */
	{ 0x94001000, FRAME, false }, /* bl … */
	{ 0xaa0003e1, FRAME, false }, /* mov x1, x0 */
	{ 0xa9437bfd, FRAME, false }, /* ldp x29, x30, [sp, #48] */
	{ 0x910103ff, FRAME, false }, /* add sp, sp, #64 */
	{ 0xd65f03c0, 0, true },      /* ret */
};

static const uint32_t entry[] = { 0x94001000, 0xf85f03b4, 0xf81f03bf };

static struct {
	struct hotspot_image image;
	struct symbolizer *sym;
	struct copy_event copy;
	uint8_t stack[8 * FRAME];
	struct unwound got;
} run;

static uint64_t address(size_t insn)
{
	return vm__addr(&run.image, IMAGE_CODE) + 4 * (FIRST + insn);
}

static void put(uint64_t at, uint64_t value)
{
	memcpy(run.stack + (at - SP), &value, sizeof(value));
}

static void make_code(void)
{
	uint32_t *to = (uint32_t *)(run.image.mem + IMAGE_CODE) + FIRST;

	vm__set(&run.image, IMAGE_BLOCK + 16 + 84, FRAME / 8, 4);
	for (size_t i = 0; i < sizeof(code) / sizeof(*code); i++)
		to[i] = code[i].insn;
	memcpy(run.image.mem + ENTRY - 4, entry, sizeof(entry));
}

/* Its file's addresses count from where the library is. */
static void move_layout(struct hs_layout *layout, uint64_t bias)
{
	for (unsigned i = HS_MEMBER_FIRST; i < HS_FIELD_CNT; i++)
		if (layout->at[i] != HS_NONE)
			layout->at[i] -= (int64_t)bias;
	layout->at[HS_HEAPS] -= (int64_t)bias;
	layout->at[HS_INTERPRETER] -= (int64_t)bias;
}

/* Gives the process's libjvm.so, which is empty, the layout of the image. */
static bool be_hotspot(void)
{
	struct language_file *file = calloc(1, sizeof(*file));
	struct hs_layout *layout = malloc(sizeof(*layout));
	struct process *process = symbolizer__known(run.sym, (uint32_t)getpid());
	uint64_t bias;

	*layout = run.image.layout;
	*file = (struct language_file){ &language_hotspot, layout };
	for (size_t i = 0; process && i < process->maps.cnt; i++) {
		const struct region *region = &process->maps.regions[i];

		if (!java__is_machine(region->mapped->path) || !region->mapped->module ||
		    language__bias(&run.sym->env, process, region, &bias))
			continue;
		move_layout(layout, bias);
		region->mapped->module->language = file;
		region->mapped->module->language_known = true;
		return true;
	}
	language_file__free(file);
	return false;
}

static bool start(void)
{
	const struct symbolizer_opts opts = { .kallsyms = "", .machine = EM_AARCH64 };

	vm__begin(&run.image, IMAGE_ARM64);
	free(run.image.mem);
	run.image.mem = mmap(NULL, IMAGE_SZ, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	vm__fill(&run.image);
	make_code();
	return !symbolizer__new(&opts, &run.sym, NULL) &&
	       !symbolizer__process(run.sym, (uint32_t)getpid(), NULL) && be_hotspot();
}

static const char *name_of(uint32_t i)
{
	struct process *process = symbolizer__known(run.sym, (uint32_t)getpid());
	struct frame frame;

	if (i >= run.got.script_cnt ||
	    !language__name(&run.sym->env, process, &run.sym->pool, &run.got.script[i], &frame))
		return NULL;
	return frame.function;
}

static void walk_from(size_t insn)
{
	uint64_t sp = OUTER - code[insn].room;
	__u64 *regs = run.copy.rec.regs;
	uint64_t caller = address(BEHIND_BL), outer = vm__addr(&run.image, ENTRY);

	memset(run.stack, 0, sizeof(run.stack));
	if (!code[insn].link) {
		put(OUTER - 16, FP);
		put(OUTER - 8, caller);
	}
	put(OUTER + FRAME - 16, FP);
	put(OUTER + FRAME - 8, outer);
	put(FP - 24, vm__addr(&run.image, vm__method(IMAGE_CHECKOUT)));
	put(FP - 72, vm__bytecode(&run.image, IMAGE_CHECKOUT) + 3);
	run.copy.rec.hdr.tgid = (uint32_t)getpid();
	run.copy.rec.copy_sz = (uint32_t)(sizeof(run.stack) - (sp - SP));
	run.copy.bytes = run.stack + (sp - SP);
	regs[29] = FP;
	regs[30] = code[insn].link ? caller : 0x1234;
	regs[31] = sp;
	regs[32] = address(insn);
	if (symbolizer__unwind(run.sym, &run.copy, &run.got, 1))
		abort();
	ok(run.got.cnt == 3 && run.got.addresses[1] == caller && run.got.addresses[2] == outer,
	   "instruction %zu: its caller, and the interpreter (%u)", insn, run.got.cnt);
	is_str(name_of(0), "shop.Names.handle", "… its method");
	is_str(name_of(2), "shop.Names.checkout", "… and the interpreter's");
}

int main(void)
{
	scratch__init();
	if (!fixture__sh("cd $D && : >e.c && cc -shared -fPIC -o libjvm.so e.c"))
		return tap__done();
	if (!dlopen(scratch__path("libjvm.so"), RTLD_NOW))
		skip_all("no library");
	if (ok(start(), "a process with a libjvm.so"))
		for (size_t i = 0; i < sizeof(code) / sizeof(*code); i++)
			walk_from(i);
	symbolizer__free(run.sym);
	return tap__done();
}
