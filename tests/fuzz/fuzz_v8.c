/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A process that pretends to run V8: damaged objects, cyclic strings and scopes, wrong lengths and
 * tables. Nothing may be read or written out of bounds, the work is bounded, and names are text.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/v8_image.h"

#define FRAMES 3

static struct {
	struct fuzz fuzz;
	struct v8_image *image;
	struct native_frame frames[FRAMES];
	uint64_t names;
} run;

/* A bytecode frame, a baseline frame, and an optimised frame with an inlined function. */
static void build(void)
{
	static const uint8_t table[] = { 2, 26, 8, 32 }, sizes[] = { 8, 8, 8, 8, 8, 8, 8, 8, 8 };
	struct v8_image *image = run.image;
	uint64_t name = v8_image__text(image, "handler"), none = v8_image__text(image, "");
	uint64_t outer = v8_image__scope(image, 3, name, v8_image__text(image, "x.handler"), 0);
	uint64_t source = v8_image__text(image, "let a = 1;\nfunction f() {\r\n\treturn a;\n}\n");
	uint64_t script = v8_image__script(image, "file:///srv/app.mjs", source, 0);
	uint64_t bytecode = v8_image__bytecode(image, 8, v8_image__bytes(image, table, 4));
	uint64_t begin, warm, hot, function, shared;
	uint64_t deopt[8] = { [1] = v8_image__small(1) };
	const uint64_t inlining[2] = { 24, 0 };

	shared = v8_image__shared(image, v8_image__scope(image, 1, none, 0, outer), bytecode,
				  script);
	function = v8_image__function(image, shared, 0);
	run.frames[0] = (struct native_frame){
		.pc = 0x1000,
		.in_file = true,
		.words = { shared, function, 0, bytecode,
			   v8_image__small(2 + image->layout.at[V8_BYTECODE_BEGIN] - 1) },
	};
	warm = v8_image__code(image, 11, 72, v8_image__bytes(image, sizes, 9), bytecode, &begin);
	v8_image__set(image, shared, V8_SHARED_DATA, warm);
	run.frames[1] = run.frames[0];
	run.frames[1].in_file = false;
	run.frames[1].pc = begin + 30;
	run.frames[1].words[4] = 0;
	deopt[2] = v8_image__array(image, &shared, 1);
	deopt[6] = shared;
	deopt[7] = v8_image__bytes(image, inlining, sizeof(inlining));
	hot = v8_image__code(image, 13, 64, v8_image__bytes(image, "\x22\xb4\x80\x80\x80\x10", 6),
			     v8_image__array(image, deopt, 8), &begin);
	v8_image__set(image, function, V8_FUNCTION_CODE, hot);
	run.frames[2] = run.frames[1];
	run.frames[2].pc = begin + 20;
	run.frames[2].words[3] = 0;
}

/* Numbers used as addresses, lengths and types do most damage where one of these is. */
static void damage(struct v8_image *image)
{
	static const uint64_t hostile[] = { 0,
					    1,
					    7,
					    4095,
					    UINT64_MAX,
					    INT64_MAX,
					    1ull << 47,
					    0xffffffff00000000,
					    1ull << 32,
					    75ull << 32,
					    0x7fffffff00000000 };

	for (size_t i = fuzz__below(&run.fuzz, 6); i; i--) {
		uint64_t value = hostile[fuzz__below(&run.fuzz, sizeof(hostile) / 8)];
		size_t at = fuzz__below(&run.fuzz, image->used / 8) * 8;

		if (fuzz__chance(&run.fuzz, 2)) /* another object */
			value = (uint64_t)(image->bytes +
					   fuzz__below(&run.fuzz, image->used / 16) * 16) +
				1;
		else if (fuzz__chance(&run.fuzz, 3))
			value = fuzz__any(&run.fuzz);
		memcpy(image->bytes + at, &value, 8);
	}
}

static bool is_text(const char *text)
{
	for (; text && *text; text++)
		if ((unsigned char)*text < 0x20)
			return false;
	return true;
}

static bool holds(const struct frame_place *place)
{
	for (uint32_t i = 0; place && i < place->cnt; i++) {
		run.names += place->functions[i].function != NULL;
		if (!is_text(place->functions[i].function) || !is_text(place->functions[i].file) ||
		    place->functions[i].line > 1u << 30)
			return false;
	}
	return true;
}

int main(void)
{
	bool good = true;
	char *kept;

	apart__start();
	run.image = v8_image__new();
	build();
	kept = malloc(run.image->used);
	memcpy(kept, run.image->bytes, run.image->used);
	run.fuzz = fuzz__begin(2000);
	while (fuzz__goes_on(&run.fuzz) && good) {
		struct native_frame frame = run.frames[run.fuzz.round % FRAMES];

		memcpy(run.image->bytes, kept, run.image->used);
		damage(run.image);
		if (fuzz__chance(&run.fuzz, 4))
			frame.words[fuzz__below(&run.fuzz, 5)] = fuzz__any(&run.fuzz);
		frame.borrowed = fuzz__chance(&run.fuzz, 8);
		cost__begin(&run.fuzz.cost);
		good = holds(v8_image__read(run.image, &frame));
		cost__end(&run.fuzz.cost, run.image->used);
		if (run.fuzz.round % 64 == 0)
			frame_places__free(&run.image->places);
	}
	ok(good, "round %llu: names are text", (unsigned long long)run.fuzz.round);
	ok(run.names > 100, "%llu names were read", (unsigned long long)run.names);
	free(kept);
	v8_image__free(run.image);
	apart__stop();
	fuzz__report(&run.fuzz);
	cost__ok(&run.fuzz.cost);
	return tap__done();
}
