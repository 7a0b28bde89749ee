/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hostile memory of a process that pretends to be a JVM: damaged tables of lines and numbers, and a
 * damaged code cache, nmethod and class. Nothing may be read or written out of bounds, names are
 * texts, and the cost of a frame is bounded.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/hotspot_image.h"

#define TABLE_MAX 256

static struct {
	struct fuzz fuzz;
	uint64_t lines, names, nameless;
} run;

/* A buffer of exactly the stated size, so that the sanitizer catches a byte too much. */
static bool lines_hold(void)
{
	size_t size = fuzz__below(&run.fuzz, TABLE_MAX);
	uint8_t *table = malloc(size ? size : 1), excluded = fuzz__chance(&run.fuzz, 2);
	struct hs_numbers numbers = { .at = table, .end = table + size, .excluded = excluded };
	uint32_t line;
	bool holds;

	for (size_t i = 0; i < size; i++)
		table[i] = fuzz__any(&run.fuzz);
	cost__begin(&run.fuzz.cost);
	line = hs_lines__find(table, size, excluded, fuzz__below(&run.fuzz, 200));
	while (!numbers.broken)
		hs_numbers__next(&numbers);
	cost__end(&run.fuzz.cost, size);
	run.lines += line > 0;
	holds = line <= UINT16_MAX && numbers.at <= table + size;
	free(table);
	return holds;
}

/* Numbers that do most damage where a pointer, a length or an index is. */
static void damage(struct hotspot_image *im)
{
	static const uint64_t hostile[] = { 0, 1, 7, 255, 4095, INT32_MAX, UINT64_MAX, INT64_MAX };

	for (size_t i = fuzz__below(&run.fuzz, 8); i; i--) {
		uint64_t value = hostile[fuzz__below(&run.fuzz, 8)];
		uint32_t at = (uint32_t)fuzz__below(&run.fuzz, IMAGE_SZ - 8);

		if (fuzz__chance(&run.fuzz, 3))
			value = vm__addr(im, (uint32_t)fuzz__below(&run.fuzz, IMAGE_SZ));
		else if (fuzz__chance(&run.fuzz, 2))
			value = fuzz__any(&run.fuzz);
		if (fuzz__chance(&run.fuzz, 2)) /* where the nmethod and its tables are */
			at = IMAGE_BLOCK + (uint32_t)fuzz__below(&run.fuzz, 2048);
		vm__set(im, at, value, 1 + fuzz__below(&run.fuzz, 8));
	}
}

static void add_tables(struct hotspot_image *im)
{
	uint32_t outer = vm__scope(im, 0, IMAGE_HANDLE, 3);
	uint32_t inner = vm__scope(im, outer, IMAGE_CHECKOUT, 2);

	vm__pc(im, -1, 0);
	for (int32_t i = 1; i < 12; i++)
		vm__pc(im, 16 * i, i & 1 ? inner : outer);
	vm__pc(im, INT32_MAX, 0);
}

static bool is_text(const char *text)
{
	for (; text && *text; text++)
		if ((unsigned char)*text < 0x20)
			return false;
	return true;
}

static bool frame_holds(struct hotspot_image *im, const struct native_frame *frame)
{
	const struct frame_place *place = vm__read(im, frame);

	run.nameless += !place;
	for (uint32_t i = 0; place && i < place->cnt; i++) {
		run.names++;
		if (!is_text(place->functions[i].function) || !is_text(place->functions[i].file))
			return false;
	}
	return !place || (place->cnt && place->cnt <= PLACE_FUNCTIONS_MAX);
}

static bool image_holds(struct hotspot_image *im)
{
	struct native_frame in_code = { .exact = fuzz__chance(&run.fuzz, 2) };
	struct native_frame in_bytecode = { .fp = 0x1000, .exact = fuzz__chance(&run.fuzz, 2) };

	vm__fill(im);
	add_tables(im);
	damage(im);
	in_code.pc = vm__addr(im, IMAGE_CODE + (uint32_t)fuzz__below(&run.fuzz, 256));
	in_bytecode.pc = vm__addr(im, IMAGE_STUBS + 8);
	in_bytecode.words[2] = vm__addr(im, vm__method(fuzz__below(&run.fuzz, 3)));
	in_bytecode.words[im->bytecode_word] =
		in_bytecode.words[2] + 0x80 + 48 + fuzz__below(&run.fuzz, 24);
	if (fuzz__chance(&run.fuzz, 8))
		in_bytecode.words[im->bytecode_word] = -fuzz__below(&run.fuzz, 64);
	return frame_holds(im, &in_code) && frame_holds(im, &in_bytecode);
}

int main(void)
{
	struct hotspot_image images[IMAGE_SHAPES];
	const char *broken = NULL;

	for (unsigned i = 0; i < IMAGE_SHAPES; i++)
		vm__begin(&images[i], i);
	run.fuzz = fuzz__begin(50);
	while (fuzz__goes_on(&run.fuzz) && !broken) {
		if (!lines_hold())
			broken = "a line";
		if (run.fuzz.round % 16 == 0) { /* some 50 system calls */
			cost__begin(&run.fuzz.cost);
			if (!image_holds(&images[run.fuzz.round / 16 % IMAGE_SHAPES]))
				broken = "a frame";
			cost__end(&run.fuzz.cost, IMAGE_SZ);
		}
	}
	fuzz__ok(&run.fuzz, broken);
	ok(run.lines && run.names && run.nameless,
	   "%llu lines and %llu names were accepted, %llu frames were not",
	   (unsigned long long)run.lines, (unsigned long long)run.names,
	   (unsigned long long)run.nameless);
	for (unsigned i = 0; i < IMAGE_SHAPES; i++)
		vm__end(&images[i]);
	fuzz__report(&run.fuzz);
	cost__ok(&run.fuzz.cost);
	return tap__done();
}
