/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads page by page. A str stores 1, 2 or 4 bytes per character, as its largest character needs.
 */
#include "symbol/languages/python.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "bpf/jank_abi.h"
#include "files/proc.h"

#define CHARS_MAX 4096

/* Bits of a str's state. The lowest 2 bits say whether it is interned. */
#define STATE_KIND(state) ((state) >> 2 & 7)
#define STATE_COMPACT	  (1u << 5)
#define STATE_ASCII	  (1u << 6)

static void add_utf8(struct strbuf *sb, uint32_t c)
{
	if (c < 0x80) {
		strbuf__addc(sb, c);
	} else if (c < 0x800) {
		strbuf__addc(sb, 0xc0 | c >> 6);
		strbuf__addc(sb, 0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		strbuf__addc(sb, 0xe0 | c >> 12);
		strbuf__addc(sb, 0x80 | (c >> 6 & 0x3f));
		strbuf__addc(sb, 0x80 | (c & 0x3f));
	} else {
		strbuf__addc(sb, 0xf0 | (c >> 18 & 7));
		strbuf__addc(sb, 0x80 | (c >> 12 & 0x3f));
		strbuf__addc(sb, 0x80 | (c >> 6 & 0x3f));
		strbuf__addc(sb, 0x80 | (c & 0x3f));
	}
}

static uint32_t char_at(const uint8_t *data, unsigned size, size_t i)
{
	uint32_t four;
	uint16_t two;

	if (size == 1)
		return data[i];
	if (size == 2) {
		memcpy(&two, data + i * 2, sizeof(two));
		return two;
	}
	memcpy(&four, data + i * 4, sizeof(four));
	return four;
}

static int to_utf8(const uint8_t *data, unsigned size, size_t cnt, char **ret)
{
	struct strbuf sb = STRBUF_INIT;
	uint32_t c;

	strbuf__adds(&sb, "");
	for (size_t i = 0; i < cnt; i++) {
		c = char_at(data, size, i);
		if (!c)
			break;
		/*
		 * Half a surrogate pair stands for a byte that was not UTF-8: a path may contain
		 * any byte.
		 */
		add_utf8(&sb, c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c);
	}
	*ret = sb.failed ? NULL : strdup(strbuf__str(&sb));
	strbuf__free(&sb);
	return *ret ? 0 : -ENOMEM;
}

int python__text(const struct heap_memory *mem, const struct python_offsets *offsets, uint64_t addr,
		 char **ret)
{
	uint8_t head[64], data[CHARS_MAX * 4];
	uint64_t length;
	uint32_t state;
	unsigned size;
	int res;

	if (offsets->unicode.length + sizeof(length) > sizeof(head) ||
	    offsets->unicode.state + sizeof(state) > sizeof(head))
		return -EINVAL;
	res = heap_memory__read(mem, addr, head,
				offsets->unicode.ascii_sz < sizeof(head) ? offsets->unicode.ascii_sz
									 : sizeof(head));
	if (res)
		return res;
	memcpy(&length, head + offsets->unicode.length, sizeof(length));
	memcpy(&state, head + offsets->unicode.state, sizeof(state));
	size = STATE_KIND(state);
	if (!(state & STATE_COMPACT) || (size != 1 && size != 2 && size != 4))
		return -EINVAL;
	if (length > CHARS_MAX)
		length = CHARS_MAX;
	addr += state & STATE_ASCII ? offsets->unicode.ascii_sz : offsets->unicode.compact_sz;
	res = length ? heap_memory__read(mem, addr, data, length * size) : 0;
	return res ?: to_utf8(data, size, length, ret);
}

int python__bytes(const struct heap_memory *mem, const struct python_offsets *offsets,
		  uint64_t addr, size_t max, uint8_t **ret, size_t *ret_size)
{
	uint64_t size;
	uint8_t *data;
	int res = heap_memory__word(mem, addr + offsets->bytes.size, &size);

	if (res)
		return res;
	if (!size || size > max)
		return -EINVAL;
	data = malloc(size);
	if (!data)
		return -ENOMEM;
	res = heap_memory__read(mem, addr + offsets->bytes.data, data, size);
	if (res) {
		free(data);
		return res;
	}
	*ret = data;
	*ret_size = size;
	return 0;
}

/*
 * Offsets from the headers of 3.11.2, 3.12.1 and 3.13.0. A wrong offset is detected: see
 * python.c.
 */

#define MINOR(version) ((version) >> 16)
#define OFFSET_MAX     (1u << 20)

#define IS_ENTRY	1 /* 3.11: is_entry */
#define OWNED_BY_CSTACK 3 /* since 3.12: owner */

static const struct python_offsets known[] = {
	{
		.version = 0x030b0000,
		.interpreters_head = 40,
		.interp_next = 0,
		.threads_head = 16,
		.tstate = { .next = 8, .interp = 16, .native_id = 160, .frame = 56, .cframe = 8 },
		.frame = { .code = 32,
			   .previous = 48,
			   .instr = 56,
			   .mark_at = 68,
			   .mark = IS_ENTRY },
		.code = { .units = 16,
			  .filename = 112,
			  .name = 120,
			  .qualname = 128,
			  .linetable = 136,
			  .first_line = 72,
			  .bytecode = 184 },
		.unicode = { .length = 16,
			     .hash = 24,
			     .state = 32,
			     .ascii_sz = 48,
			     .compact_sz = 72 },
		.bytes = { .size = 16, .data = 32 },
	},
	{
		.version = 0x030c0000,
		.interpreters_head = 40,
		.interp_next = 0,
		.threads_head = 72,
		.tstate = { .next = 8, .interp = 16, .native_id = 144, .frame = 56, .cframe = 0 },
		.frame = { .code = 0,
			   .previous = 8,
			   .instr = 56,
			   .mark_at = 70,
			   .mark = OWNED_BY_CSTACK,
			   .shim = true },
		.code = { .units = 16,
			  .filename = 112,
			  .name = 120,
			  .qualname = 128,
			  .linetable = 136,
			  .first_line = 68,
			  .bytecode = 192 },
		.unicode = { .length = 16,
			     .hash = 24,
			     .state = 32,
			     .ascii_sz = 40,
			     .compact_sz = 56 },
		.bytes = { .size = 16, .data = 32 },
	},
};

bool python_offsets__of(uint32_t version, struct python_offsets *ret)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (MINOR(known[i].version) != MINOR(version))
			continue;
		*ret = known[i];
		ret->version = version;
		return true;
	}
	return false;
}

bool python_offsets__told(uint32_t version)
{
	return MINOR(version) == 0x030d;
}

/* Index of each word of _Py_DebugOffsets that is used here. */
enum told {
	TOLD_COOKIE,
	TOLD_VERSION,
	TOLD_FREE_THREADED,
	TOLD_INTERPRETERS_HEAD = 5,
	TOLD_INTERP_NEXT = 8,
	TOLD_THREADS_HEAD,
	TOLD_TSTATE_NEXT = 21,
	TOLD_TSTATE_INTERP,
	TOLD_CURRENT_FRAME,
	TOLD_NATIVE_ID = 25,
	TOLD_PREVIOUS = 29,
	TOLD_EXECUTABLE,
	TOLD_INSTR,
	TOLD_OWNER = 33,
	TOLD_FILENAME = 35,
	TOLD_NAME,
	TOLD_QUALNAME,
	TOLD_LINETABLE,
	TOLD_FIRST_LINE,
	TOLD_BYTECODE = 43,
	TOLD_BYTES_SIZE = 65,
	TOLD_BYTES_DATA,
	TOLD_UNICODE_STATE = 68,
	TOLD_UNICODE_LENGTH,
	TOLD_ASCII_SZ,
	TOLD_CNT,
};

static bool is_word_of(uint32_t at, uint32_t size)
{
	return at % 8 == 0 && at + 8 <= size;
}

/*
 * The probes read only words, and only the first bytes of a frame. They read the line and the name
 * in one piece.
 */
static bool fits_probes(const struct python_offsets *offsets)
{
	uint32_t begin = python_offsets__code_at(offsets);

	return is_word_of(offsets->frame.code, JANK_SCRIPT_FRAME_SZ) &&
	       is_word_of(offsets->frame.previous, JANK_SCRIPT_FRAME_SZ) &&
	       is_word_of(offsets->frame.instr, JANK_SCRIPT_FRAME_SZ) &&
	       offsets->frame.mark_at < JANK_SCRIPT_FRAME_SZ && offsets->code.name >= begin &&
	       offsets->code.first_line % 4 == 0 &&
	       is_word_of(offsets->code.name - begin, JANK_SCRIPT_CODE_SZ) && begin <= UINT16_MAX &&
	       offsets->unicode.hash <= UINT16_MAX && offsets->tstate.frame <= UINT16_MAX &&
	       offsets->tstate.native_id <= UINT16_MAX;
}

uint32_t python_offsets__code_at(const struct python_offsets *offsets)
{
	return offsets->code.first_line & ~7u;
}

bool python_offsets__read(const uint8_t told[SCRIPT_OFFSETS_SZ], uint32_t version,
			  struct python_offsets *ret)
{
	uint64_t words[SCRIPT_OFFSETS_SZ / 8];

	memcpy(words, told, sizeof(words));
	if (memcmp(told, "xdebugpy", 8) || words[TOLD_VERSION] != version ||
	    words[TOLD_FREE_THREADED])
		return false;
	for (size_t i = TOLD_FREE_THREADED; i < TOLD_CNT; i++)
		if (words[i] > OFFSET_MAX)
			return false;
	*ret = (struct python_offsets){
		.version = version,
		.interpreters_head = words[TOLD_INTERPRETERS_HEAD],
		.interp_next = words[TOLD_INTERP_NEXT],
		.threads_head = words[TOLD_THREADS_HEAD],
		.tstate = { .next = words[TOLD_TSTATE_NEXT],
			    .interp = words[TOLD_TSTATE_INTERP],
			    .native_id = words[TOLD_NATIVE_ID],
			    .frame = words[TOLD_CURRENT_FRAME],
			    .direct = true },
		.frame = { .code = words[TOLD_EXECUTABLE],
			   .previous = words[TOLD_PREVIOUS],
			   .instr = words[TOLD_INSTR],
			   .mark_at = words[TOLD_OWNER],
			   .mark = OWNED_BY_CSTACK,
			   .shim = true },
		.code = { .units = words[TOLD_BYTES_SIZE],
			  .filename = words[TOLD_FILENAME],
			  .name = words[TOLD_NAME],
			  .qualname = words[TOLD_QUALNAME],
			  .linetable = words[TOLD_LINETABLE],
			  .first_line = words[TOLD_FIRST_LINE],
			  .bytecode = words[TOLD_BYTECODE] },
		.unicode = { .length = words[TOLD_UNICODE_LENGTH],
			     .hash = words[TOLD_UNICODE_LENGTH] + 8,
			     .state = words[TOLD_UNICODE_STATE],
			     .ascii_sz = words[TOLD_ASCII_SZ],
			     .compact_sz = words[TOLD_ASCII_SZ] + 16 },
		.bytes = { .size = words[TOLD_BYTES_SIZE], .data = words[TOLD_BYTES_DATA] },
	};
	return fits_probes(ret);
}
