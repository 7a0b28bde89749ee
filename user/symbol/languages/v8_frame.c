/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of a frame. Below the frame pointer are the context, the function, and in bytecode
 * and baseline code the BytecodeArray (execution/frame-constants.h). A frame of another kind has a
 * number instead of the context.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "symbol/languages/v8.h"

#define FP_CONTEXT     (-8)
#define INLINING_SZ    16
#define CODE_MAX       (56u << 10) /* bytes of code before an address that are searched */
#define SEARCH_SZ      512	   /* bytes at once */
#define HEADERS_MAX    64	   /* places that may be a header, in one search */
#define SEARCHES_MAX   8	   /* of one stack */
#define INLINING_DEPTH (PLACE_FUNCTIONS_MAX - 1)

enum tier { TIER_UNKNOWN, TIER_BYTECODE, TIER_BASELINE, TIER_OPTIMISED };

/* What identifies a place: hashed as bytes. */
struct place_key {
	uint64_t function[4]; /* words of the SharedFunctionInfo, and its address */
	uint64_t code[4];     /* the same of the code or the BytecodeArray */
	uint64_t offset, tier;
};

/* A frame: where it is in its function's code. */
struct spot {
	uint64_t shared;
	enum tier tier;
	uint64_t code;	   /* or the BytecodeArray */
	uint64_t bytecode; /* of baseline code */
	uint64_t offset;
};

static uint64_t frame_word(const struct native_frame *frame, int32_t offset)
{
	unsigned i = (unsigned)(-offset / 8 - 1);

	return offset < 0 && i < NATIVE_WORDS ? frame->words[i] : 0;
}

static uint64_t word_of(const struct v8 *v8, const struct native_frame *frame, enum v8_field field)
{
	return frame_word(frame, v8->layout->at[field]);
}

/* --- code */

struct code {
	uint64_t object, begin;
	uint32_t size;
	enum tier tier;
};

static bool read_code(struct v8 *v8, uint64_t object, struct code *ret)
{
	const int32_t *at = v8->layout->at;
	int32_t kind;

	if (!v8__is_a(v8, object, V8_TYPE_CODE))
		return false;
	*ret = (struct code){ .object = object };
	ret->begin = object - 1 + at[V8_CODE_START];
	if (at[V8_CODE_IS_POINTER])
		ret->begin = v8__word(v8, ret->begin);
	ret->size = v8__half(v8, object - 1 + at[V8_CODE_SIZE]);
	kind = (int32_t)v8__half(v8, object - 1 + at[V8_CODE_FLAGS]) & at[V8_KIND_MASK];
	if (kind == at[V8_KIND_BASELINE])
		ret->tier = TIER_BASELINE;
	else
		ret->tier = kind > at[V8_KIND_BASELINE] ? TIER_OPTIMISED : TIER_BYTECODE;
	return true;
}

/* Returns true when the frame is in this code. A return address may be the code's end. */
static bool is_in(const struct code *code, const struct native_frame *frame)
{
	return frame->pc - !frame->exact - code->begin < code->size;
}

static bool is_code_of(struct v8 *v8, uint64_t object, const struct native_frame *frame,
		       struct code *ret)
{
	return read_code(v8, object, ret) && is_in(ret, frame);
}

/* True if a Code begins there, or a stream of instructions that points to its Code. */
static bool is_header(struct v8 *v8, uint64_t at, const struct native_frame *frame,
		      struct code *ret)
{
	if (!v8->layout->at[V8_CODE_IS_POINTER])
		return is_code_of(v8, at + 1, frame, ret);
	return v8__is_a(v8, at + 1, V8_TYPE_STREAM) &&
	       is_code_of(v8, v8__member(v8, at + 1, V8_STREAM_CODE), frame, ret);
}

/*
 * Searches the code below the frame's address for its header, which has two pointers. A hostile
 * program has more of them than code does.
 */
static bool search_code(struct v8 *v8, const struct native_frame *frame, struct code *ret)
{
	uint64_t at = (frame->pc - !frame->exact) & ~(uint64_t)(SEARCH_SZ - 1), next = 0;
	uint64_t words[SEARCH_SZ / 8];
	unsigned tried = 0;

	for (uint64_t end = at - CODE_MAX; at > end; at -= SEARCH_SZ) {
		enum target_read res =
			target_memory__read(v8->reader->mem, at, words, sizeof(words));

		v8->reader->later |= res == TARGET_LATER;
		for (unsigned i = SEARCH_SZ / 8; i--; next = words[i])
			if (v8__may_be_object(words[i]) && v8__may_be_object(next)) {
				if (is_header(v8, at + 8 * i, frame, ret))
					return true;
				if (++tried == HEADERS_MAX)
					return false;
			}
	}
	return false;
}

/*
 * The code of the frame. The function may have other code: what was made for one of its loops, or
 * newer code; and since V8 13 it has the number of an entry in a table.
 */
static bool find_code(struct v8 *v8, const struct native_frame *frame, uint64_t function,
		      uint64_t shared, struct code *ret)
{
	uint64_t data = shared ? v8__member(v8, shared, V8_SHARED_DATA) : 0;
	bool found;

	if (v8__is_a(v8, data, V8_TYPE_BASELINE_DATA))
		data = v8__word(v8, data - 1 + V8_BASELINE_CODE);
	if (is_code_of(v8, data, frame, ret) ||
	    (function && is_code_of(v8, v8__member(v8, function, V8_FUNCTION_CODE), frame, ret)))
		return true;
	for (unsigned i = 0; i < V8_CODES; i++)
		if (v8->codes[i] && is_code_of(v8, v8->codes[i], frame, ret))
			return true;
	if (v8->reader->later || v8->reader->searches >= SEARCHES_MAX)
		return false;
	found = search_code(v8, frame, ret);
	if (v8->reader->later)
		return false;
	v8->reader->searches++;
	if (!found)
		return false;
	v8->codes[v8->code_at++ % V8_CODES] = ret->object;
	return true;
}

/* --- the function against its frame */

/* A place in bytecode: in the interpreter, whose code all functions share. */
static bool find_bytecode(struct v8 *v8, const struct native_frame *frame, struct spot *ret)
{
	uint64_t offset = word_of(v8, frame, V8_FP_OFFSET);

	if (!ret->bytecode || !v8__is_small(offset))
		return false;
	/* From the tagged pointer to the array. */
	offset = (uint64_t)v8__small(offset) + 1 - v8->layout->at[V8_BYTECODE_BEGIN];
	if (offset >= v8__length(v8, ret->bytecode))
		return false;
	ret->tier = TIER_BYTECODE;
	ret->code = ret->bytecode;
	ret->offset = offset;
	return true;
}

/* The frame's function; 0: it is none, or something else lies there now. */
static uint64_t function_of(struct v8 *v8, const struct native_frame *frame)
{
	uint64_t ret = v8__moved(v8, word_of(v8, frame, V8_FP_FUNCTION));

	return v8__is(v8, ret, V8_TYPE_FUNCTION_FIRST, V8_TYPE_FUNCTION_LAST) ? ret : 0;
}

/* Element of the deoptimisation data of optimised code. */
static uint64_t deopt_element(struct v8 *v8, uint64_t code, enum v8_field index)
{
	uint64_t data = v8__member(v8, code, V8_CODE_DEOPT);

	return v8__is_array(v8, data) ? v8__element(v8, data, v8->layout->at[index]) : 0;
}

static uint64_t function_of_code(struct v8 *v8, uint64_t code)
{
	uint64_t ret = v8__moved(v8, deopt_element(v8, code, V8_DEOPT_SHARED));

	return v8__is_a(v8, ret, V8_TYPE_SHARED_WRAPPER)
		       ? v8__moved(v8, v8__member(v8, ret, V8_SHARED_WRAPPED))
		       : ret;
}

/*
 * Optimised code knows its function. The frame's may be another one: the collector moved it since,
 * or freed the code, and its place was used again.
 */
static bool take_function_of(struct v8 *v8, uint64_t code, struct spot *to)
{
	uint64_t shared = function_of_code(v8, code);

	if (to->shared && to->shared != shared)
		return false;
	to->shared = shared;
	return v8__is_scripted(v8, shared);
}

/* Baseline code has the BytecodeArray, if the frame's was moved since. */
static void take_bytecode_of(struct v8 *v8, uint64_t code, struct spot *to)
{
	uint64_t bytecode = v8__moved(v8, v8__bytecode_in(v8, code));

	if ((to->bytecode && to->shared) || !v8__is_a(v8, bytecode, V8_TYPE_BYTECODE))
		return;
	to->bytecode = bytecode;
	if (to->shared && v8__bytecode_of(v8, to->shared) == bytecode)
		v8_bytecode__learn(v8, bytecode, to->shared);
	else
		to->shared = v8_bytecode__owner(v8, bytecode);
}

/*
 * A place in code that was compiled for the function. Without the code, the place is not known, and
 * the function only if the frame has its BytecodeArray: another one may be where it was.
 */
static bool find_compiled(struct v8 *v8, const struct native_frame *frame, uint64_t function,
			  struct spot *ret)
{
	struct code code;

	if (!find_code(v8, frame, function, ret->shared, &code))
		return ret->shared && ret->bytecode;
	if (code.tier == TIER_BYTECODE) /* a copy of the interpreter's entry */
		return find_bytecode(v8, frame, ret);
	if (code.tier == TIER_OPTIMISED && !take_function_of(v8, code.object, ret))
		return false;
	if (code.tier == TIER_BASELINE)
		take_bytecode_of(v8, code.object, ret);
	if (code.tier == TIER_BASELINE && !ret->bytecode)
		return ret->shared;
	ret->tier = code.tier;
	ret->code = code.object;
	ret->offset = frame->pc - !frame->exact - code.begin;
	return true;
}

/*
 * Finds the frame's function, by its BytecodeArray if the collector has moved it. Returns false for
 * a built-in function, a frame of another kind, and one whose function has other bytecode now: one
 * of both is not what it was.
 */
static bool find_function(struct v8 *v8, const struct native_frame *frame, uint64_t *ret_function,
			  struct spot *ret)
{
	uint64_t bytecode = v8__moved(v8, word_of(v8, frame, V8_FP_BYTECODE));

	*ret_function = 0;
	if (frame->borrowed)
		return true;
	if (!(frame_word(frame, FP_CONTEXT) & 1))
		return false;
	*ret_function = function_of(v8, frame);
	ret->shared = *ret_function ? v8__member(v8, *ret_function, V8_FUNCTION_SHARED) : 0;
	if (ret->shared && !v8__is_scripted(v8, ret->shared))
		return false;
	/* Code that was made for a loop keeps the frame: the array says nothing of the code. */
	if (!v8__is_a(v8, bytecode, V8_TYPE_BYTECODE))
		return true;
	ret->bytecode = bytecode;
	if (ret->shared && v8__bytecode_of(v8, ret->shared) == bytecode) {
		v8_bytecode__learn(v8, bytecode, ret->shared);
		return true;
	}
	if (ret->shared)
		return false;
	ret->shared = v8_bytecode__owner(v8, bytecode);
	return true;
}

static bool find_spot(struct v8 *v8, const struct native_frame *frame, struct spot *ret)
{
	uint64_t function;

	*ret = (struct spot){};
	if (!find_function(v8, frame, &function, ret))
		return false;
	if (frame->in_file)
		return find_bytecode(v8, frame, ret) || (ret->shared && ret->bytecode);
	return find_compiled(v8, frame, function, ret);
}

static uint64_t key_of(struct v8 *v8, const struct spot *spot)
{
	struct place_key key = { .offset = spot->offset, .tier = spot->tier };

	if (spot->shared) {
		key.function[0] = spot->shared;
		key.function[1] = v8__member(v8, spot->shared, V8_SHARED_NAME);
		key.function[2] = v8__member(v8, spot->shared, V8_SHARED_DATA);
		key.function[3] = v8__member(v8, spot->shared, V8_SHARED_SCRIPT);
	}
	key.code[0] = spot->code;
	for (unsigned i = 1; spot->code && i < 4; i++)
		key.code[i] = v8__word(v8, spot->code - 1 + 8 * i);
	return XXH64(&key, sizeof(key), 0) ?: 1;
}

/* --- names */

struct texts {
	char names[PLACE_FUNCTIONS_MAX][V8_NAME_MAX], paths[PLACE_FUNCTIONS_MAX][2 * V8_NAME_MAX];
	struct place_function functions[PLACE_FUNCTIONS_MAX];
	uint32_t cnt;
	bool broken; /* the collector was at work */
};

static void add(struct v8 *v8, uint64_t shared, struct v8_position position, struct texts *to)
{
	char *name = to->names[to->cnt], *path = to->paths[to->cnt];

	to->broken |= !v8_function__name(v8, shared, name, V8_NAME_MAX);
	v8_script__path(v8, shared, path, 2 * V8_NAME_MAX);
	to->functions[to->cnt++] = (struct place_function){
		.function = *name ? name : NULL,
		.file = *path ? path : NULL,
		.line = position.offset ? v8_script__line(v8, shared, position.offset - 1) : 0,
	};
}

/* The function that the code's inlining `number` (from 1) has there, and where that is called. */
static uint64_t inlined(struct v8 *v8, const struct spot *spot, uint16_t number,
			struct v8_position *ret_caller)
{
	uint64_t table = deopt_element(v8, spot->code, V8_DEOPT_INLINING);
	uint64_t literals = deopt_element(v8, spot->code, V8_DEOPT_LITERALS);
	uint64_t at = table - 1 + v8->layout->at[V8_ARRAY_BEGIN] + INLINING_SZ * (number - 1u);
	int32_t id;

	if (!v8__is_bytes(v8, table) || INLINING_SZ * (uint64_t)number > v8__length(v8, table) ||
	    !v8__is_array(v8, literals))
		return 0;
	*ret_caller = v8_position__of(v8__word(v8, at));
	id = (int32_t)v8__half(v8, at + 8);
	if (id < 0)
		return spot->shared;
	/* Bit 1: a weak reference. */
	return v8__moved(v8, v8__element(v8, literals, (uint64_t)id) & ~2ull);
}

/*
 * Turbofan gives the function's begin to what belongs to no bytecode, such as an allocation's slow
 * path: then the line is not known.
 */
static void add_in_code(struct v8 *v8, uint64_t shared, struct v8_position position,
			struct texts *to)
{
	if (position.offset == v8_function__begin(v8, shared))
		position.offset = 0;
	add(v8, shared, position, to);
}

static void add_optimised(struct v8 *v8, const struct spot *spot, struct texts *to)
{
	uint64_t table = v8__member(v8, spot->code, V8_CODE_POSITIONS);
	struct v8_position position = v8_positions__find(v8, table, spot->offset);

	while (position.inlining && to->cnt < INLINING_DEPTH) {
		struct v8_position caller = {};
		uint64_t shared = inlined(v8, spot, position.inlining, &caller);

		/* The numbers of callers are smaller. */
		if (!v8__is_a(v8, shared, V8_TYPE_SHARED) || caller.inlining >= position.inlining) {
			to->cnt = 0;
			position = (struct v8_position){};
			break;
		}
		add_in_code(v8, shared, position, to);
		position = caller;
	}
	add_in_code(v8, spot->shared, position, to);
}

static void add_place(struct v8 *v8, const struct spot *spot, struct texts *to)
{
	struct v8_position position = {};
	uint64_t offset = spot->offset;

	if (spot->tier == TIER_OPTIMISED) {
		add_optimised(v8, spot, to);
		return;
	}
	if (spot->tier == TIER_BASELINE)
		offset = v8_baseline__bytecode(v8, v8__member(v8, spot->code, V8_CODE_POSITIONS),
					       spot->bytecode, offset);
	if (spot->tier != TIER_UNKNOWN && offset != UINT32_MAX)
		position = v8_positions__find(
			v8, v8__member(v8, spot->bytecode, V8_BYTECODE_POSITIONS), offset);
	add(v8, spot->shared, position, to);
}

/* Returns false when it lacks memory, or when a name could not be read: a later stack may. */
static bool name_place(struct v8 *v8, const struct spot *spot, uint64_t key)
{
	static _Thread_local struct texts texts; /* too large for a stack */

	texts.cnt = 0;
	texts.broken = false;
	add_place(v8, spot, &texts);
	if (v8->reader->later || texts.broken)
		return false;
	frame_places__add(v8->reader->places, key, texts.functions, texts.cnt);
	return true;
}

/*
 * Names the places that waited for the owner of this BytecodeArray. Another one may be there now:
 * code that is seldom used is freed. Then the key is another one.
 */
static void name_pending(struct v8 *v8, const struct spot *owner)
{
	for (unsigned i = 0; i < V8_PENDING; i++) {
		struct v8_pending *pending = &v8->pending[i];
		struct spot spot = {
			.tier = pending->code == pending->bytecode ? TIER_BYTECODE : TIER_BASELINE,
			.code = pending->code,
			.bytecode = pending->bytecode,
			.offset = pending->offset,
		};

		if (!pending->bytecode || pending->bytecode != owner->bytecode)
			continue;
		if (key_of(v8, &spot) == pending->key) {
			spot.shared = owner->shared;
			if (!name_place(v8, &spot, pending->key))
				continue;
		}
		if (!v8->reader->later)
			pending->bytecode = 0;
	}
}

static void note_pending(struct v8 *v8, const struct spot *spot, uint64_t key)
{
	for (unsigned i = 0; i < V8_PENDING; i++)
		if (v8->pending[i].key == key)
			return;
	v8->pending[v8->pending_at++ % V8_PENDING] =
		(struct v8_pending){ spot->bytecode, spot->code, spot->offset, key };
}

/* A place in bytecode without its function gets its name when another frame shows the owner. */
static bool find_place(void *state, const struct native_frame *frame, uint64_t *ret_key)
{
	struct v8 *v8 = state;
	struct spot spot;

	if (!find_spot(v8, frame, &spot))
		return false;
	*ret_key = key_of(v8, &spot);
	if (v8->reader->later)
		return false;
	if (!spot.shared) {
		note_pending(v8, &spot, *ret_key);
		return true;
	}
	name_pending(v8, &spot);
	return frame_places__find(v8->reader->places, *ret_key) || name_place(v8, &spot, *ret_key);
}

static int open_file(const struct elf *elf, void **ret)
{
	struct v8_layout *layout = calloc(1, sizeof(*layout));
	int res = layout ? v8_layout__read(elf, layout) : -ENOMEM;

	if (res)
		free(layout);
	else
		*ret = layout;
	return res;
}

static void *start(const void *file, uint64_t bias, struct language_reader *reader)
{
	struct v8 *v8 = calloc(1, sizeof(*v8));

	if (v8)
		*v8 = (struct v8){ .layout = file, .reader = reader };
	return v8;
}

static size_t bytes(const void *state)
{
	const struct v8 *v8 = state;

	return sizeof(*v8) + v8->script_bytes;
}

static void end(void *state)
{
	v8_scripts__free(state);
	free(state);
}

const struct language language_v8 = {
	.name = "javascript",
	.open = open_file,
	.start = start,
	.place = find_place,
	.bytes = bytes,
	.end = end,
};
