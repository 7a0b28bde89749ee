/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPython: its file, its threads, their waits, and the names of frames. See python.h. */
#include "symbol/languages/python.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/text.h"

#define INTERPRETERS_MAX 64
#define TASKS_MAX	 4096
#define LANGUAGE	 "python"
#define UNNAMED		 "[python]"

static int open_file(const struct elf *elf, void **ret)
{
	struct language_symbol symbols[] = { { .name = "_PyRuntime" },
					     { .name = "PyCode_Type" },
					     { .name = "Py_Version" } };
	int res = language__symbols(elf, symbols, 3);
	struct python_offsets offsets;
	struct python_file *file;
	uint64_t version;

	res = res ?: elf__read(elf, symbols[2].sym.st_value, &version, sizeof(version));
	if (res)
		return res;
	if (!python_offsets__told(version) && !python_offsets__of(version, &offsets))
		return -ENOTSUP;
	file = malloc(sizeof(*file));
	if (!file)
		return -ENOMEM;
	*file = (struct python_file){ symbols[0].sym.st_value, symbols[1].sym.st_value, version };
	*ret = file;
	return 0;
}

static int find_offsets(const struct heap_memory *mem, uint64_t runtime, uint32_t version,
			struct python_offsets *ret)
{
	uint8_t told[SCRIPT_OFFSETS_SZ];
	int res;

	if (python_offsets__of(version, ret))
		return 0;
	res = heap_memory__read(mem, runtime, told, sizeof(told));
	if (res)
		return res;
	return python_offsets__read(told, version, ret) ? 0 : -ENOTSUP;
}

static int start(const void *content, uint64_t bias, const struct heap_memory *mem, void **ret)
{
	const struct python_file *file = content;
	struct python *python = calloc(1, sizeof(*python));
	int res = python ? find_offsets(mem, bias + file->runtime, file->version, &python->offsets)
			 : -ENOMEM;

	if (res) {
		free(python);
		return res;
	}
	python->runtime = bias + file->runtime;
	python->code_type = bias + file->code_type;
	*ret = python;
	return 0;
}

static size_t bytes(const void *state)
{
	return sizeof(struct python) + ((const struct python *)state)->code_bytes;
}

static void end(void *state)
{
	python_code__forget_all(state);
	free(state);
}

/* --- threads */

static struct jank_script_where where_of(const struct python_offsets *offsets, uint64_t tstate,
					 uint64_t native_id)
{
	uint32_t code_at = python_offsets__code_at(offsets);

	return (struct jank_script_where){
		.tstate = tstate,
		.native_id = native_id,
		.native_at = offsets->tstate.native_id,
		.frame_at = offsets->tstate.frame,
		.cframe_at = offsets->tstate.cframe,
		.direct = offsets->tstate.direct,
		.code_word = offsets->frame.code / 8,
		.previous_word = offsets->frame.previous / 8,
		.instr_word = offsets->frame.instr / 8,
		.mark_at = offsets->frame.mark_at,
		.mark = offsets->frame.mark,
		.shim = offsets->frame.shim,
		.line_shift = (offsets->code.first_line - code_at) * 8,
		.line_word = 0,
		.name_word = (offsets->code.name - code_at) / 8,
		.code_at = code_at,
		.hash_at = offsets->unicode.hash,
	};
}

/* Passes on the states of an interpreter. Returns false when no more threads are wanted. */
static bool pass_all(const struct python *python, const struct heap_memory *mem, uint64_t interp,
		     heap_thread_fn fn, void *ctx)
{
	const struct python_offsets *offsets = &python->offsets;
	uint64_t tstate, owner, native_id;
	struct jank_script_where where;

	if (heap_memory__word(mem, interp + offsets->threads_head, &tstate))
		return true;
	for (unsigned i = 0; i < TASKS_MAX && tstate; i++) {
		if (heap_memory__word(mem, tstate + offsets->tstate.interp, &owner) ||
		    owner != interp ||
		    heap_memory__word(mem, tstate + offsets->tstate.native_id, &native_id))
			return true;
		where = where_of(offsets, tstate, native_id);
		if (heap_memory__word(mem, tstate + offsets->tstate.next, &tstate))
			return true;
		if (!fn(ctx, native_id, &where))
			return false;
	}
	return true;
}

static void threads(const void *state, const struct heap_memory *mem, heap_thread_fn fn, void *ctx)
{
	const struct python *python = state;
	const struct python_offsets *offsets = &python->offsets;
	uint64_t interp;

	if (heap_memory__word(mem, python->runtime + offsets->interpreters_head, &interp))
		return;
	for (unsigned i = 0; i < INTERPRETERS_MAX && interp; i++)
		if (!pass_all(python, mem, interp, fn, ctx) ||
		    heap_memory__word(mem, interp + offsets->interp_next, &interp))
			return;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	return XXH64(&word, sizeof(word), hash);
}

/* A new thread's state is added at the begin of its list. Its thread id is written when it runs. */
static uint64_t newest_of(const struct heap_memory *mem, const struct python_offsets *offsets,
			  uint64_t interp, uint64_t hash)
{
	uint64_t tstate, native_id;

	if (heap_memory__word(mem, interp + offsets->threads_head, &tstate) ||
	    heap_memory__word(mem, tstate + offsets->tstate.native_id, &native_id))
		return hash;
	return mix(mix(hash, tstate), native_id);
}

static uint64_t newest(const void *state, const struct heap_memory *mem)
{
	const struct python *python = state;
	uint64_t interp, hash = 0;

	if (heap_memory__word(mem, python->runtime + python->offsets.interpreters_head, &interp))
		return 0;
	for (unsigned i = 0; i < INTERPRETERS_MAX && interp; i++) {
		hash = newest_of(mem, &python->offsets, interp, mix(hash, interp));
		if (heap_memory__word(mem, interp + python->offsets.interp_next, &interp))
			break;
	}
	return hash;
}

/*
 * --- Waits. Python's threading and queue modules wait for their callers, in Python. Their
 * innermost frames count like those of the C library. Otherwise a lock that is taken beside
 * queue.get() would seem further out than it.
 */

/* Returns 1 when the frame belongs to these modules, 0 when not, -1 when unknown. */
static int waits_for_caller(struct python *python, const struct heap_memory *mem,
			    const struct jank_script_frame *frame)
{
	const struct python_code *code = python_code__get(python, mem, frame->code);
	const char *name;

	if (!code || !code->known || code->check != frame->check)
		return -1;
	name = text__base_name(code->file);
	return !code->app && (!strcmp(name, "threading.py") || !strcmp(name, "queue.py"));
}

static bool describe_wait(void *state, const struct heap_memory *mem,
			  const struct jank_script_frame *frames, uint32_t cnt,
			  struct script_wait *ret)
{
	bool is_inside = true;

	*ret = (struct script_wait){};
	for (uint32_t i = 0; i < cnt; i++) {
		int waits;

		if (!frames[i].code) /* an entry from C */
			continue;
		waits = is_inside ? waits_for_caller(state, mem, &frames[i]) : 0;
		if (waits < 0)
			return false;
		ret->for_caller |= waits;
		is_inside = waits;
		ret->depth += !waits;
	}
	return true;
}

static void name(void *state, const struct heap_memory *mem, struct pool *pool,
		 const struct jank_script_frame *from, struct frame *ret)
{
	const struct python_code *code = python_code__get(state, mem, from->code);

	*ret = (struct frame){ .address = from->instr, .module = UNNAMED, .language = LANGUAGE };
	/* The instruction may lie before the first one, when the code is about to begin. */
	if (!code || code->check != from->check ||
	    from->instr + 2 - code->bytecode >= code->units * 2 + 2)
		return;
	ret->function = pool__add(pool, code->function, strlen(code->function));
	ret->file = pool__add(pool, code->file, strlen(code->file));
	ret->module = ret->file ?: UNNAMED;
	ret->offset = from->instr < code->bytecode ? 0 : from->instr - code->bytecode;
	ret->line = python_code__line(code, from->instr);
	ret->app = code->app;
}

/* queue.get() looks like lock.acquire() in C, and select() like sleep() */
static const struct heap_language heap = {
	.alike = ~0u,
	.start = start,
	.threads = threads,
	.newest = newest,
	.wait = describe_wait,
	.name = name,
};

const struct language language_python = {
	.name = LANGUAGE,
	.file = "python",
	.open = open_file,
	.bytes = bytes,
	.end = end,
	.heap = &heap,
};
