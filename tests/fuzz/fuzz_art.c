/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hostile memory of a process that pretends to be ART: damaged lists and files of symbols, in all
 * layouts. Nothing may be read or written out of bounds, and reads, memory and work of a stack are
 * bounded.
 */
#include "symbol/languages/frame_places.h"
#include "symbol/unwind/cfi.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/art_image.h"

#define METHODS 12

static struct {
	struct fuzz fuzz;
	uint64_t names, nameless, rows;
} run;

static void damage(struct art_image *im)
{
	for (size_t i = fuzz__below(&run.fuzz, 8); i; i--) {
		static const struct {
			uint32_t at, len;
		} parts[] = { { ART_DESCRIPTOR, 56 },
			      { ART_ENTRIES, 64 * METHODS },
			      { ART_FILES, METHODS * ART_FILE_SZ } };
		unsigned part = fuzz__below(&run.fuzz, 3);
		uint32_t at = parts[part].at + fuzz__below(&run.fuzz, parts[part].len - 8);
		static const uint32_t targets[] = { ART_ENTRIES, ART_DESCRIPTOR, ART_FILES };

		if (fuzz__chance(&run.fuzz, 2))
			ai__set(im, at & ~7u,
				ai__addr(im, targets[fuzz__below(&run.fuzz, 3)] +
						     64 * fuzz__below(&run.fuzz, METHODS)),
				ai__word(im));
		else
			ai__set(im, at, fuzz__number(&run.fuzz),
				(size_t)1 << fuzz__below(&run.fuzz, 4));
	}
}

static bool stack_holds(struct art_image *im, uint64_t t_ns)
{
	const char *name = ai__name(im, ART_CODE + fuzz__below(&run.fuzz, 0x40 * METHODS), t_ns);

	for (unsigned i = 0; i < METHODS; i++) {
		struct cfi *cfi;
		const struct cfi_row *row =
			language_art.row(&im->art, ART_CODE + 0x40 * i + 8, i & 1, &cfi);

		run.rows += row && row->has_table;
	}
	run.names += name && *name;
	run.nameless += !name;
	return im->art.bytes < 2 * ART_BYTES_MAX && im->art.file_cnt <= ART_ENTRIES_MAX &&
	       im->art.reads_left <= ART_READS_FIRST;
}

static bool image_holds(struct art_image *im)
{
	unsigned layout = fuzz__below(&run.fuzz, 4);
	struct art_file file = { .is64 = layout < 2, .wide = layout < 3, .tagged = layout == 1 };
	bool holds = true;

	ai__fill(im, file, fuzz__below(&run.fuzz, 3));
	for (unsigned i = 0; i < METHODS; i++)
		ai__method(im, i, ART_CODE + 0x40 * i, "a.b.C.method", 10 + i);
	if (fuzz__chance(&run.fuzz, 8))
		return stack_holds(im, 1000);
	for (unsigned i = 0; i < 3 && holds; i++) {
		damage(im);
		if (fuzz__chance(&run.fuzz, 2))
			ai__change(im, 100 + i);
		holds = stack_holds(im, 1000 + i);
	}
	return holds;
}

int main(void)
{
	const char *broken = NULL;
	struct art_image im;

	if (!ai__begin(&im))
		skip_all("no memory below 4 GiB");
	run.fuzz = fuzz__begin(50);
	while (fuzz__goes_on(&run.fuzz) && !broken) {
		cost__begin(&run.fuzz.cost);
		if (!image_holds(&im))
			broken = "a bound";
		cost__end(&run.fuzz.cost, ART_IMAGE_SZ);
	}
	fuzz__ok(&run.fuzz, broken);
	ok(run.names && run.nameless && run.rows,
	   "%llu frames have names, %llu have none, %llu rows", (unsigned long long)run.names,
	   (unsigned long long)run.nameless, (unsigned long long)run.rows);
	ai__end(&im);
	fuzz__report(&run.fuzz);
	cost__ok(&run.fuzz.cost);
	return tap__done();
}
