/* SPDX-License-Identifier: GPL-2.0 */
/*
 * V8's heap in this process's own memory: the objects that the reader of frames needs, in the
 * layout of V8 11.3 (Node 20). Types are numbers of the test.
 */
#ifndef JANK_V8_IMAGE_H
#define JANK_V8_IMAGE_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/apart.h"
#include "symbol/languages/v8.h"
#include "tests/tap.h"

#define V8_IMAGE_FN static inline __attribute__((unused))
#define V8_IMAGE_SZ (128u << 10)

struct v8_image {
	char *bytes;
	size_t used;
	struct v8_layout layout;
	uint64_t maps[V8_FIELD_CNT]; /* of the types */
	uint64_t string_map, wide_map;
	struct frame_places places;
	struct language_reader reader;
	void *state; /* of language_v8 */
};

V8_IMAGE_FN uint64_t v8_image__room(struct v8_image *image, size_t size)
{
	uint64_t ret = (uint64_t)(image->bytes + image->used);

	image->used += (size + 15) & ~(size_t)15;
	if (image->used > V8_IMAGE_SZ)
		abort();
	return ret;
}

/* member: offset in the object behind a tagged word. */
V8_IMAGE_FN void v8_image__put(uint64_t object, uint32_t member, uint64_t value, size_t size)
{
	memcpy((void *)(object - 1 + member), &value, size);
}

V8_IMAGE_FN void v8_image__set(struct v8_image *image, uint64_t object, enum v8_field field,
			       uint64_t value)
{
	v8_image__put(object, image->layout.at[field], value, 8);
}

V8_IMAGE_FN uint64_t v8_image__small(int32_t value)
{
	return (uint64_t)(uint32_t)value << 32;
}

V8_IMAGE_FN uint64_t v8_image__map(struct v8_image *image, uint16_t type)
{
	uint64_t ret = v8_image__room(image, 32) + 1;

	v8_image__put(ret, image->layout.at[V8_MAP_TYPE], type, 2);
	return ret;
}

V8_IMAGE_FN uint64_t v8_image__object(struct v8_image *image, uint64_t map, size_t size)
{
	uint64_t ret = v8_image__room(image, size) + 1;

	v8_image__put(ret, 0, map, 8);
	return ret;
}

V8_IMAGE_FN uint64_t v8_image__text(struct v8_image *image, const char *text)
{
	uint64_t ret = v8_image__object(image, image->string_map, 16 + strlen(text) + 8);

	v8_image__put(ret, image->layout.at[V8_STRING_LENGTH], strlen(text), 4);
	memcpy((void *)(ret - 1 + image->layout.at[V8_STRING_ONE_BYTE]), text, strlen(text));
	return ret;
}

V8_IMAGE_FN uint64_t v8_image__bytes(struct v8_image *image, const void *bytes, size_t size)
{
	uint64_t ret = v8_image__object(image, image->maps[V8_TYPE_BYTES], 16 + size);

	v8_image__set(image, ret, V8_ARRAY_LENGTH, v8_image__small((int32_t)size));
	memcpy((void *)(ret - 1 + image->layout.at[V8_ARRAY_BEGIN]), bytes, size);
	return ret;
}

V8_IMAGE_FN uint64_t v8_image__array(struct v8_image *image, const uint64_t *words, size_t cnt)
{
	uint64_t ret = v8_image__object(image, image->maps[V8_TYPE_ARRAY], 16 + cnt * 8);

	v8_image__set(image, ret, V8_ARRAY_LENGTH, v8_image__small((int32_t)cnt));
	memcpy((void *)(ret - 1 + image->layout.at[V8_ARRAY_BEGIN]), words, cnt * 8);
	return ret;
}

/* A scope with these locals, a name and an inferred name (0: none), around it `outer` (0: none). */
V8_IMAGE_FN uint64_t v8_image__scope(struct v8_image *image, unsigned locals, uint64_t name,
				     uint64_t inferred, uint64_t outer)
{
	uint64_t ret = v8_image__object(image, image->maps[V8_TYPE_SCOPE], 8 * (12 + 2 * locals));
	uint64_t none = v8_image__object(image, image->maps[V8_TYPE_CODE], 16);
	unsigned at = 8;

	v8_image__put(ret, at, v8_image__small(77), 8);
	v8_image__put(ret, at += 8, v8_image__small(1), 8);
	v8_image__put(ret, at += 8, v8_image__small((int32_t)locals), 8);
	for (unsigned i = 0; i < locals; i++)
		v8_image__put(ret, at += 8, v8_image__text(image, "local"), 8);
	for (unsigned i = 0; i < locals; i++)
		v8_image__put(ret, at += 8, v8_image__small(4194240), 8);
	v8_image__put(ret, at += 8, name, 8);
	v8_image__put(ret, at += 8, v8_image__small(-1), 8);
	v8_image__put(ret, at += 8, inferred ? inferred : none, 8);
	v8_image__put(ret, at += 8, v8_image__small(10), 8);
	v8_image__put(ret, at += 8, v8_image__small(90), 8);
	v8_image__put(ret, at += 8, outer ? outer : none, 8);
	return ret;
}

V8_IMAGE_FN uint64_t v8_image__script(struct v8_image *image, const char *path, uint64_t source,
				      uint64_t line_ends)
{
	uint64_t ret = v8_image__object(image, image->maps[V8_TYPE_SCRIPT], 96);

	v8_image__set(image, ret, V8_SCRIPT_NAME, v8_image__text(image, path));
	v8_image__set(image, ret, V8_SCRIPT_SOURCE, source);
	v8_image__set(image, ret, V8_SCRIPT_LINE_ENDS, line_ends);
	return ret;
}

/* Bytecodes of two bytes each; positions: the table. */
V8_IMAGE_FN uint64_t v8_image__bytecode(struct v8_image *image, unsigned cnt, uint64_t positions)
{
	uint64_t ret = v8_image__object(image, image->maps[V8_TYPE_BYTECODE],
					image->layout.at[V8_BYTECODE_BEGIN] + 2 * cnt);

	v8_image__set(image, ret, V8_ARRAY_LENGTH, v8_image__small((int32_t)(2 * cnt)));
	v8_image__set(image, ret, V8_BYTECODE_POSITIONS, positions);
	memset((void *)(ret - 1 + image->layout.at[V8_BYTECODE_BEGIN]), 7, 2 * (size_t)cnt);
	return ret;
}

V8_IMAGE_FN uint64_t v8_image__shared(struct v8_image *image, uint64_t name, uint64_t data,
				      uint64_t script)
{
	uint64_t ret = v8_image__object(image, image->maps[V8_TYPE_SHARED], 64);

	v8_image__set(image, ret, V8_SHARED_NAME, name);
	v8_image__set(image, ret, V8_SHARED_DATA, data);
	v8_image__set(image, ret, V8_SHARED_SCRIPT, script);
	return ret;
}

V8_IMAGE_FN uint64_t v8_image__function(struct v8_image *image, uint64_t shared, uint64_t code)
{
	uint64_t ret = v8_image__object(image, image->maps[V8_TYPE_FUNCTION_FIRST], 64);

	v8_image__set(image, ret, V8_FUNCTION_SHARED, shared);
	v8_image__set(image, ret, V8_FUNCTION_CODE, code);
	return ret;
}

/* Code with `size` bytes of instructions at the returned *ret_begin, behind a stream's header. */
V8_IMAGE_FN uint64_t v8_image__code(struct v8_image *image, uint32_t kind, uint32_t size,
				    uint64_t positions, uint64_t deopt, uint64_t *ret_begin)
{
	uint64_t ret = v8_image__object(image, image->maps[V8_TYPE_CODE], 64);
	uint64_t stream = v8_image__object(image, image->maps[V8_TYPE_STREAM], 16 + size);

	v8_image__put(stream, 8, ret, 8);
	*ret_begin = stream - 1 + 16;
	memset((void *)*ret_begin, 0x90, size);
	v8_image__set(image, ret, V8_CODE_DEOPT, deopt);
	v8_image__set(image, ret, V8_CODE_POSITIONS, positions);
	v8_image__set(image, ret, V8_CODE_START, *ret_begin);
	v8_image__put(ret, image->layout.at[V8_CODE_FLAGS], kind, 4);
	v8_image__put(ret, image->layout.at[V8_CODE_SIZE], size, 4);
	return ret;
}

V8_IMAGE_FN struct v8_image *v8_image__new(void)
{
	static const struct {
		enum v8_field field;
		int32_t value;
	} rows[] = {
		{ V8_MAP_TYPE, 12 },	      { V8_FUNCTION_SHARED, 24 },
		{ V8_FUNCTION_CODE, 48 },     { V8_SHARED_NAME, 16 },
		{ V8_SHARED_DATA, 8 },	      { V8_SHARED_SCRIPT, 32 },
		{ V8_SCRIPT_NAME, 16 },	      { V8_SCRIPT_SOURCE, 8 },
		{ V8_SCRIPT_LINE_ENDS, 56 },  { V8_BYTECODE_POSITIONS, 32 },
		{ V8_BYTECODE_BEGIN, 54 },    { V8_ARRAY_LENGTH, 8 },
		{ V8_ARRAY_BEGIN, 16 },	      { V8_STRING_LENGTH, 12 },
		{ V8_STRING_ONE_BYTE, 16 },   { V8_STRING_TWO_BYTE, 16 },
		{ V8_STRING_FIRST, 16 },      { V8_STRING_SECOND, 24 },
		{ V8_STRING_ACTUAL, 16 },     { V8_STRING_PARENT, 16 },
		{ V8_STRING_OFFSET, 24 },     { V8_STRING_DATA, 24 },
		{ V8_CODE_DEOPT, 16 },	      { V8_CODE_POSITIONS, 24 },
		{ V8_CODE_START, 40 },	      { V8_CODE_IS_POINTER, 1 },
		{ V8_CODE_SIZE, 56 },	      { V8_CODE_FLAGS, 48 },
		{ V8_STREAM_CODE, 8 },	      { V8_KIND_MASK, 15 },
		{ V8_KIND_BASELINE, 11 },     { V8_DEOPT_LITERALS, 2 },
		{ V8_DEOPT_SHARED, 6 },	      { V8_DEOPT_INLINING, 7 },
		{ V8_SCOPE_LOCAL_CNT, 2 },    { V8_SCOPE_LOCALS, 3 },
		{ V8_FP_FUNCTION, -16 },      { V8_FP_BYTECODE, -32 },
		{ V8_FP_OFFSET, -40 },	      { V8_STRING_FORM, 7 },
		{ V8_STRING_FORM_CONS, 1 },   { V8_STRING_FORM_THIN, 5 },
		{ V8_STRING_FORM_SLICED, 3 }, { V8_STRING_FORM_EXTERNAL, 2 },
		{ V8_STRING_WIDTH, 8 },	      { V8_STRING_WIDTH_ONE, 8 },
		{ V8_TAGGED_SIZE, 8 },
	};
	struct v8_image *ret = calloc(1, sizeof(*ret));

	ret->bytes = malloc(V8_IMAGE_SZ);
	memset(ret->bytes, 0, V8_IMAGE_SZ); /* touches each page, so that it exists */
	for (unsigned i = 0; i < V8_FIELD_CNT; i++)
		ret->layout.at[i] = i < V8_STRING_FORM ? (int32_t)(200 + i) : 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		ret->layout.at[rows[i].field] = rows[i].value;
	ret->layout.at[V8_TYPE_NO_STRING] = 128;
	ret->layout.bytecode_cnt = 8;
	memset(ret->layout.sizes, 2, 8);
	for (unsigned i = 0; i < V8_STRING_FORM; i++)
		ret->maps[i] = v8_image__map(ret, (uint16_t)ret->layout.at[i]);
	ret->string_map = v8_image__map(ret, 8);
	ret->wide_map = v8_image__map(ret, 0);
	ret->reader =
		(struct language_reader){ .mem = target_memory__new(), .places = &ret->places };
	ret->state = language_v8.start(&ret->layout, 0, &ret->reader);
	return ret;
}

V8_IMAGE_FN void v8_image__free(struct v8_image *image)
{
	language_v8.end(image->state);
	frame_places__free(&image->places);
	target_memory__free(image->reader.mem);
	free(image->bytes);
	free(image);
}

/* As language__read does for a stack of one frame. NULL: it has no name. */
V8_IMAGE_FN const struct frame_place *v8_image__read(struct v8_image *image,
						     const struct native_frame *frame)
{
	bool named = false;
	uint64_t key = 0;

	target_memory__begin(image->reader.mem, "/proc", getpid());
	for (unsigned round = 0; round < 16; round++) {
		if (round && !target_memory__fetch(image->reader.mem))
			break;
		image->reader.later = false;
		named = language_v8.place(image->state, frame, &key);
		if (!image->reader.later)
			return named ? frame_places__find(&image->places, key) : NULL;
	}
	return NULL;
}

#endif
