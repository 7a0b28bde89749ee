/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hostile content of an interpreter's memory and file: damaged location tables, published offsets,
 * strings, code objects and thread lists. Nothing may be read or written out of bounds, and lines
 * stay within what a table can say.
 */
#include "symbol/languages/python.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/python_image.h"

#define TABLE_MAX  256
#define LONG_TABLE (64 << 10)
#define TYPE	   0x4711

static struct process_env env = { .proc = "/proc" };
static const uint32_t versions[] = { 0x030b02f0, 0x030c01f0, 0x030d00f0 };

static struct {
	struct fuzz fuzz;
	uint64_t lines, published, names, threads;
} run;

static void fill(uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = fuzz__any(&run.fuzz);
}

/* A buffer of exactly the stated size, so that the sanitizer catches a byte too much. */
static bool table_holds(void)
{
	size_t size = fuzz__below(&run.fuzz, fuzz__chance(&run.fuzz, 256) ? LONG_TABLE : TABLE_MAX);
	uint8_t *table = malloc(size ? size : 1);
	uint32_t line;

	fill(table, size);
	cost__begin(&run.fuzz.cost);
	for (size_t i = 0; i < size; i += 1 + fuzz__below(&run.fuzz, 4))
		table[i] |= 0x80;
	line = python_line__at(table, size, fuzz__below(&run.fuzz, 30),
			       fuzz__chance(&run.fuzz, 9) ? fuzz__any(&run.fuzz)
							  : fuzz__below(&run.fuzz, 200));
	cost__end(&run.fuzz.cost, size);
	run.lines += line > 0;
	free(table);
	return line <= 1u << 30;
}

/* Accepted offsets fit what the probes read. */
static bool told_holds(struct python_offsets *offsets)
{
	uint8_t published[SCRIPT_OFFSETS_SZ];
	uint64_t value;

	image__offsets_313(published);
	for (size_t i = fuzz__below(&run.fuzz, 4); i; i--) {
		value = fuzz__chance(&run.fuzz, 2)
				? fuzz__below(&run.fuzz, 256)
				: fuzz__any(&run.fuzz) >> fuzz__below(&run.fuzz, 64);
		memcpy(published + 8 * fuzz__below(&run.fuzz, SCRIPT_OFFSETS_SZ / 8), &value, 8);
	}
	if (!python_offsets__read(published, versions[2], offsets))
		return true;
	run.published++;
	return offsets->frame.code + 8 <= JANK_SCRIPT_FRAME_SZ &&
	       offsets->frame.previous + 8 <= JANK_SCRIPT_FRAME_SZ &&
	       offsets->frame.instr + 8 <= JANK_SCRIPT_FRAME_SZ &&
	       offsets->frame.mark_at < JANK_SCRIPT_FRAME_SZ &&
	       offsets->code.name + 8 - python_offsets__code_at(offsets) <= JANK_SCRIPT_CODE_SZ;
}

static void read_names(struct process *process, uint64_t code, const struct python_offsets *offsets)
{
	struct jank_script_frame from = { code, code + offsets->code.bytecode, JANK_SCRIPT_ENTRY,
					  JANK_SCRIPT_CHECK + HASH };
	struct stack stack = { .script = &from, .script_cnt = 1 };
	struct pool pool = {};

	if (!script__add_frames(&env, process, &pool, &stack))
		run.names += stack.frames[0].function != NULL;
	free(stack.frames);
	pool__free(&pool);
}

static void read_damaged(struct image_mem *image, const struct python_offsets *offsets)
{
	struct interp_thread threads[8];
	struct python python = { .offsets = *offsets, .code_type = TYPE };
	struct heap_process heap = { .language = &language_python, .state = &python };
	struct process process = { .pid = getpid(),
				   .living = getpid(),
				   .nspid = getpid(),
				   .heap = &heap,
				   .heap_known = true };
	uint64_t interp, tstate, code;

	image->used = 0;
	python.runtime = image__room(image, 1024);
	interp = image__room(image, 8192);
	tstate = image__room(image, 512);
	image__put(python.runtime, image->offsets.interpreters_head, interp, 8);
	image__put(interp, image->offsets.threads_head, tstate, 8);
	image__put(tstate, image->offsets.tstate.interp, interp, 8);
	image__put(tstate, image->offsets.tstate.native_id, gettid(), 8);
	code = image__code(image, TYPE, image__ascii(image, "f"), image__ascii(image, "a.py"), 1,
			   4);
	fuzz__damage_words(&run.fuzz, image->bytes, image->used, 6);
	run.threads += heap__threads(&env, &process, threads, 8);
	heap__newest(&env, &process);
	read_names(&process, code, offsets);
	python_code__forget_all(&python);
}

int main(void)
{
	struct image_mem images[3];
	struct python_offsets published;
	const char *broken = NULL;

	for (size_t i = 0; i < 3; i++)
		images[i] = image__new(versions[i]);
	run.fuzz = fuzz__begin(10);
	while (fuzz__goes_on(&run.fuzz) && !broken) {
		struct image_mem *image = &images[run.fuzz.round % 3];

		published = image->offsets;
		if (!table_holds())
			broken = "a line";
		if (!told_holds(&published))
			broken = "offsets";
		if (run.fuzz.round % 16 == 0) { /* some 50 system calls */
			memset(image->bytes, 0, image->used);
			cost__begin(&run.fuzz.cost);
			read_damaged(image, &image->offsets);
			cost__end(&run.fuzz.cost, image->used);
		}
	}
	fuzz__ok(&run.fuzz, broken);
	ok(run.lines && run.published && run.names && run.threads,
	   "%llu lines, %llu offsets, %llu names and %llu threads were accepted",
	   (unsigned long long)run.lines, (unsigned long long)run.published,
	   (unsigned long long)run.names, (unsigned long long)run.threads);
	for (size_t i = 0; i < 3; i++)
		free(images[i].bytes);
	fuzz__report(&run.fuzz);
	cost__ok(&run.fuzz.cost);
	return tap__done();
}
