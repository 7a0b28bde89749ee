/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names and lines of Ruby's methods and blocks, of the iseq and pc of each frame. See ruby.h.
 *
 * Offsets of rb_iseq_constant_body and of the table of lines are those of vm_core.h and iseq.c of
 * 3.1 to 3.4. An iseq is freed when its code is gone, and another object may be at its place: a
 * name needs an object of that type whose instructions contain the pc.
 */
#include "symbol/languages/ruby.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "base/clock.h"

#define NAME_MAX_SZ 256
#define FRESH_NS    (100 * NS_PER_MS) /* an iseq is not checked again within this time */
#define TYPE(flags) ((flags)&0x1f)
#define TYPE_STRING 5
#define TYPE_ARRAY  7
#define TYPE_IMEMO  0x1a
#define IMEMO_ISEQ  7
#define STRING_LONG (1u << 13)
#define SHORT_SHIFT 14 /* length of a short String of 3.1, in its flags */

#define BODY_AT	     16 /* in rb_iseq_t */
#define SIZE_AT	     4	/* in rb_iseq_constant_body: number of words of code */
#define CODE_AT	     8
#define PATH_AT	     64 /* a String, or an Array with the String first */
#define NAME_AT	     72 /* of the method that contains the code */
#define LINES_BEFORE 48 /* bytes before `parent`: entries, positions, number, index */
#define BODY_SZ	     192

#define ELEMENTS_AT 16 /* of a short Array */
#define ENTRY_SZ    12
#define INDEX_BEGIN 54 /* positions in the first part of the index: 9 a word, 7 bits each */
#define BLOCK_BITS  512
#define BLOCK_SZ    80 /* rank; ranks of 64 bits each, 9 bits; bits */

int ruby__text(const struct ruby_offsets *offsets, const struct heap_memory *mem, uint64_t string,
	       char *ret, size_t cap)
{
	uint64_t head[4], len, text;
	int res = heap_memory__read(mem, string, head, sizeof(head));

	*ret = '\0';
	if (res)
		return res;
	if (TYPE(head[0]) != TYPE_STRING)
		return -EINVAL;
	len = head[0] & STRING_LONG || offsets->text != 16 ? head[2]
							   : head[0] >> SHORT_SHIFT & 0x1f;
	text = head[0] & STRING_LONG ? head[3] : string + offsets->text;
	if (len > cap - 1)
		len = cap - 1;
	res = heap_memory__read(mem, text, ret, len);
	ret[res ? 0 : len] = '\0';
	return res;
}

/* --- lines */

static uint64_t bits(uint64_t word, unsigned at, unsigned cnt)
{
	return word >> at & ((1ull << cnt) - 1);
}

/*
 * The number of entries up to a position, by the succinct index (succ_index_lookup of iseq.c). 0 or
 * -errno.
 */
static int entries_up_to(const struct heap_memory *mem, uint64_t index, uint32_t position,
			 uint32_t *ret)
{
	uint64_t word, block[BLOCK_SZ / 8], at;
	unsigned part, bit;
	int res;

	if (position < INDEX_BEGIN) {
		res = heap_memory__word(mem, index + position / 9 * 8, &word);
		*ret = (uint32_t)bits(word, position % 9 * 7, 7);
		return res;
	}
	position -= INDEX_BEGIN;
	at = index + INDEX_BEGIN / 9 * 8 + (uint64_t)position / BLOCK_BITS * BLOCK_SZ;
	part = position % BLOCK_BITS / 64;
	bit = position % 64;
	res = heap_memory__read(mem, at, block, sizeof(block));
	if (res)
		return res;
	*ret = (uint32_t)block[0] + (part ? (uint32_t)bits(block[1], (part - 1) * 9, 9) : 0) +
	       (uint32_t)__builtin_popcountll(block[2 + part] << (63 - bit));
	return 0;
}

struct body {
	uint64_t address;
	union {
		uint8_t bytes[BODY_SZ];
		uint64_t words[BODY_SZ / 8];
	};
};

static uint32_t half_at(const struct body *body, size_t at)
{
	uint32_t ret;

	memcpy(&ret, body->bytes + at, sizeof(ret));
	return ret;
}

/* 0: not known. The pc of a frame is at the next instruction, except at the begin. */
static uint32_t line_of(const struct ruby_offsets *offsets, const struct heap_memory *mem,
			const struct body *body, uint64_t pc)
{
	size_t at = offsets->parent - LINES_BEFORE;
	uint64_t entries = body->words[at / 8], index = body->words[at / 8 + 3];
	uint32_t cnt = half_at(body, at + 16), position = (pc - body->words[CODE_AT / 8]) / 8, nr;
	uint32_t line;

	position -= position != 0;
	if (cnt == 1)
		nr = 1;
	else if (!cnt || !index || entries_up_to(mem, index, position, &nr))
		return 0;
	if (!nr || nr > cnt ||
	    heap_memory__read(mem, entries + (uint64_t)(nr - 1) * ENTRY_SZ, &line, sizeof(line)))
		return 0;
	return line <= INT32_MAX ? line : 0;
}

/* --- names */

/* Reads the body of an iseq whose code contains the pc. 0; -EINVAL: it is none; or -errno. */
static int read_body(const struct heap_memory *mem, uint64_t iseq, uint64_t pc, struct body *ret)
{
	uint64_t head[3], code;
	int res = heap_memory__read(mem, iseq, head, sizeof(head));

	if (res)
		return res;
	if (TYPE(head[0]) != TYPE_IMEMO || bits(head[0], 12, 4) != IMEMO_ISEQ)
		return -EINVAL;
	ret->address = head[BODY_AT / 8];
	res = heap_memory__read(mem, ret->address, ret->bytes, sizeof(ret->bytes));
	if (res)
		return res;
	code = ret->words[CODE_AT / 8];
	return pc >= code && pc - code <= 8ull * half_at(ret, SIZE_AT) ? 0 : -EINVAL;
}

static int read_path(const struct ruby_offsets *offsets, const struct heap_memory *mem,
		     uint64_t path, char ret[NAME_MAX_SZ])
{
	uint64_t flags;
	int res = heap_memory__word(mem, path, &flags);

	if (!res && TYPE(flags) == TYPE_ARRAY)
		res = heap_memory__word(mem, path + ELEMENTS_AT, &path);
	return res ?: ruby__text(offsets, mem, path, ret, NAME_MAX_SZ);
}

static void add_place(struct ruby *ruby, const struct heap_memory *mem, const struct body *body,
		      uint64_t pc, uint64_t key)
{
	char name[NAME_MAX_SZ], path[NAME_MAX_SZ];
	struct place_function function = { .function = name, .file = path };

	if (ruby__text(ruby->offsets, mem, body->words[NAME_AT / 8], name, sizeof(name)) ||
	    read_path(ruby->offsets, mem, body->words[PATH_AT / 8], path) || !*name)
		return;
	function.line = line_of(ruby->offsets, mem, body, pc);
	frame_places__add(&ruby->places, key, &function, 1);
}

/* Of what tells code from later code at its address. */
static uint64_t stamp_of(const struct body *body)
{
	const uint64_t words[] = { body->address, half_at(body, SIZE_AT), body->words[CODE_AT / 8],
				   body->words[PATH_AT / 8], body->words[NAME_AT / 8] };

	return XXH64(words, sizeof(words), 0);
}

/* The key of a place; 0: the iseq has no such code. Reads the iseq if that was not done lately. */
static uint64_t key_of(struct ruby *ruby, const struct heap_memory *mem, uint64_t iseq, uint64_t pc)
{
	struct ruby_seen *seen = &ruby->seen[iseq / 8 % RUBY_SEEN];
	uint64_t key[3] = { iseq, pc }, now = clock__mono_ns(), ret;
	struct body body;
	int res;

	key[2] = seen->stamp;
	ret = XXH64(key, sizeof(key), 0) | 1;
	if (seen->iseq == iseq && now - seen->checked_ns < FRESH_NS &&
	    frame_places__find(&ruby->places, ret))
		return ret;
	res = read_body(mem, iseq, pc, &body);
	if (res == -ESRCH && seen->iseq == iseq) /* the process has ended: what is known */
		return ret;
	if (res)
		return 0;
	key[2] = stamp_of(&body);
	*seen = (struct ruby_seen){ iseq, key[2], now };
	ret = XXH64(key, sizeof(key), 0) | 1;
	if (!frame_places__find(&ruby->places, ret))
		add_place(ruby, mem, &body, pc, ret);
	return ret;
}

void ruby__name(void *state, const struct heap_memory *mem, struct pool *pool,
		const struct jank_script_frame *from, struct frame *ret)
{
	struct ruby *ruby = state;
	uint64_t key = key_of(ruby, mem, from->code, from->instr);
	const struct frame_place *place = key ? frame_places__find(&ruby->places, key) : NULL;

	*ret = (struct frame){ .address = from->instr, .module = "[ruby]", .language = "ruby" };
	if (!place)
		return;
	ret->function =
		pool__add(pool, place->functions[0].function, strlen(place->functions[0].function));
	ret->file = pool__add(pool, place->functions[0].file, strlen(place->functions[0].file));
	ret->module = ret->file ?: ret->module;
	ret->line = ret->file ? place->functions[0].line : 0;
	ret->app = ret->function != NULL; /* script_owner.h tells the owner */
}
