/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code objects live as long as their function, mostly the process, so each is read once, and later only looked at
 * whether it is the same still: another may lie at its address by then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "symbol/interpreters/script.h"
#include "symbol/interpreters/script_line.h"

#define HEAD_SZ	  256 /* all that lies before the bytecode */
#define LINES_MAX (256u << 10)
#define BYTES_MAX (4u << 20)	    /* of a process's code objects; then begun anew */
#define FRESH_NS  (100 * NS_PER_MS) /* for so long it is taken for the same */
#define TYPE_AT	  8		    /* of any object */

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

/* FNV-1a, over what tells one from another */
static uint64_t stamp_of(const struct head *head)
{
	const uint64_t words[] = { head->units,	    head->filename, head->qualname,
				   head->linetable, head->hash,	    head->first_line };
	uint64_t ret = 0xcbf29ce484222325;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		ret = (ret ^ words[i]) * 0x100000001b3 ^ ret >> 32;
	return ret;
}

static int read_head(const struct script *script, const struct script_memory *mem, uint64_t address,
		     struct head *ret)
{
	const struct script_offsets *offsets = &script->offsets;
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
	res = script_memory__read(mem, address, bytes, offsets->code.bytecode);
	if (res)
		return res;
	if (word_at(bytes, TYPE_AT) != script->code_type)
		return -ESTALE;
	*ret = (struct head){ .units = word_at(bytes, offsets->code.units),
			      .filename = word_at(bytes, offsets->code.filename),
			      .name = word_at(bytes, offsets->code.name),
			      .qualname = word_at(bytes, offsets->code.qualname),
			      .linetable = word_at(bytes, offsets->code.linetable),
			      .first_line = word_at(bytes, offsets->code.first_line) };
	res = script_memory__word(mem, ret->name + offsets->unicode.hash, &ret->hash);
	ret->stamp = stamp_of(ret);
	return res;
}

/*
 * Is it the program's own: neither of Python's standard library, which lies beside the packages that were installed, nor
 * built in ("<frozen …>")?
 */
static bool is_app(const char *file)
{
	const char *at = strstr(file, "/lib/python");

	if (!strncmp(file, "<frozen ", 8))
		return false;
	return !at || strstr(at, "/site-packages/") || strstr(at, "/dist-packages/");
}

static size_t bytes_of(const struct script_code *code)
{
	return sizeof(*code) + code->lines_size + (code->function ? strlen(code->function) : 0) +
	       (code->file ? strlen(code->file) : 0);
}

static void clear(struct script *script, struct script_code *code)
{
	script->code_bytes -= bytes_of(code);
	free(code->function);
	free(code->file);
	free(code->lines);
	code->function = code->file = NULL;
	code->lines = NULL;
	code->lines_size = 0;
	code->known = false;
	script->code_bytes += bytes_of(code);
}

static void drop(struct script *script, struct script_code *code)
{
	clear(script, code);
	script->code_bytes -= bytes_of(code);
	HASH_DEL(script->codes, code);
	free(code);
}

void script_code__forget_all(struct script *script)
{
	struct script_code *code, *next;

	HASH_ITER (hh, script->codes, code, next)
		drop(script, code);
}

/* What cannot be read stays unknown, but for the lines: a frame may do without. */
static void fill(struct script *script, const struct script_memory *mem, struct script_code *code,
		 const struct head *head)
{
	const struct script_offsets *offsets = &script->offsets;

	code->stamp = head->stamp;
	code->bytecode = code->address + offsets->code.bytecode;
	code->units = head->units;
	code->first_line = head->first_line;
	code->check = head->first_line * JANK_SCRIPT_CHECK + (uint32_t)head->hash;
	script->code_bytes -= bytes_of(code);
	if (!script_memory__text(mem, offsets, head->qualname, &code->function))
		script_memory__text(mem, offsets, head->filename, &code->file);
	if (code->file)
		script_memory__bytes(mem, offsets, head->linetable, LINES_MAX, &code->lines,
				     &code->lines_size);
	script->code_bytes += bytes_of(code);
	code->known = code->file && code->units <= INT32_MAX;
	code->app = code->known && is_app(code->file);
}

static struct script_code *add(struct script *script, uint64_t address)
{
	struct script_code *code;

	if (script->code_bytes > BYTES_MAX)
		script_code__forget_all(script);
	code = calloc(1, sizeof(*code));
	if (!code)
		return NULL;
	code->address = address;
	script->code_bytes += bytes_of(code);
	HASH_ADD(hh, script->codes, address, sizeof(address), code);
	return code;
}

const struct script_code *script_code__get(struct script *script, const struct script_memory *mem,
					   uint64_t address)
{
	uint64_t now = clock__mono_ns();
	struct script_code *code;
	struct head head;
	int res;

	HASH_FIND(hh, script->codes, &address, sizeof(address), code);
	if (code && now - code->checked_ns < FRESH_NS)
		return code->known ? code : NULL;
	res = read_head(script, mem, address, &head);
	if (res == -ESRCH) /* the process has ended: as it was last */
		return code && code->known ? code : NULL;
	if (!code)
		code = add(script, address);
	if (!code)
		return NULL;
	code->checked_ns = now;
	if (res || code->stamp != head.stamp || !code->known) {
		clear(script, code);
		if (!res)
			fill(script, mem, code, &head);
	}
	return code->known ? code : NULL;
}

uint32_t script_code__line(const struct script_code *code, uint64_t instr)
{
	if (instr < code->bytecode) /* about to begin */
		return code->first_line;
	return script_line__at(code->lines, code->lines_size, code->first_line,
			       (instr - code->bytecode) / 2);
}
