/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of languages, and the rounds in which a stack's frames are read. See language.h. */
#include "symbol/languages/language.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "files/unread.h"
#include "symbol/languages/frame_places.h"
#include "symbol/languages/heap.h"
#include "symbol/languages/target_memory.h"
#include "symbol/names/process.h"
#include "symbol/unwind/unwind.h"

#define ROUNDS_MAX   128 /* each waits for memory that the one before lacked */
#define AT_ONCE	     8	 /* frames that find room in the memory, whatever they need */
#define NAMELESS_MAX 100 /* frames, the first ones of a process: its layout is another one */

/* Those of some names first: a file of such a name is searched for nothing else. */
static const struct language *const languages[] = { &language_python, &language_ruby,
						    &language_hotspot, &language_art,
						    &language_v8 };
#define LANGUAGES (sizeof(languages) / sizeof(*languages))

struct language_process {
	const struct language_file *file; /* compare only: its module may be gone */
	const struct language *language;
	struct frame_places places;
	struct language_reader reader;
	void *state;	   /* of language->start */
	uint32_t nameless; /* frames before the first one with a name */
	bool named;
};

/* "libpython3.11.so.1.0", but not a module such as "_json.cpython-311.so" */
static bool may_have(const struct language *language, const char *path)
{
	const char *name = text__base_name(path);

	return !language->file ||
	       text__begins(name + (text__begins(name, "lib") ? 3 : 0), language->file);
}

const struct language *language__in_heap(const char *path)
{
	for (size_t i = 0; i < LANGUAGES; i++)
		if (languages[i]->heap && may_have(languages[i], path))
			return languages[i];
	return NULL;
}

bool language__sleeps(const char *function)
{
	for (size_t i = 0; i < LANGUAGES; i++)
		if (languages[i]->heap && text__same(languages[i]->heap->sleep, function))
			return true;
	return false;
}

struct language_file *language_file__of(const struct elf *elf, const char *path)
{
	struct language_file *ret;

	for (size_t i = 0; i < LANGUAGES; i++) {
		const struct language *language = languages[i];
		void *content = NULL;
		int res;

		if (!may_have(language, path))
			continue;
		res = language->open(elf, &content);
		if (res && res != -ENOTSUP)
			continue;
		ret = calloc(1, sizeof(*ret));
		if (!ret) {
			free(content);
			return NULL;
		}
		*ret = (struct language_file){ language, content };
		return ret;
	}
	return NULL;
}

void language_file__free(struct language_file *file)
{
	if (!file)
		return;
	free(file->content);
	free(file);
}

void language_process__free(struct language_process *process)
{
	if (!process)
		return;
	if (process->state)
		process->language->end(process->state);
	frame_places__free(&process->places);
	target_memory__free(process->reader.mem);
	free(process);
}

size_t language_process__bytes(const struct language_process *process)
{
	if (!process)
		return 0;
	return sizeof(*process) + target_memory__bytes() + frame_places__bytes(&process->places) +
	       process->language->bytes(process->state);
}

/* --- the runtime of a process: in one of its files */

struct symbols {
	struct language_symbol *symbols;
	size_t cnt, found;
};

static int take_symbol(void *ctx, const Elf64_Sym *sym, const char *name)
{
	struct symbols *wanted = ctx;
	uint8_t type = ELF64_ST_TYPE(sym->st_info);

	if ((type != STT_OBJECT && type != STT_FUNC) || !sym->st_value)
		return 0;
	for (size_t i = 0; i < wanted->cnt; i++) {
		struct language_symbol *symbol = &wanted->symbols[i];

		if (strcmp(name, symbol->name))
			continue;
		wanted->found += !symbol->sym.st_value;
		symbol->sym = *sym;
	}
	return 0;
}

int language__symbols(const struct elf *elf, struct language_symbol *symbols, size_t cnt)
{
	struct symbols wanted = { symbols, cnt, 0 };
	int res = elf->is64 ? elf__each_named(elf, SHT_DYNSYM, take_symbol, &wanted) : -ENOENT;

	if (!res && wanted.found < cnt)
		res = elf__each_named(elf, SHT_SYMTAB, take_symbol, &wanted);
	return res ?: wanted.found < cnt ? -ENOENT : 0;
}

static int look(void *ctx, const struct elf *elf)
{
	struct mapped *mapped = ctx;

	mapped->module->language = language_file__of(elf, mapped->path);
	return 0;
}

/* Counts a process whose functions have no names, with its file. */
static void count_unknown(struct process *process, const struct region *region)
{
	if (!process->language_unknown)
		unread__add(UNREAD_RUNTIME, region->mapped->path);
	process->language_unknown = true;
}

/* A file is searched once; the module keeps the result. */
static const struct language_file *file_of(struct process_env *env, struct process *process,
					   const struct region *region, uint64_t *ret_bias)
{
	struct module *module = region->mapped->module;

	if (region->mapped->kind != MAPPED_FILE || !module)
		return NULL;
	if (!module->language_known) {
		module->language_known = true;
		process__read_elf(env, process, region, look, region->mapped, ret_bias);
	}
	if (module->language && !module->language->content)
		count_unknown(process, region);
	return module->language && module->language->content ? module->language : NULL;
}

static int nothing(void *ctx, const struct elf *elf)
{
	return 0;
}

int language__bias(struct process_env *env, struct process *process, const struct region *region,
		   uint64_t *ret)
{
	return process__read_elf(env, process, region, nothing, NULL, ret);
}

const struct language_file *language__find(struct process_env *env, struct process *process,
					   bool in_heap, const struct region **ret_region)
{
	const struct mapped *last = NULL, *mapped;
	const struct language_file *ret = NULL;
	uint64_t bias;

	for (size_t i = 0; i < process->maps.cnt && !ret; i++, last = mapped) {
		*ret_region = &process->maps.regions[i];
		mapped = (*ret_region)->mapped;
		if (mapped == last || (in_heap && !language__in_heap(mapped->path)))
			continue;
		ret = file_of(env, process, *ret_region, &bias);
		if (ret && !ret->language->heap == in_heap)
			ret = NULL;
	}
	return ret;
}

static struct language_process *start(struct process_env *env, struct process *process,
				      const struct language_file *file, const struct region *region)
{
	struct language_process *ret = calloc(1, sizeof(*ret));
	uint64_t bias = 0;

	if (!ret)
		return NULL;
	ret->file = file;
	ret->language = file->language;
	ret->reader = (struct language_reader){ .mem = target_memory__new(),
						.places = &ret->places,
						.proc = env->proc,
						.pid = process->living };
	if (ret->reader.mem && !language__bias(env, process, region, &bias)) {
		target_memory__begin(ret->reader.mem, env->proc, process->living);
		ret->state = file->language->start(file->content, bias, &ret->reader);
	}
	if (ret->state)
		return ret;
	language_process__free(ret);
	return NULL;
}

/* The state of the process, and the region of its runtime; NULL: its runtime is not known. */
static struct language_process *process_of(struct process_env *env, struct process *process,
					   const struct region **ret_region)
{
	const struct language_file *file = language__find(env, process, false, ret_region);

	if (process->language && process->language->file == file)
		return process->language;
	language_process__free(process->language);
	process->language = file ? start(env, process, file, *ret_region) : NULL;
	return process->language;
}

/* --- frames */

enum progress { FRAME_OPEN, FRAME_NAMED, FRAME_NAMELESS };

struct reading {
	uint64_t key;
	enum progress progress;
};

/*
 * A function sets up its frame at its begin. Before that, its frame pointer is its caller's, to
 * which the frame belongs, if its code keeps one at all.
 */
static void mark_borrowed(struct native_frame *frames, size_t cnt)
{
	for (size_t i = 0; i + 1 < cnt; i++)
		frames[i].borrowed = frames[i + 1].fp == frames[i].fp;
}

static void read_frame(struct language_process *process, const struct native_frame *frame,
		       struct reading *reading)
{
	bool named;

	process->reader.later = process->reader.cut = false;
	named = (!frame->dex || process->language->reads_dex) &&
		process->language->place(process->state, frame, &reading->key);
	if (!process->reader.later)
		reading->progress = named ? FRAME_NAMED : FRAME_NAMELESS;
}

static void add_functions(struct language_process *state, const struct native_frame *frame,
			  uint64_t key, struct unwound *ret)
{
	const struct frame_place *place = frame_places__find(&state->places, key);
	uint32_t cnt = place ? place->cnt : 1; /* without a name yet */

	for (uint32_t i = 0; i < cnt && ret->script_cnt < STACK_SCRIPT_MAX; i++)
		ret->script[ret->script_cnt++] = (struct jank_script_frame){
			.code = key,
			.instr = frame->dex ?: frame->pc,
			.flags = JANK_SCRIPT_NATIVE | i << 8 | frame->index << 16,
			.check = (uint32_t)(key ^ key >> 32) + i,
		};
}

/* Reads the first frames that are open, at most `max`. Returns how many still are. */
static size_t read_some(struct language_process *state, const struct native_frame *frames,
			size_t cnt, struct reading *readings, size_t max)
{
	size_t open = 0;

	for (size_t i = 0; i < cnt && open < max; i++) {
		if (readings[i].progress == FRAME_OPEN)
			read_frame(state, &frames[i], &readings[i]);
		open += readings[i].progress == FRAME_OPEN;
	}
	return open;
}

/*
 * All frames together, so that they share requests. When their memory does not fit, only the
 * innermost ones that are open.
 */
static void read_all(struct language_process *state, const struct native_frame *frames, size_t cnt,
		     struct reading *readings)
{
	struct target_memory *mem = state->reader.mem;
	size_t at_once = cnt;

	for (unsigned round = 0; round < ROUNDS_MAX; round++) {
		if (!read_some(state, frames, cnt, readings, at_once))
			return;
		if (target_memory__is_full(mem)) {
			target_memory__forget(mem);
			at_once = AT_ONCE;
		} else if (!target_memory__fetch(mem)) {
			return;
		}
	}
}

/* True if a living process had many frames, and none of them was a function with a name. */
static bool is_nameless(struct language_process *state, const struct reading *readings, size_t cnt)
{
	for (size_t i = 0; i < cnt && !state->named && target_memory__has_any(state->reader.mem);
	     i++) {
		const struct frame_place *place =
			frame_places__find(&state->places, readings[i].key);

		state->named = readings[i].progress == FRAME_NAMED && place && place->cnt &&
			       place->functions[0].function && !place->functions[0].glue;
		state->nameless++;
	}
	return !state->named && state->nameless >= NAMELESS_MAX;
}

/* Tells of interpreted methods in a process whose runtime was not found. */
static void count_unread(struct process *process, const struct native_frame *frames, size_t cnt)
{
	for (size_t i = 0; i < cnt && !process->language_unknown; i++) {
		const struct region *region =
			frames[i].dex ? proc_maps__find(&process->maps, frames[i].pc) : NULL;

		if (!region)
			continue;
		unread__add(UNREAD_DEX, region->mapped->path);
		process->language_unknown = true;
	}
}

static void begin_stack(struct process_env *env, struct process *process,
			struct language_process *state)
{
	target_memory__begin(state->reader.mem, env->proc, process->living);
	state->reader.pid = process->living;
	state->reader.at_ns = process->maps.at_ns;
	state->reader.searches = 0;
}

void language__read(struct process_env *env, struct process *process, struct native_frame *frames,
		    size_t cnt, struct unwound *ret)
{
	const struct region *region = NULL;
	struct language_process *state = process_of(env, process, &region);
	struct reading *readings = state ? calloc(cnt, sizeof(*readings)) : NULL;

	if (!state)
		count_unread(process, frames, cnt);
	if (!readings)
		return;
	mark_borrowed(frames, cnt);
	begin_stack(env, process, state);
	read_all(state, frames, cnt, readings);
	for (size_t i = 0; i < cnt; i++)
		if (readings[i].progress == FRAME_NAMED)
			add_functions(state, &frames[i], readings[i].key, ret);
	if (is_nameless(state, readings, cnt))
		count_unknown(process, region);
	free(readings);
}

const struct cfi_row *language__row(struct process_env *env, struct process *process, uint64_t pc,
				    bool exact, struct cfi **ret_cfi)
{
	const struct region *region;
	struct language_process *state = process_of(env, process, &region);

	if (!state || !state->language->row)
		return NULL;
	begin_stack(env, process, state);
	return state->language->row(state->state, pc, exact, ret_cfi);
}

uint32_t language__frame_size(struct process_env *env, struct process *process, uint64_t pc,
			      uint64_t top, uint32_t *ret_saved)
{
	const struct region *region;
	struct language_process *state = process_of(env, process, &region);
	uint32_t ret = 0;

	if (!state || !state->language->frame_size)
		return 0;
	begin_stack(env, process, state);
	do {
		state->reader.later = false;
		ret = state->language->frame_size(state->state, pc, top, ret_saved);
	} while (state->reader.later && target_memory__fetch(state->reader.mem));
	return state->reader.later ? 0 : ret;
}

bool language__name(struct process_env *env, struct process *process, struct pool *pool,
		    const struct jank_script_frame *from, struct frame *ret)
{
	struct language_process *state = process ? process->language : NULL;
	const struct frame_place *place =
		state ? frame_places__find(&state->places, from->code) : NULL;
	uint32_t nth = from->flags >> 8 & 0xff;
	const struct place_function *function;

	if (!state)
		return false;
	*ret = (struct frame){ .address = from->instr, .language = state->language->name };
	function = place && nth < place->cnt ? &place->functions[nth] : NULL;
	env->cut_cnt += state->language->reads_dex &&
			(!function || (function->interpreted && !function->function));
	if (!function)
		return false;
	if (function->glue)
		ret->language = NULL;
	if (function->function)
		ret->function = pool__add(pool, function->function, strlen(function->function));
	if (function->file)
		ret->file = pool__add(pool, function->file, strlen(function->file));
	ret->module = ret->file ?: function->interpreted ? "[dex]" : "[jit]";
	ret->line = ret->file ? function->line : 0;
	ret->app = ret->function && !function->glue; /* script_owner.h tells the owner */
	return true;
}
