/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Damaged unwind tables, and walks of copies that are none. What is read of tables stays within bounds, memory too; a walk
 * ends, with addresses of code only.
 */
#include <fcntl.h>

#include "symbol/cfi.h"
#include "symbol/cfi_expr.h"
#include "symbol/unwind.h"
#include "symbol/unwind_paths.h"
#include "tests/capture.h"
#include "tests/fuzz/fuzz.h"
#include "tests/symbol_fixture.h"

#define DAMAGE_MAX 6
#define ROWS	   64
#define BYTES_MAX  (4u << 20)

static struct {
	struct fuzz fuzz;
	uint64_t rows, tables, walks, deep, exprs, runs;
	const char *broken;	  /* the promise that was not kept */
	uint8_t *files[3], *file; /* the one of this round */
	size_t sizes[3], size;
	struct capture capture, damaged;
} run;

/* Small programs with each kind of table. */
static void make_files(void)
{
	static const char *const names[] = { "f", "g", "h" };
	FILE *file;

	scratch__write_text(
		"f.c",
		"#include <stdlib.h>\nint f(const void *a, const void *b) { return *(char *)a; }\n"
		"int main(int c, char **v) { for (int i = 0; i < c; i++) qsort(v, c, sizeof(*v), "
		"f); return c; }\n");
	if (!fixture__sh("cc -O2 -g -w -c -o $D/f.o $D/f.c && cc -O2 -g -w -o $D/f $D/f.o && "
			 "cc -O2 -g -w -fno-asynchronous-unwind-tables -fno-unwind-tables -o $D/g "
			 "$D/f.c && "
			 "strip -R .eh_frame_hdr -o $D/h $D/f"))
		exit(1);
	for (unsigned i = 0; i < 3; i++) {
		file = fopen(scratch__path(names[i]), "r");
		run.files[i] = malloc(1 << 20);
		run.sizes[i] = file ? fread(run.files[i], 1, 1 << 20, file) : 0;
		if (file)
			fclose(file);
	}
}

static void look(struct cfi *cfi, size_t size)
{
	struct fuzz *f = &run.fuzz;

	for (unsigned i = 0; i < ROWS; i++) {
		uint64_t offset = fuzz__chance(f, 8) ? fuzz__number(f) : fuzz__below(f, size);
		const struct cfi_row *row = cfi__row(cfi, offset, fuzz__chance(f, 2));

		run.rows++;
		if (!row || !row->has_table)
			continue;
		run.tables++;
		for (unsigned j = 0; j < row->rule_cnt; j++)
			if (cfi__rules(cfi, row)[j].reg >= CFI_REG_MAX)
				run.broken = "a register that there isn't";
	}
	if (cfi__bytes(cfi) > BYTES_MAX)
		run.broken = "memory without a bound";
}

/* Where tables are: most of the file is not. */
static size_t place_of_damage(void)
{
	struct elf elf;
	struct image img;
	size_t ret = 0;
	static const char *const names[] = { ".eh_frame", ".eh_frame_hdr", ".debug_frame" };

	image__of_mem(&img, run.file, run.size);
	if (!elf__open(&elf, &img)) {
		const struct elf_section *sec =
			elf__section(&elf, names[fuzz__below(&run.fuzz, 3)]);

		if (sec && sec->size > 64)
			ret = sec->offset + fuzz__below(&run.fuzz, sec->size - 64);
		elf__close(&elf);
	}
	return ret;
}

static void damage_tables(void)
{
	struct fuzz *f = &run.fuzz;
	unsigned which = fuzz__below(f, 3);
	struct cfi *cfi;
	uint8_t *mem;
	size_t size;

	run.file = run.files[which];
	run.size = run.sizes[which];
	size = fuzz__chance(f, 16) ? 64 + fuzz__below(f, run.size - 64) : run.size;
	mem = malloc(size);
	memcpy(mem, run.file, size);
	for (size_t i = fuzz__below(f, DAMAGE_MAX) + 1; i; i--) {
		size_t at = place_of_damage();

		if (at && at + 64 <= size)
			fuzz__damage(f, mem + at, 64);
		if (fuzz__chance(f, 16))
			fuzz__damage(f, mem, 64); /* the header */
	}
	cfi = cfi__new(-1, mem, size);
	if (!cfi)
		return;
	look(cfi, size);
	cfi__free(cfi);
}

static void damage_copy(struct symbolizer *sym, pid_t pid)
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
		rec->copy_sz = fuzz__below(f, rec->copy_sz + 1);
	if (fuzz__chance(f, 8))
		rec->hdr.flags ^= 1 + fuzz__below(f, 3);
	if (symbolizer__unwind(sym, pid, &to->copy, &got))
		run.broken = "a walk that fails";
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
	make_files();
	fixture__start(&fx, argv);
	if (ptrace(PTRACE_SEIZE, fx.pid, NULL, (void *)PTRACE_O_EXITKILL) ||
	    !capture__take(fx.pid, 8192, &run.capture))
		skip_all("no ptrace here");
	sym = fixture__symbolizer("/nowhere", NULL);
	run.fuzz = fuzz__begin();
	while (fuzz__goes_on(&run.fuzz) && !run.broken) {
		damage_tables();
		for (unsigned i = 0; i < 8; i++) {
			damage_copy(sym, fx.pid);
			any_expression();
		}
	}
	ok(!run.broken, "every promise is kept in %llu rounds: %s",
	   (unsigned long long)run.fuzz.round, run.broken ?: "yes");
	ok(run.tables && run.tables < run.rows && run.deep && run.deep < run.walks && run.runs &&
		   run.runs < run.exprs,
	   "damage was of every kind: %llu of %llu rows, %llu of %llu walks go on, %llu of %llu "
	   "expressions",
	   (unsigned long long)run.tables, (unsigned long long)run.rows,
	   (unsigned long long)run.deep, (unsigned long long)run.walks,
	   (unsigned long long)run.runs, (unsigned long long)run.exprs);
	symbolizer__free(sym);
	fixture__stop(&fx);
	return tap__done();
}
