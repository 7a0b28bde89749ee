/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walks of invalid copies, and expressions of random bytes: a walk ends, and has only addresses of
 * code. fuzz_cfi tests damaged tables.
 */
#include "symbol/unwind/cfi.h"
#include "symbol/unwind/unwind.h"
#include "symbol/unwind/walk.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/capture.h"
#include "tests/unit/symbol_fixture.h"

#define DAMAGE_MAX 6

static struct {
	struct fuzz fuzz;
	uint64_t walks, deep, exprs, runs;
	const char *broken; /* the broken promise */
	struct capture capture, damaged;
} run;

static void damage_copy(struct symbolizer *sym)
{
	struct fuzz *f = &run.fuzz;
	struct capture *to = &run.damaged;
	struct jank_rec_copy *rec = &to->copy.rec;
	struct unwound got;

	*to = run.capture;
	to->copy.bytes = to->bytes;
	for (size_t i = fuzz__below(f, DAMAGE_MAX) + 1; i; i--)
		fuzz__damage(f, fuzz__chance(f, 3) ? (void *)rec->regs : to->bytes,
			     fuzz__chance(f, 2) ? sizeof(rec->regs) : 200);
	if (fuzz__chance(f, 4))
		fuzz__damage(f, rec->red_zone, sizeof(rec->red_zone));
	if (fuzz__chance(f, 4))
		rec->copy_sz = fuzz__below(f, rec->copy_sz + 1);
	if (fuzz__chance(f, 8))
		rec->hdr.flags ^= 1 + fuzz__below(f, 3);
	cost__begin(&f->cost);
	if (symbolizer__unwind(sym, &to->copy, &got, 1))
		run.broken = "a walk that fails";
	cost__end(&f->cost, rec->copy_sz);
	run.walks++;
	run.deep += got.cnt > 3;
	if (!got.cnt || got.cnt > UNWIND_MAX || got.used_sz > rec->copy_sz ||
	    got.end > STACK_END_DEEP)
		run.broken = "a walk out of bounds";
}

static bool any_reg(void *ctx, uint64_t reg, uint64_t *ret)
{
	*ret = fuzz__number(&run.fuzz);
	return reg < 20;
}

static bool any_memory(void *ctx, uint64_t addr, unsigned size, uint64_t *ret)
{
	if (size > 8)
		run.broken = "a word of more than 8 bytes";
	*ret = addr;
	return addr % 3;
}

static void any_expression(void)
{
	struct cfi_world world = { any_reg, any_memory, NULL, fuzz__chance(&run.fuzz, 4) ? 4 : 8 };
	uint8_t bytes[32];
	size_t len = fuzz__below(&run.fuzz, sizeof(bytes));
	uint64_t value = 0;

	for (size_t i = 0; i < len; i++)
		bytes[i] = fuzz__chance(&run.fuzz, 2) ? 0x08 + fuzz__below(&run.fuzz, 0x90)
						      : fuzz__any(&run.fuzz);
	run.exprs++;
	run.runs += cfi_expr__run(bytes, len, fuzz__chance(&run.fuzz, 2) ? &value : NULL, &world,
				  &value);
}

int main(void)
{
	char *argv[] = { "/bin/sh", "-c", "echo ready; read x; exit", NULL };
	struct symbolizer *sym;
	struct fixture fx;

	scratch__init();
	fixture__start(&fx, argv);
	if (ptrace(PTRACE_SEIZE, fx.pid, NULL, (void *)PTRACE_O_EXITKILL) ||
	    !capture__take(fx.pid, 8192, &run.capture))
		skip_all("no ptrace here");
	sym = fixture__symbolizer("/nowhere", NULL);
	run.fuzz = fuzz__begin(100);
	while (fuzz__goes_on(&run.fuzz) && !run.broken) {
		damage_copy(sym);
		any_expression();
	}
	ok(!run.broken, "every promise is kept in %llu rounds: %s",
	   (unsigned long long)run.fuzz.round, run.broken ?: "yes");
	ok(run.deep && run.deep < run.walks && run.runs && run.runs < run.exprs,
	   "all results occurred: %llu of %llu walks go on, %llu of %llu expressions",
	   (unsigned long long)run.deep, (unsigned long long)run.walks,
	   (unsigned long long)run.runs, (unsigned long long)run.exprs);
	symbolizer__free(sym);
	fixture__stop(&fx);
	fuzz__report(&run.fuzz);
	cost__ok(&run.fuzz.cost);
	return tap__done();
}
