/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hostile memory of a process whose compiled frames have damaged ArtMethods, classes, caches and
 * headers of code, which change between stacks. Nothing may be read or written out of bounds, reads
 * and work of a stack are bounded, and while the DEX file is whole a name is one of its class.
 */
#include "symbol/languages/frame_places.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/art_method_image.h"

static struct {
	struct fuzz fuzz;
	struct dex_image dex;
	bool whole; /* the DEX file and its list are not damaged */
	uint64_t names, nameless, frames;
} run;

static void damage(struct art_image *im)
{
	static const struct {
		uint32_t at, len;
	} parts[] = { { AM_METHODS, 8 + 40 * AM_CNT },
		      { AM_CLASS, 88 },
		      { AM_CACHE, 24 },
		      { AM_DEX_FILE, 16 },
		      { AM_CODE, 4 * 192 },
		      { ART_DESCRIPTOR, 56 },
		      { ART_ENTRIES, 64 },
		      { ART_FILES, DEX_IMAGE_SZ } };
	static const uint32_t goals[] = { AM_METHODS, AM_CLASS, AM_CACHE, AM_DEX_FILE, ART_FILES };

	for (size_t i = fuzz__below(&run.fuzz, 5); i; i--) {
		unsigned part = fuzz__below(&run.fuzz, fuzz__chance(&run.fuzz, 4) ? 8 : 5);
		uint32_t at = parts[part].at + fuzz__below(&run.fuzz, parts[part].len - 8);

		run.whole &= part < 5;
		if (fuzz__chance(&run.fuzz, 3))
			ai__set(im, at & ~3u, ai__addr(im, goals[fuzz__below(&run.fuzz, 5)]),
				fuzz__chance(&run.fuzz, 2) ? 8 : 4);
		else
			ai__set(im, at, fuzz__number(&run.fuzz),
				(size_t)1 << fuzz__below(&run.fuzz, 4));
	}
}

/* Whether a name is of the class; another one would need a DEX file that is damaged, too. */
static bool is_possible(const struct place_function *function)
{
	return !function || !run.whole ||
	       (function->function && !strncmp(function->function, "com.example.Main.", 17));
}

static bool stack_holds(struct art_image *im, enum am_version version, uint64_t t_ns)
{
	for (unsigned i = 0; i < 6; i++) {
		unsigned nr = fuzz__below(&run.fuzz, AM_CNT);
		uint64_t pc = ai__addr(im, am__code(nr) + fuzz__below(&run.fuzz, AM_CODE_SZ));
		uint64_t method = fuzz__chance(&run.fuzz, 8) ? fuzz__number(&run.fuzz)
							     : am__method(im, version, nr);
		const struct place_function *function = am__place(im, pc, method, t_ns);
		uint32_t saved = 0, size;

		*(function ? &run.names : &run.nameless) += 1;
		target_memory__begin(im->target, "/proc", getpid());
		do {
			im->reader.later = false;
			size = language_art.frame_size(&im->art, pc, method, &saved);
		} while (im->reader.later && target_memory__fetch(im->target));
		run.frames += size != 0;
		if (!is_possible(function) || size > 1u << 16)
			return false;
	}
	return im->art.windows_left <= ART_DEX_WINDOWS && im->art.dex_cnt <= ART_ENTRIES_MAX;
}

static bool image_holds(struct art_image *im)
{
	enum am_version version =
		fuzz__below(&run.fuzz, 3) | (fuzz__chance(&run.fuzz, 2) ? AM_32 : 0);
	bool holds = true;

	am__fill(im, &run.dex, version);
	run.whole = true;
	for (unsigned i = 0; i < 3 && holds; i++) {
		if (i || fuzz__chance(&run.fuzz, 2))
			damage(im);
		holds = stack_holds(im, version, 1000 + i);
	}
	return holds;
}

int main(void)
{
	const char *broken = NULL;
	struct art_image im;

	if (!ai__begin(&im))
		skip_all("no memory below 4 GiB");
	dex_image__make_two(&run.dex, DEX_IMAGE_035);
	run.fuzz = fuzz__begin(60);
	while (fuzz__goes_on(&run.fuzz) && !broken) {
		cost__begin(&run.fuzz.cost);
		if (!image_holds(&im))
			broken = "a bound, or a name";
		cost__end(&run.fuzz.cost, DEX_IMAGE_SZ);
	}
	fuzz__ok(&run.fuzz, broken);
	ok(run.names && run.nameless && run.frames,
	   "%llu frames have names, %llu have none; %llu have a size",
	   (unsigned long long)run.names, (unsigned long long)run.nameless,
	   (unsigned long long)run.frames);
	ai__end(&im);
	fuzz__report(&run.fuzz);
	cost__ok(&run.fuzz.cost);
	return tap__done();
}
