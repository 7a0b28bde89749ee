/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cache of code objects. A code object lives as long as its function, mostly as long as the
 * process. So each is read once. Later reads only check that it is unchanged: another object may
 * lie at its address.
 */
#include "symbol/languages/python.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

/*
 * --- Location table. Each entry begins with a byte with the uppermost bit set; no other byte has
 * it. 4 bits give the form of the location, 3 bits the number of units minus one. Lines are
 * relative to the previous entry.
 */

enum form {
	FORM_ONE_LINE = 10, /* to 12: line delta in the form, two columns */
	FORM_NO_COLUMNS = 13,
	FORM_LONG = 14,
	FORM_NONE = 15,
};

#define LINE_MAX_VALUE (1 << 30)

struct reader {
	const uint8_t *at, *end;
	bool broken;
};

static uint8_t next_byte(struct reader *rd)
{
	if (rd->at == rd->end || *rd->at & 0x80) {
		rd->broken = true;
		return 0;
	}
	return *rd->at++;
}

/* Reads 6 bits a byte, lowest first. Another byte follows when bit 6 is set. */
static uint32_t next_number(struct reader *rd)
{
	uint32_t ret = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = next_byte(rd);
		if (shift > 24) {
			rd->broken = true;
			return 0;
		}
		ret |= (uint32_t)(byte & 0x3f) << shift;
		shift += 6;
	} while (byte & 0x40);
	return ret;
}

static int32_t next_signed(struct reader *rd)
{
	uint32_t number = next_number(rd);

	return number & 1 ? -(int32_t)(number >> 1) : (int32_t)(number >> 1);
}

/* Reads the rest of an entry. Returns its line delta. */
static int32_t next_delta(struct reader *rd, unsigned form)
{
	int32_t delta = 0;

	if (form == FORM_NO_COLUMNS)
		return next_signed(rd);
	if (form == FORM_LONG) {
		delta = next_signed(rd);
		for (int i = 0; i < 3; i++) /* the last line, and columns */
			next_number(rd);
	} else if (form >= FORM_ONE_LINE && form < FORM_NO_COLUMNS) {
		delta = form - FORM_ONE_LINE;
		next_byte(rd);
		next_byte(rd);
	} else if (form < FORM_ONE_LINE) {
		next_byte(rd);
	}
	return delta;
}

uint32_t python_line__at(const uint8_t *table, size_t size, uint32_t first_line, uint64_t unit)
{
	struct reader rd = { table, table + size, false };
	int64_t line = first_line;
	uint64_t begin = 0;

	while (rd.at < rd.end && *rd.at & 0x80) {
		unsigned form = *rd.at >> 3 & 15, units = (*rd.at & 7) + 1;

		rd.at++;
		line += next_delta(&rd, form);
		if (rd.broken || line < -LINE_MAX_VALUE || line > LINE_MAX_VALUE)
			return 0;
		if (unit - begin < units)
			return form == FORM_NONE || line < 0 ? 0 : (uint32_t)line;
		begin += units;
	}
	return 0;
}

#define HEAD_SZ	  256 /* bytes: all that lies before the bytecode */
#define LINES_MAX (256u << 10)
#define BYTES_MAX (4u << 20) /* bytes of a process's code objects; beyond it the cache is emptied */
#define FRESH_NS  (100 * NS_PER_MS) /* an object is not checked again within this time */
#define TYPE_AT	  8		    /* offset of the type in any object */

struct head {
	uint64_t units, filename, name, qualname, linetable;
	uint64_t hash; /* of the name */
	uint32_t first_line;
	uint64_t stamp;
};

static uint64_t word_at(const uint8_t *bytes, uint32_t at)
{
	uint64_t ret;

	memcpy(&ret, bytes + at, sizeof(ret));
	return ret;
}

/* FNV-1a over the fields that distinguish code objects. */
static uint64_t stamp_of(const struct head *head)
{
	const uint64_t words[] = { head->units,	    head->filename, head->qualname,
				   head->linetable, head->hash,	    head->first_line };
	uint64_t ret = 0xcbf29ce484222325;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		ret = (ret ^ words[i]) * 0x100000001b3 ^ ret >> 32;
	return ret;
}

static int read_head(const struct python *python, const struct heap_memory *mem, uint64_t address,
		     struct head *ret)
{
	const struct python_offsets *offsets = &python->offsets;
	uint8_t bytes[HEAD_SZ];
	int res;

	if (offsets->code.bytecode > sizeof(bytes) ||
	    offsets->code.linetable + 8 > offsets->code.bytecode ||
	    offsets->code.filename + 8 > offsets->code.bytecode ||
	    offsets->code.name + 8 > offsets->code.bytecode ||
	    offsets->code.qualname + 8 > offsets->code.bytecode ||
	    offsets->code.first_line + 8 > offsets->code.bytecode ||
	    offsets->code.units + 8 > offsets->code.bytecode)
		return -EINVAL;
	res = heap_memory__read(mem, address, bytes, offsets->code.bytecode);
	if (res)
		return res;
	if (word_at(bytes, TYPE_AT) != python->code_type)
		return -ESTALE;
	*ret = (struct head){ .units = word_at(bytes, offsets->code.units),
			      .filename = word_at(bytes, offsets->code.filename),
			      .name = word_at(bytes, offsets->code.name),
			      .qualname = word_at(bytes, offsets->code.qualname),
			      .linetable = word_at(bytes, offsets->code.linetable),
			      .first_line = word_at(bytes, offsets->code.first_line) };
	res = heap_memory__word(mem, ret->name + offsets->unicode.hash, &ret->hash);
	ret->stamp = stamp_of(ret);
	return res;
}

/*
 * Returns true for the program's own code. Python's standard library lies beside the installed
 * packages; built-in modules are named "<frozen …>".
 */
static bool is_app(const char *file)
{
	const char *at = strstr(file, "/lib/python");

	if (!strncmp(file, "<frozen ", 8))
		return false;
	return !at || strstr(at, "/site-packages/") || strstr(at, "/dist-packages/");
}

static size_t bytes_of(const struct python_code *code)
{
	return sizeof(*code) + code->lines_size + (code->function ? strlen(code->function) : 0) +
	       (code->file ? strlen(code->file) : 0);
}

static void clear(struct python *python, struct python_code *code)
{
	python->code_bytes -= bytes_of(code);
	free(code->function);
	free(code->file);
	free(code->lines);
	code->function = code->file = NULL;
	code->lines = NULL;
	code->lines_size = 0;
	code->known = false;
	python->code_bytes += bytes_of(code);
}

static void drop(struct python *python, struct python_code *code)
{
	clear(python, code);
	python->code_bytes -= bytes_of(code);
	HASH_DEL(python->codes, code);
	free(code);
}

void python_code__forget_all(struct python *python)
{
	struct python_code *code, *next;

	HASH_ITER (hh, python->codes, code, next)
		drop(python, code);
}

/* Fields that cannot be read leave the object unknown, except the lines: a frame needs none. */
static void fill(struct python *python, const struct heap_memory *mem, struct python_code *code,
		 const struct head *head)
{
	const struct python_offsets *offsets = &python->offsets;

	code->stamp = head->stamp;
	code->bytecode = code->address + offsets->code.bytecode;
	code->units = head->units;
	code->first_line = head->first_line;
	code->check = head->first_line * JANK_SCRIPT_CHECK + (uint32_t)head->hash;
	python->code_bytes -= bytes_of(code);
	if (!python__text(mem, offsets, head->qualname, &code->function))
		python__text(mem, offsets, head->filename, &code->file);
	if (code->file)
		python__bytes(mem, offsets, head->linetable, LINES_MAX, &code->lines,
			      &code->lines_size);
	python->code_bytes += bytes_of(code);
	code->known = code->file && code->units <= INT32_MAX;
	code->app = code->known && is_app(code->file);
}

static struct python_code *add(struct python *python, uint64_t address)
{
	struct python_code *code;

	if (python->code_bytes > BYTES_MAX)
		python_code__forget_all(python);
	code = calloc(1, sizeof(*code));
	if (!code)
		return NULL;
	code->address = address;
	HASH_ADD(hh, python->codes, address, sizeof(address), code);
	python->code_bytes += code ? bytes_of(code) : 0;
	return code;
}

const struct python_code *python_code__get(struct python *python, const struct heap_memory *mem,
					   uint64_t address)
{
	uint64_t now = clock__mono_ns();
	struct python_code *code;
	struct head head;
	int res;

	HASH_FIND(hh, python->codes, &address, sizeof(address), code);
	if (code && now - code->checked_ns < FRESH_NS)
		return code->known ? code : NULL;
	res = read_head(python, mem, address, &head);
	if (res == -ESRCH) /* the process has ended: use the last known object */
		return code && code->known ? code : NULL;
	if (!code)
		code = add(python, address);
	if (!code)
		return NULL;
	code->checked_ns = now;
	if (res || code->stamp != head.stamp || !code->known) {
		clear(python, code);
		if (!res)
			fill(python, mem, code, &head);
	}
	return code->known ? code : NULL;
}

uint32_t python_code__line(const struct python_code *code, uint64_t instr)
{
	if (instr < code->bytecode) /* about to begin */
		return code->first_line;
	return python_line__at(code->lines, code->lines_size, code->first_line,
			       (instr - code->bytecode) / 2);
}
