/* SPDX-License-Identifier: GPL-2.0 */
/* Frames of V8: names, lines, inlined functions, and what is not believed. */
#include "tests/unit/v8_image.h"

static struct v8_image *image;

/* Pairs of (code offset, source position + 1), as V8 writes them. */
static uint64_t positions(const int (*rows)[2], size_t cnt)
{
	uint8_t bytes[64];
	int code = -1, source = 0;
	size_t len = 0;

	for (size_t i = 0; i < cnt; i++) {
		const int deltas[] = { rows[i][0] - code, rows[i][1] - source };

		for (int k = 0; k < 2; k++) {
			unsigned number =
				(unsigned)(deltas[k] < 0 ? -deltas[k] * 2 - 1 : deltas[k] * 2);

			for (; number > 0x7f; number >>= 7)
				bytes[len++] = 0x80 | (number & 0x7f);
			bytes[len++] = (uint8_t)number;
		}
		code = rows[i][0];
		source = rows[i][1];
	}
	return v8_image__bytes(image, bytes, len);
}

#define SOURCE "let a = 1;\nfunction f() {\r\n\treturn a;\n}\n" /* lines end at 10, 26, 37, 39 */

/* A source position, plus 1, as V8 keeps it; then shifted by the bit for foreign positions. */
static int at(int position)
{
	return (position + 1) * 2;
}

struct objects {
	uint64_t script, bytecode, shared, function;
};

static struct objects make(uint64_t name)
{
	const int rows[][2] = { { 0, at(12) }, { 4, at(28) } };
	struct objects ret;

	ret.script = v8_image__script(image, "file:///srv/app.mjs", v8_image__text(image, SOURCE),
				      v8_image__small(0));
	ret.bytecode = v8_image__bytecode(image, 8, positions(rows, 2));
	ret.shared = v8_image__shared(image, name, ret.bytecode, ret.script);
	ret.function = v8_image__function(image, ret.shared, 0);
	return ret;
}

static struct native_frame frame_of(const struct objects *objects, int offset)
{
	return (struct native_frame){
		.pc = 0x1000,
		.in_file = true,
		.words = { objects->shared /* any object: the context */, objects->function, 0,
			   objects->bytecode,
			   v8_image__small(offset + image->layout.at[V8_BYTECODE_BEGIN] - 1) },
	};
}

static void check(const struct native_frame *frame, const char *function, uint32_t line,
		  const char *what)
{
	const struct frame_place *place = v8_image__read(image, frame);

	if (!ok(place != NULL, "%s: a place", what))
		return;
	is_str(place->functions[0].function, function, "%s: its function", what);
	is_str(place->functions[0].file, "/srv/app.mjs", "%s: its file", what);
	is_uint(place->functions[0].line, line, "%s: its line", what);
}

static void check_interpreter(void)
{
	uint64_t f = v8_image__text(image, "f"), none = v8_image__text(image, "");
	struct objects objects = make(v8_image__scope(image, 2, f, 0, 0));
	struct native_frame frame = frame_of(&objects, 2);
	uint64_t outer, ends[] = { v8_image__small(10), v8_image__small(26) };

	check(&frame, "f", 2, "bytecode");
	frame = frame_of(&objects, 6);
	check(&frame, "f", 3, "further in it");
	objects = make(v8_image__text(image, "g"));
	v8_image__set(image, objects.script, V8_SCRIPT_LINE_ENDS, v8_image__array(image, ends, 2));
	frame = frame_of(&objects, 6);
	check(&frame, "g", 3, "with V8's table of lines");
	objects = make(v8_image__scope(image, 0, f, v8_image__text(image, "exports.f"), 0));
	frame = frame_of(&objects, 2);
	check(&frame, "exports.f", 2, "an inferred name that says more");
	outer = v8_image__scope(image, 0, none, 0, v8_image__scope(image, 3, f, 0, 0));
	objects = make(v8_image__scope(image, 0, none, 0, outer));
	frame = frame_of(&objects, 2);
	check(&frame, "anonymous in f #1", 2, "without a name");
	objects = make(v8_image__scope(image, 80, f, 0, 0));
	frame = frame_of(&objects, 2);
	check(&frame, "f", 2, "many locals");
}

#define UNNAMED                                                                                    \
	"function f() { g([() => 1, function () {}]); o.h = async () => 2; o.i = function* () {}; }"

/* Of a function that begins at a text of the source, in f. inferred: by V8. */
static void check_unnamed(const char *begin, const char *inferred, const char *name)
{
	int position = (int)(strstr(UNNAMED, begin) - UNNAMED);
	uint64_t outer = v8_image__scope(image, 0, v8_image__text(image, "f"), 0, 0);
	uint64_t scope = v8_image__scope(image, 0, v8_image__text(image, ""),
					 v8_image__text(image, inferred), outer);
	struct objects objects = make(scope);
	struct native_frame frame = frame_of(&objects, 2);

	v8_image__set(image, objects.script, V8_SCRIPT_SOURCE, v8_image__text(image, UNNAMED));
	v8_image__put(scope, 56, v8_image__small(position), 8);
	check(&frame, name, 1, begin);
}

static void check_inferred(void)
{
	check_unnamed("() => 1", "o.x.y", "anonymous in f #1");
	check_unnamed("() {}]", "g", "anonymous in f #2");
	check_unnamed("() => 2", "o.h", "o.h");
	check_unnamed("() => 2", "Api.h", "Api.h");
	check_unnamed("() => 2", "o.i", "anonymous in f #3");
	check_unnamed("() {}; }", "o.i", "o.i");
	check_unnamed("() {}; }", "", "anonymous in f #4");
}

static void check_strings(void)
{
	uint64_t wide = v8_image__object(image, image->wide_map, 32);
	uint64_t sliced = v8_image__object(image, v8_image__map(image, 8 | 3), 32);
	struct objects objects = make(wide);
	struct native_frame frame = frame_of(&objects, 2);

	v8_image__put(wide, 12, 2, 4);
	v8_image__put(wide, 16, 0x20ac0041, 4);
	check(&frame, "A\u20ac", 2, "two bytes a character");
	v8_image__put(sliced, 12, 3, 4);
	v8_image__put(sliced, 16, v8_image__text(image, "a handler"), 8);
	v8_image__put(sliced, 24, v8_image__small(2), 8);
	objects = make(sliced);
	frame = frame_of(&objects, 2);
	check(&frame, "han", 2, "a part of another string");
	objects = make(v8_image__text(image, "tab\there"));
	frame = frame_of(&objects, 2);
	check(&frame, "tab?here", 2, "a control character");
}

static void check_disbelief(void)
{
	struct objects objects = make(v8_image__text(image, "f")), other = objects;
	struct native_frame frame = frame_of(&objects, 2);

	frame.words[0] = 6 << 1;
	ok(!v8_image__read(image, &frame), "a stub's frame");
	other.bytecode = v8_image__bytecode(image, 8, 0);
	frame = frame_of(&other, 2);
	ok(!v8_image__read(image, &frame), "a function whose frame runs other bytecode");
	frame = frame_of(&objects, 2);
	frame.words[1] = objects.shared;
	ok(!v8_image__read(image, &frame), "no function where it should be");
	frame.words[1] = 0x7000deadbeef0001;
	ok(!v8_image__read(image, &frame), "a pointer to nothing");
	frame = frame_of(&objects, 400);
	frame.in_file = true;
	check(&frame, "f", 0, "an offset beyond the bytecode");
	v8_image__set(image, objects.shared, V8_SHARED_SCRIPT, v8_image__text(image, "none"));
	frame = frame_of(&objects, 2);
	ok(!v8_image__read(image, &frame), "a function without a script");
}

static void check_moved(void)
{
	struct objects objects = make(v8_image__text(image, "moved"));
	uint64_t copy = objects.function;
	struct native_frame frame;

	objects.function = v8_image__function(image, 0, 0);
	v8_image__put(objects.function, 0, copy - 1, 8);
	frame = frame_of(&objects, 2);
	check(&frame, "moved", 2, "the collector left a forwarding address");
}

/* A name that the collector moves is found. One that cannot be read makes none anonymous. */
static void check_moving_name(void)
{
	uint64_t name = v8_image__text(image, "handler"), old = v8_image__text(image, "old");
	struct objects objects = make(v8_image__scope(image, 0, old, 0, 0));
	struct native_frame frame = frame_of(&objects, 2);

	v8_image__put(old, 0, 0x7000deadbef0, 8);
	ok(!v8_image__read(image, &frame), "the name is nowhere");
	v8_image__put(old, 0, name - 1, 8);
	check(&frame, "handler", 2, "the name has moved");
}

/* Frames without a function get its name from a frame of the same bytecode, also afterwards. */
static void check_owner(void)
{
	struct objects objects = make(v8_image__text(image, "young"));
	struct native_frame lost = frame_of(&objects, 2), later = frame_of(&objects, 6),
			    good = later;
	const struct frame_place *place;
	uint64_t key;

	lost.words[1] = later.words[1] = 0x700000001001;
	ok(!v8_image__read(image, &lost), "the collector has overwritten the function");
	image->reader.later = false;
	ok(language_v8.place(image->state, &lost, &key) && !image->reader.later,
	   "but the frame is known");
	check(&good, "young", 3, "a frame with the same bytecode");
	place = frame_places__find(&image->places, key);
	is_str(place ? place->functions[0].function : NULL, "young", "names the frame before");
	is_uint(place ? place->functions[0].line : 0, 2, "with its own line");
	check(&later, "young", 3, "and later ones");
}

/* V8 frees bytecode that is not used for a while, and makes it anew when it is. */
static void check_flushed(void)
{
	struct objects objects = make(v8_image__text(image, "seldom"));
	struct objects other = make(v8_image__text(image, "other"));
	struct native_frame lost = frame_of(&objects, 2), good = frame_of(&objects, 6);
	struct native_frame known = frame_of(&other, 2);
	uint64_t key;

	check(&known, "other", 2, "a function whose bytecode is known");
	good.words[3] = other.bytecode;
	ok(!v8_image__read(image, &good), "the function has other bytecode now");
	lost.words[1] = 0x700000001001;
	ok(!v8_image__read(image, &lost), "a frame without its function");
	image->reader.later = false;
	ok(language_v8.place(image->state, &lost, &key) && !image->reader.later, "is known");
	v8_image__put(objects.bytecode, 16, v8_image__small(7), 8);
	good.words[3] = objects.bytecode;
	check(&good, "seldom", 3, "other bytecode is at its place, of a function that is known");
	ok(!frame_places__find(&image->places, key), "which is not the frame's before");
	check(&lost, "seldom", 2, "but a later one's");
}

static struct native_frame in_code(const struct objects *objects, uint64_t pc)
{
	struct native_frame ret = frame_of(objects, 0);

	ret.in_file = false;
	ret.pc = pc;
	ret.words[3] = ret.words[4] = 0;
	return ret;
}

/* What belongs to no bytecode has the position of the function's begin: 28. */
static void check_no_bytecode(const struct objects *objects, uint64_t begin)
{
	uint64_t name = v8_image__text(image, "outer");
	uint64_t scope = v8_image__scope(image, 0, name, 0, 0);
	struct native_frame frame = in_code(objects, begin + 19);

	v8_image__put(scope, 56, v8_image__small(28), 8);
	v8_image__set(image, objects->shared, V8_SHARED_NAME, scope);
	check(&frame, "outer", 0, "the line of a call that no bytecode makes is not known");
	v8_image__set(image, objects->shared, V8_SHARED_NAME, name);
}

static void check_optimised(void)
{
	struct objects outer = make(v8_image__text(image, "outer"));
	struct objects inner = make(v8_image__text(image, "inner"));
	uint64_t literals[] = { inner.shared | 2 }, begin, code, deopt;
	uint64_t words[8] = { [1] = v8_image__small(1), [6] = outer.shared };
	struct {
		uint64_t position;
		int32_t id, pad;
	} inlining = { (uint64_t)at(12), 0, 0 };
	const int rows[][2] = { { 16, at(28) }, { 32, at(28) } };
	const struct frame_place *place;
	struct native_frame frame;
	uint64_t table;

	words[2] = v8_image__array(image, literals, 1);
	words[7] = v8_image__bytes(image, &inlining, sizeof(inlining));
	table = positions(rows, 2);
	deopt = v8_image__array(image, words, 8);
	code = v8_image__code(image, 13, 64, table, deopt, &begin);
	v8_image__set(image, outer.function, V8_FUNCTION_CODE, code);
	frame = in_code(&outer, begin + 20);
	check(&frame, "outer", 3, "optimised");
	v8_image__set(image, outer.function, V8_FUNCTION_CODE, 0);
	frame = in_code(&outer, begin + 21);
	check(&frame, "outer", 3, "code that its function does not lead to");
	frame.borrowed = true;
	frame.pc = begin + 22;
	check(&frame, "outer", 3, "by the code alone");
	frame = in_code(&inner, begin + 23);
	ok(!v8_image__read(image, &frame), "another function, or other code, is there now");

	check_no_bytecode(&outer, begin);
	/* The entry of offset 16 gets inlining 1. */
	v8_image__put(table, 16, 0, 0);
	memcpy((char *)(table - 1 + 16), "\x22", 1);
	{
		uint8_t bytes[16] = { 17 * 2 };
		uint64_t value = (uint64_t)at(28) | 1ull << 31, number = value * 2;
		size_t len = 1;

		for (; number > 0x7f; number >>= 7)
			bytes[len++] = 0x80 | (number & 0x7f);
		bytes[len++] = (uint8_t)number;
		v8_image__set(image, code, V8_CODE_POSITIONS, v8_image__bytes(image, bytes, len));
	}
	frame = in_code(&outer, begin + 24);
	place = v8_image__read(image, &frame);
	is_uint(place ? place->cnt : 0, 2, "two functions in one frame");
	if (place && place->cnt == 2) {
		is_str(place->functions[0].function, "inner", "the inlined one first");
		is_uint(place->functions[0].line, 3, "its line");
		is_str(place->functions[1].function, "outer", "then its caller");
		is_uint(place->functions[1].line, 2, "where it calls");
	}
	inlining.id = 9;
	v8_image__put(words[7], 24, 9, 4);
	frame = in_code(&outer, begin + 25);
	check(&frame, "outer", 0, "an inlined function that is not there");
}

/* Code that cannot be found proves nothing: only a frame with the function's bytecode does. */
static void check_lost_code(void)
{
	struct objects objects = make(v8_image__text(image, "lost"));
	struct native_frame frame = in_code(&objects, 0x7000deadbeef);

	ok(!v8_image__read(image, &frame), "code that is not there");
	frame.words[3] = objects.bytecode;
	check(&frame, "lost", 0, "the same with its bytecode");
}

static void check_baseline(void)
{
	struct objects objects = make(v8_image__text(image, "warm"));
	const uint8_t sizes[] = { 8, 8, 8, 8, 8, 8, 8, 8, 8 };
	struct native_frame frame;
	uint64_t begin, code;

	code = v8_image__code(image, 11, 72, v8_image__bytes(image, sizes, sizeof(sizes)),
			      objects.bytecode, &begin);
	v8_image__set(image, objects.shared, V8_SHARED_DATA, code);
	frame = in_code(&objects, begin + 30); /* the third bytecode: offset 4 */
	frame.words[3] = objects.bytecode;
	check(&frame, "warm", 3, "baseline code");
	frame.pc = begin + 12;
	check(&frame, "warm", 2, "before that");
	frame.words[1] = frame.words[3] = 0x700000001001;
	frame.pc = begin + 13;
	check(&frame, "warm", 2, "the collector has moved function and bytecode");
}

int main(void)
{
	apart__start();
	image = v8_image__new();
	check_interpreter();
	check_inferred();
	check_strings();
	check_disbelief();
	check_moved();
	check_moving_name();
	check_owner();
	check_flushed();
	check_optimised();
	check_lost_code();
	check_baseline();
	v8_image__free(image);
	apart__stop();
	return tap__done();
}
