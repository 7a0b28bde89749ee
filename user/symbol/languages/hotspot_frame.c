/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The methods of a frame: in the interpreter, or in compiled code. See hotspot.h. */
#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>

#include "symbol/languages/hotspot.h"

/*
 * Word of an interpreter's frame: below the frame pointer (cpu/x86/frame_x86.hpp in OpenJDK,
 * cpu/aarch64/frame_aarch64.hpp).
 */
#define WORD_METHOD 2

/* A frame: where it is in a method, or in code with several ones. */
struct spot {
	struct hs_code code; /* begin 0: in the interpreter */
	struct hs_method method;
	uint32_t bci;
	bool stub; /* HotSpot's own code, not that of a method */
};

/* Keys of places without a method. */
#define KEY_STUB	1
#define KEY_INTERPRETER 2

/* What identifies a place: hashed as bytes. */
struct place_key {
	uint64_t method, at;
	uint64_t constant, pool, code; /* of the interpreter */
	uint64_t begin, pcs, id;       /* of compiled code */
};

/* --- the interpreter */

static bool is_in_code(const struct hs_method *method, uint64_t bytecode)
{
	return bytecode - method->code < method->code_size;
}

/*
 * The position is in a register while bytecode runs, else in the frame: both are checked. A native
 * method has none.
 */
static bool find_interpreted(struct hotspot *hs, const struct native_frame *frame, struct spot *ret)
{
	uint64_t bytecode = frame->words[hs->layout->bytecode_word];

	ret->stub = true;	  /* without a method: it is only entered or left */
	hs__ask(hs, bytecode, 1); /* near the ConstMethod */
	if (!frame->fp || frame->borrowed ||
	    !hs_method__read(hs, frame->words[WORD_METHOD], &ret->method))
		return false;
	if (frame->exact && is_in_code(&ret->method, frame->bytecode))
		bytecode = frame->bytecode;
	ret->bci = (uint32_t)(bytecode - ret->method.code);
	return ret->method.native || is_in_code(&ret->method, bytecode);
}

/* --- compiled code */

static bool find_compiled(struct hotspot *hs, const struct native_frame *frame, struct spot *ret)
{
	enum hs_code_kind kind = hs_code__find(hs, frame->pc - !frame->exact, &ret->code);

	ret->stub = kind == HS_CODE_STUB;
	ret->method.method = ret->code.method;
	return kind == HS_CODE_METHOD;
}

static uint64_t key_of(const struct native_frame *frame, const struct spot *spot)
{
	struct place_key key = { .method = spot->method.method, .at = spot->bci };

	if (spot->code.begin) {
		key.at = frame->pc;
		key.begin = spot->code.begin;
		key.pcs = spot->code.pcs;
		key.id = (uint64_t)spot->code.id << 1 | frame->exact;
	} else {
		key.constant = spot->method.constant;
		key.pool = spot->method.pool;
		key.code = (uint64_t)spot->method.code_size << 32 | spot->method.name;
	}
	return XXH64(&key, sizeof(key), 0);
}

/* --- names */

struct texts {
	char names[PLACE_FUNCTIONS_MAX][HS_NAME_MAX], files[PLACE_FUNCTIONS_MAX][HS_FILE_MAX];
	struct place_function functions[PLACE_FUNCTIONS_MAX];
	uint32_t cnt;
};

/* Returns false when the scope has no method: then the whole place is wrong. */
static bool add(struct hotspot *hs, const struct hs_scope *scope, struct texts *to)
{
	char *name = to->names[to->cnt], *file = to->files[to->cnt];
	struct hs_method method;
	uint32_t line, other;

	if (!hs_method__read(hs, scope->method, &method))
		return false;
	if (!hs_method__name(hs, &method, name, file))
		return false;
	line = hs_method__line(hs, &method, scope->bci);
	other = scope->other == scope->bci ? line : hs_method__line(hs, &method, scope->other);
	to->functions[to->cnt++] = (struct place_function){
		.function = name,
		.file = *file ? file : NULL,
		.line = line == other ? line : 0,
	};
	return true;
}

/* All scopes are asked for, also when the first one has to wait for memory. */
static bool add_place(struct hotspot *hs, const struct native_frame *frame, const struct spot *spot,
		      struct texts *to)
{
	struct hs_scope scopes[HS_DEPTH_MAX] = { { spot->method.method, (int32_t)spot->bci,
						   (int32_t)spot->bci } };
	uint32_t cnt = 1;
	bool valid = true;

	to->cnt = 0;
	if (spot->code.begin)
		cnt = hs_scopes__find(hs, &spot->code, frame->pc, frame->exact, scopes);
	for (uint32_t i = 0; i < cnt && to->cnt < PLACE_FUNCTIONS_MAX; i++)
		valid &= add(hs, &scopes[i], to);
	return valid;
}

/* Returns false when the frame is none of HotSpot's own code either. */
static bool find_stub(struct hotspot *hs, const struct spot *spot, uint64_t *ret_key)
{
	const struct place_function function = { .function = spot->code.begin ? "HotSpot stub"
									      : "Interpreter",
						 .glue = true };

	*ret_key = spot->code.begin ? KEY_STUB : KEY_INTERPRETER;
	if (spot->stub && !frame_places__find(hs->reader->places, *ret_key))
		frame_places__add(hs->reader->places, *ret_key, &function, 1);
	return spot->stub;
}

static bool find_place(void *state, const struct native_frame *frame, uint64_t *ret_key)
{
	static _Thread_local struct texts texts; /* too large for a stack */
	struct hotspot *hs = state;
	struct spot spot = {};
	bool found;

	if (frame->in_file || !hs__load(hs))
		return false;
	if (frame->pc >= hs->interpreter && frame->pc < hs->interpreter_end)
		found = find_interpreted(hs, frame, &spot);
	else
		found = find_compiled(hs, frame, &spot);
	if (hs->reader->later)
		return false;
	if (!found)
		return find_stub(hs, &spot, ret_key);
	*ret_key = key_of(frame, &spot);
	if (frame_places__find(hs->reader->places, *ret_key))
		return true;
	if (!add_place(hs, frame, &spot, &texts) || hs->reader->later)
		return false;
	frame_places__add(hs->reader->places, *ret_key, texts.functions, texts.cnt);
	return true;
}

/* --- frames of compiled code and of stubs, but for the interpreter and glue, which have none */

#define FRAME_WORDS_MAX (1u << 16)

static uint32_t frame_size(void *state, uint64_t pc, uint64_t top, uint32_t *ret_saved)
{
	struct hotspot *hs = state;
	struct hs_code code;
	uint64_t words;

	if (!hs__load(hs) || hs_code__find(hs, pc, &code) == HS_CODE_NONE)
		return 0;
	words = hs__get(hs, code.blob, HS_BLOB_FRAME);
	if (!words && !hs->reader->later)
		return FRAME_BY_POINTER;
	return words < FRAME_WORDS_MAX ? (uint32_t)words * 8 : 0;
}

/* --- the language */

static int open_file(const struct elf *elf, void **ret)
{
	struct hs_layout *layout = calloc(1, sizeof(*layout));
	int res = layout ? hs_layout__read(elf, layout) : -ENOMEM;

	if (res)
		free(layout);
	else
		*ret = layout;
	return res;
}

static void *start(const void *file, uint64_t bias, struct language_reader *reader)
{
	struct hotspot *hs = calloc(1, sizeof(*hs));

	if (hs)
		*hs = (struct hotspot){ .layout = file, .reader = reader, .bias = bias };
	return hs;
}

static size_t bytes(const void *state)
{
	return sizeof(struct hotspot);
}

static void end(void *state)
{
	free(state);
}

const struct language language_hotspot = {
	.name = "java",
	.file = "jvm.so", /* as for the unwinder: java__is_machine */
	.open = open_file,
	.start = start,
	.place = find_place,
	.frame_size = frame_size,
	.bytes = bytes,
	.end = end,
};
