/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader of V8's frames: function, script and line, from a process's memory. All of V8's code keeps
 * a frame pointer, and below it the function. Objects are checked by their types, and a function
 * against the code or bytecode of its frame, because the garbage collector may have moved it since
 * the sample: then the frame has no name. Used on the symbolizer's thread only.
 */
#ifndef JANK_SYMBOL_LANGUAGES_V8_H
#define JANK_SYMBOL_LANGUAGES_V8_H

#include "symbol/languages/frame_places.h"
#include "symbol/languages/language.h"
#include "symbol/languages/target_memory.h"
#include "symbol/languages/v8_layout.h"
#include <stdbool.h>
#include <stdint.h>

struct v8_script;

#define V8_CODES	 32
#define V8_OWNERS	 256 /* a power of two */
#define V8_PENDING	 64
#define V8_BASELINE_CODE 8 /* of BaselineData (V8 9.4): the code, then the bytecode */

/* Which function (SharedFunctionInfo) a BytecodeArray belongs to. */
struct v8_owner {
	uint64_t bytecode, shared;
};

/* A place in a BytecodeArray, or in baseline code of one, without a known owner. */
struct v8_pending {
	uint64_t bytecode, code, offset, key;
};

/* The heap of a process. */
struct v8 {
	const struct v8_layout *layout;
	struct language_reader *reader;
	struct v8_script *scripts; /* those with line tables, by address */
	size_t script_bytes;
	uint64_t codes[V8_CODES]; /* code that its function does not lead to: a ring of Code */
	unsigned code_at;
	struct v8_owner owners[V8_OWNERS];
	struct v8_pending pending[V8_PENDING]; /* a ring */
	unsigned pending_at;
};

/*
 * --- v8_object.c: objects. A tagged word is a pointer plus 1, or a small integer in the upper
 * half. Without memory (see reader->later) a word is 0, and a type fits.
 */

static inline bool v8__is_small(uint64_t word)
{
	return !(word & UINT32_MAX);
}

static inline int32_t v8__small(uint64_t word)
{
	return (int32_t)(word >> 32);
}

#define V8_ADDRESS_END (1ull << 48) /* of a program, on arm64; on x86-64 the half of it */

static inline bool v8__may_be_object(uint64_t word)
{
	return (word & 3) == 1 && word >> 20 && word < V8_ADDRESS_END;
}

/*
 * Where an object is now. When the garbage collector moves it, the address of the copy takes the
 * place of its map (MapWord in objects/objects.h). These refer to the old place: a frame as it was
 * copied, code that nobody uses any more, and anything while the collector is at work.
 */
uint64_t v8__moved(struct v8 *v8, uint64_t object);

/* True if an object is there, of any type. */
bool v8__is_object(struct v8 *v8, uint64_t object);

/* A member at a field's offset in the object behind a tagged word. */
uint64_t v8__member(struct v8 *v8, uint64_t object, enum v8_field field);
uint64_t v8__word(struct v8 *v8, uint64_t addr);
uint32_t v8__half(struct v8 *v8, uint64_t addr);

/* True if the tagged word points to an object of a type from the first to the last field. */
bool v8__is(struct v8 *v8, uint64_t object, enum v8_field first, enum v8_field last);

static inline bool v8__is_a(struct v8 *v8, uint64_t object, enum v8_field type)
{
	return v8__is(v8, object, type, type);
}

bool v8__is_string(struct v8 *v8, uint64_t object);
bool v8__is_bytes(struct v8 *v8, uint64_t object); /* a ByteArray */
bool v8__is_array(struct v8 *v8, uint64_t object); /* a FixedArray of any kind */

/* The element of an array; 0: beyond its end. */
uint64_t v8__element(struct v8 *v8, uint64_t array, uint64_t index);
uint64_t v8__length(struct v8 *v8, uint64_t array);

/* Copies a string in UTF-8, cut at cap - 1 bytes. Returns its length; 0: empty, or no string. */
size_t v8__text(struct v8 *v8, uint64_t string, char *buf, size_t cap);

/* A string's characters in one piece. Returns false when they are not. */
struct v8_chars {
	uint64_t addr;
	uint32_t cnt;
	uint8_t width; /* bytes */
};
bool v8__chars(struct v8 *v8, uint64_t string, struct v8_chars *ret);

/* --- v8_bytecode.c */

/* True for a SharedFunctionInfo of a function with a script: the built-in ones have none. */
bool v8__is_scripted(struct v8 *v8, uint64_t shared);

/* The BytecodeArray of a function, or of its data or baseline code; another object: it has none. */
uint64_t v8__bytecode_of(struct v8 *v8, uint64_t shared);
uint64_t v8__bytecode_in(struct v8 *v8, uint64_t data);

/* Remembers the owner of an array; finds it again, if it still is. 0: not known. */
void v8_bytecode__learn(struct v8 *v8, uint64_t bytecode, uint64_t shared);
uint64_t v8_bytecode__owner(struct v8 *v8, uint64_t bytecode);

/*
 * --- v8_function.c: the name of a function (SharedFunctionInfo) in UTF-8, and its script. Returns
 * false when it cannot be read now. "": it has none.
 */

#define V8_NAME_MAX 256

bool v8_function__name(struct v8 *v8, uint64_t shared, char *buf, size_t cap);

/* Where its parameters begin in the source, plus 1; 0: not known. */
uint32_t v8_function__begin(struct v8 *v8, uint64_t shared);

/* --- v8_script.c: files and lines */

/* Copies the path of the function's script, without "file://"; "": none. */
void v8_script__path(struct v8 *v8, uint64_t shared, char *buf, size_t cap);

uint64_t v8_script__source(struct v8 *v8, uint64_t shared); /* a string; 0: none */

/* The line of a position in the function's script, from 1; 0: not known. */
uint32_t v8_script__line(struct v8 *v8, uint64_t shared, uint32_t position);

void v8_scripts__free(struct v8 *v8);

/* --- v8_positions.c: tables of positions.  */

/* A position in the source: 0: not known. inlining: number of the inlining, from 1; 0: none. */
struct v8_position {
	uint32_t offset; /* plus 1 */
	uint16_t inlining;
};

/* The entry of a table (a ByteArray) for an offset in code or bytecode. */
struct v8_position v8_positions__find(struct v8 *v8, uint64_t table, uint64_t offset);
struct v8_position v8_position__of(uint64_t value);

/*
 * The offset in the bytecode for an offset in baseline code; UINT32_MAX: not known. table: of the
 * code, a ByteArray.
 */
uint32_t v8_baseline__bytecode(struct v8 *v8, uint64_t table, uint64_t bytecode, uint64_t offset);

#endif
