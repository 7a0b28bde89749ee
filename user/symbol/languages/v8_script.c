/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scripts: path, and the table of line ends, which V8 makes when it first needs a line. Else the
 * source itself is read, once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "symbol/languages/v8.h"

#define SOURCE_MAX  (8u << 20) /* characters of a source that is read */
#define LINES_MAX   (256u << 10)
#define SCRIPTS_MAX (4u << 20) /* bytes of line tables of a process; beyond it they are dropped */

struct v8_script {
	UT_hash_handle hh;
	struct script_key {
		uint64_t address, name, source, line_ends;
	} key; /* another script may lie there later */
	uint32_t cnt;
	uint32_t ends[]; /* positions of the ends of lines */
};

static uint64_t script_of(struct v8 *v8, uint64_t shared)
{
	uint64_t script = v8__member(v8, shared, V8_SHARED_SCRIPT);

	return v8__is(v8, script, V8_TYPE_SCRIPT, V8_TYPE_SCRIPT) ? script : 0;
}

void v8_script__path(struct v8 *v8, uint64_t shared, char *buf, size_t cap)
{
	static const char scheme[] = "file://";
	uint64_t script = script_of(v8, shared);
	size_t len = sizeof(scheme) - 1;

	buf[0] = '\0';
	if (!script)
		return;
	v8__text(v8, v8__member(v8, script, V8_SCRIPT_NAME), buf, cap);
	if (!strncmp(buf, scheme, len))
		memmove(buf, buf + len, strlen(buf) + 1 - len);
}

uint64_t v8_script__source(struct v8 *v8, uint64_t shared)
{
	uint64_t script = script_of(v8, shared);

	return script ? v8__member(v8, script, V8_SCRIPT_SOURCE) : 0;
}

void v8_scripts__free(struct v8 *v8)
{
	struct v8_script *script, *next;

	HASH_ITER (hh, v8->scripts, script, next) {
		HASH_DEL(v8->scripts, script);
		free(script);
	}
	v8->script_bytes = 0;
}

/* --- making a table */

struct lines {
	uint32_t *ends;
	size_t cnt, cap;
	bool failed;
};

static void add_end(struct lines *lines, uint32_t position)
{
	if (lines->cnt == lines->cap) {
		size_t cap = lines->cap ? 2 * lines->cap : 256;
		uint32_t *ends =
			cap <= LINES_MAX ? realloc(lines->ends, cap * sizeof(*ends)) : NULL;

		lines->failed |= !ends;
		if (!ends)
			return;
		lines->ends = ends;
		lines->cap = cap;
	}
	lines->ends[lines->cnt++] = position;
}

/* V8's table: small integers, in order. */
static void take_table(struct v8 *v8, uint64_t table, struct lines *lines)
{
	uint64_t cnt = v8__length(v8, table), begin = table - 1 + v8->layout->at[V8_ARRAY_BEGIN];
	uint64_t words[1024];

	lines->failed = v8->reader->later || !cnt || cnt > LINES_MAX;
	for (uint64_t i = 0; i < cnt && !lines->failed; i += sizeof(words) / sizeof(*words)) {
		uint64_t left = cnt - i, part = left < 1024 ? left : 1024;

		if (!target_memory__read_large(v8->reader->mem, begin + 8 * i, words, 8 * part)) {
			lines->failed = true;
			return;
		}
		for (uint64_t k = 0; k < part && !lines->failed; k++)
			add_end(lines, (uint32_t)v8__small(words[k]));
	}
}

/* JavaScript's line terminators, of which "\r\n" is one. */
static bool is_end(uint32_t c, uint32_t next)
{
	return c == '\n' || (c == '\r' && next != '\n') || c == 0x2028 || c == 0x2029;
}

static uint32_t char_at(const uint8_t *bytes, uint8_t width, size_t i)
{
	return width == 1 ? bytes[i] : (uint32_t)(bytes[2 * i] | bytes[2 * i + 1] << 8);
}

static void take_source(struct v8 *v8, uint64_t source, struct lines *lines)
{
	struct v8_chars chars;
	uint8_t *bytes = NULL;

	lines->failed =
		!v8__chars(v8, source, &chars) || v8->reader->later || chars.cnt > SOURCE_MAX;
	if (!lines->failed) {
		bytes = malloc(TARGET_LARGE);
		lines->failed = !bytes;
	}
	for (uint32_t i = 0; !lines->failed && i < chars.cnt;) {
		uint32_t part = TARGET_LARGE / chars.width;
		bool last = chars.cnt - i <= part;

		if (last)
			part = chars.cnt - i;
		if (!target_memory__read_large(v8->reader->mem,
					       chars.addr + (uint64_t)i * chars.width, bytes,
					       (size_t)part * chars.width)) {
			lines->failed = true;
			break;
		}
		/* The last character of a piece needs its neighbour. */
		for (uint32_t k = 0; k + !last < part; k++)
			if (is_end(char_at(bytes, chars.width, k),
				   k + 1 < part ? char_at(bytes, chars.width, k + 1) : 0))
				add_end(lines, i + k);
		i += last ? part : part - 1;
	}
	free(bytes);
}

static struct v8_script *make(struct v8 *v8, const struct script_key *key)
{
	struct lines lines = {};
	struct v8_script *ret = NULL;
	size_t bytes;

	if (!v8__is_small(key->line_ends) && v8__is_array(v8, key->line_ends))
		take_table(v8, key->line_ends, &lines);
	else if (!v8->reader->later)
		take_source(v8, key->source, &lines);
	bytes = sizeof(*ret) + lines.cnt * sizeof(*lines.ends);
	if (v8->script_bytes + bytes > SCRIPTS_MAX)
		v8_scripts__free(v8);
	ret = v8->reader->later || lines.failed ? NULL : calloc(1, bytes);
	if (ret) {
		ret->key = *key;
		ret->cnt = (uint32_t)lines.cnt;
		if (lines.cnt)
			memcpy(ret->ends, lines.ends, lines.cnt * sizeof(*lines.ends));
		HASH_ADD(hh, v8->scripts, key, sizeof(ret->key), ret);
		v8->script_bytes += ret ? bytes : 0;
	}
	free(lines.ends);
	return ret;
}

uint32_t v8_script__line(struct v8 *v8, uint64_t shared, uint32_t position)
{
	uint64_t at = script_of(v8, shared);
	struct script_key key = { .address = at };
	struct v8_script *script;
	uint32_t low = 0, high;

	if (!at)
		return 0;
	key.name = v8__member(v8, at, V8_SCRIPT_NAME);
	key.source = v8__member(v8, at, V8_SCRIPT_SOURCE);
	key.line_ends = v8__member(v8, at, V8_SCRIPT_LINE_ENDS);
	if (v8->reader->later)
		return 0;
	HASH_FIND(hh, v8->scripts, &key, sizeof(key), script);
	if (!script)
		script = make(v8, &key);
	if (!script)
		return 0;
	for (high = script->cnt; low < high;) {
		uint32_t middle = (low + high) / 2;

		if (script->ends[middle] < position)
			low = middle + 1;
		else
			high = middle;
	}
	return low + 1;
}
