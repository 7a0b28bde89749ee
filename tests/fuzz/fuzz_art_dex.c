/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hostile memory of a process that pretends to interpret DEX files: damaged lists and files, in
 * memory and in archives or .vdex files without a list, which change between stacks. Nothing may
 * be read or written out of bounds, and reads, memory and work of a stack are bounded.
 */
#include "symbol/languages/frame_places.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/art_image.h"
#include "tests/unit/dex_image.h"

#define FILES  4
#define DEX_SZ (4u * 4096)

static struct {
	struct fuzz fuzz;
	struct dex_image dex;
	uint64_t names, nameless;
} run;

static uint32_t file_at(unsigned nr)
{
	return ART_FILES + nr * DEX_SZ;
}

static void damage(struct art_image *im)
{
	for (size_t i = fuzz__below(&run.fuzz, 6); i; i--) {
		static const struct {
			uint32_t at, len;
		} parts[] = { { ART_DESCRIPTOR, 56 },
			      { ART_ENTRIES, 64 * FILES },
			      { ART_FILES, 0x200 },
			      { ART_FILES, FILES * DEX_SZ } };
		unsigned part = fuzz__below(&run.fuzz, 4);
		uint32_t at = parts[part].at + fuzz__below(&run.fuzz, parts[part].len - 8);

		if (fuzz__chance(&run.fuzz, 2))
			ai__set(im, at & ~7u,
				ai__addr(im, ART_ENTRIES + 64 * fuzz__below(&run.fuzz, FILES)), 8);
		else
			ai__set(im, at, fuzz__number(&run.fuzz),
				(size_t)1 << fuzz__below(&run.fuzz, 4));
	}
}

/* A place in a method, or anywhere. */
static uint64_t some_place(const struct art_image *im)
{
	uint32_t file = file_at(fuzz__below(&run.fuzz, FILES));

	if (fuzz__chance(&run.fuzz, 8))
		return fuzz__number(&run.fuzz) | 1;
	return ai__addr(im, file + (fuzz__chance(&run.fuzz, 2)
					    ? run.dex.insns[0][fuzz__below(&run.fuzz, 9)]
					    : fuzz__below(&run.fuzz, DEX_SZ)));
}

static bool stack_holds(struct art_image *im, uint64_t t_ns)
{
	im->reader.at_ns = t_ns;
	target_memory__begin(im->target, "/proc", getpid());
	for (unsigned i = 0; i < 6; i++) {
		struct native_frame frame = { .in_file = true,
					      .dex = some_place(im),
					      .dex_begins = i & 1 };
		const struct frame_place *place;
		uint64_t key;

		im->reader.cut = false;
		if (!language_art.place(&im->art, &frame, &key))
			return false;
		place = frame_places__find(&im->places, key);
		if (place && place->functions[0].function)
			run.names++;
		else
			run.nameless++;
	}
	return im->art.dex_cnt <= ART_ENTRIES_MAX && im->art.dex_bytes <= ART_DEX_BYTES_MAX &&
	       im->art.windows_left <= ART_DEX_WINDOWS;
}

static bool image_holds(struct art_image *im)
{
	static const struct art_file file = { .is64 = true, .wide = true };
	bool holds = true, listed = !fuzz__chance(&run.fuzz, 4);

	ai__fill(im, file, 1 + fuzz__below(&run.fuzz, 2));
	frame_places__free(&im->places);
	im->art.jit.descriptor = 0;
	im->art.dex_list.descriptor = listed ? ai__addr(im, ART_DESCRIPTOR) : 0;
	for (unsigned i = 0; i < FILES; i++) {
		dex_image__make_two(&run.dex, fuzz__below(&run.fuzz, 3));
		memcpy(im->mem + file_at(i), run.dex.bytes, DEX_SZ);
		ai__set(im, file_at(i) + 8, i + 1, 4);
		ai__add(im, i, run.dex.len, 10 + i);
		ai__set(im, ART_ENTRIES + 64 * i + 16, ai__addr(im, file_at(i)), 8);
	}
	for (unsigned i = 0; i < 3 && holds; i++) {
		if (i || fuzz__chance(&run.fuzz, 2))
			damage(im);
		if (fuzz__chance(&run.fuzz, 2))
			ai__change(im, 100 + i);
		holds = stack_holds(im, fuzz__chance(&run.fuzz, 4) ? 0 : UINT64_MAX / 4 + i);
	}
	return holds;
}

int main(void)
{
	const char *broken = NULL;
	struct art_image im;

	_Static_assert(DEX_IMAGE_SZ <= DEX_SZ, "dex_image");
	_Static_assert(ART_FILES + FILES * DEX_SZ <= ART_IMAGE_SZ, "art_image");
	if (!ai__begin(&im))
		skip_all("no memory below 4 GiB");
	run.fuzz = fuzz__begin(60);
	while (fuzz__goes_on(&run.fuzz) && !broken) {
		cost__begin(&run.fuzz.cost);
		if (!image_holds(&im))
			broken = "a bound";
		cost__end(&run.fuzz.cost, FILES * DEX_SZ);
	}
	fuzz__ok(&run.fuzz, broken);
	ok(run.names && run.nameless, "%llu frames have names, %llu have none",
	   (unsigned long long)run.names, (unsigned long long)run.nameless);
	ai__end(&im);
	fuzz__report(&run.fuzz);
	cost__ok(&run.fuzz.cost);
	return tap__done();
}
