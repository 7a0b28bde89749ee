/* SPDX-License-Identifier: GPL-2.0 */
/* Recognises an interpreter by its file, and names CPython's frames by their code objects. See script.h. */
#include "symbol/interpreters/script.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/elf/elf.h"
#include "symbol/interpreters/script_elf.h"

#define LANGUAGE "python"
#define UNNAMED	 "[python]"

/* "python3.11", "libpython3.11.so.1.0", "libruby-3.1.so.3.1"; but no module such as "_json.cpython-311.so". */
static bool may_be_one(const struct mapped *mapped)
{
	const char *name = strrchr(mapped->path, '/');

	if (mapped->kind != MAPPED_FILE || !mapped->module || !name)
		return false;
	name += strncmp(name, "/lib", 4) ? 1 : 4;
	return !strncmp(name, "python", 6) || !strncmp(name, "ruby", 4);
}

/* What the file's variables were linked at, and how far from there they are. */
static int find_in_file(struct process_env *env, const struct process *process,
			const struct region *region, struct script_elf *ret, uint64_t *bias)
{
	int fd = process__open(env, process, region->mapped), res;
	struct image img;
	struct elf elf;

	if (fd < 0)
		return fd;
	res = module__image(region->mapped->module, fd, &img);
	if (!res)
		res = elf__open(&elf, &img);
	if (!res) {
		res = elf__vaddr(elf.loads, elf.load_cnt, region->offset, bias);
		*bias = region->start - *bias;
		if (!res)
			res = script_elf__find(&elf, ret);
		elf__close(&elf);
	}
	close(fd);
	return res;
}

static struct script_memory memory_of(const struct process_env *env, const struct process *process)
{
	return (struct script_memory){ env->proc, process->living };
}

static int find_offsets(const struct script_memory *mem, uint64_t runtime, uint32_t version,
			struct script_offsets *ret)
{
	uint8_t told[SCRIPT_OFFSETS_SZ];
	int res;

	if (script_offsets__of(version, ret))
		return 0;
	if (!script_offsets__told(version))
		return -ENOTSUP;
	res = script_memory__read(mem, runtime, told, sizeof(told));
	if (res)
		return res;
	return script_offsets__read(told, version, ret) ? 0 : -ENOTSUP;
}

static struct script *make_ruby(const struct script_elf *elf, uint64_t bias)
{
	const struct script_ruby_offsets *offsets = script_ruby__offsets(elf->version);
	struct script *script = offsets ? calloc(1, sizeof(*script)) : NULL;

	if (!script)
		return NULL;
	script->runtime = bias + elf->runtime;
	script->ruby = offsets;
	script->lock_begin = bias + elf->lock_begin;
	script->lock_end = bias + elf->lock_end;
	return script;
}

/* *known false: it may be one later. */
static struct script *make(struct process_env *env, const struct process *process,
			   const struct region *region, bool *known)
{
	struct script_memory mem = memory_of(env, process);
	struct script_offsets offsets;
	struct script *script;
	struct script_elf elf;
	uint64_t bias;
	int res;

	if (find_in_file(env, process, region, &elf, &bias))
		return NULL;
	if (elf.is_ruby)
		return make_ruby(&elf, bias);
	res = find_offsets(&mem, bias + elf.runtime, elf.version, &offsets);
	if (res == -ENODATA)
		*known = false;
	script = res ? NULL : calloc(1, sizeof(*script));
	if (!script)
		return NULL;
	script->runtime = bias + elf.runtime;
	script->code_type = bias + elf.code_type;
	script->offsets = offsets;
	return script;
}

static bool is_same(const struct script *a, const struct script *b)
{
	return a && b && a->runtime == b->runtime && a->code_type == b->code_type &&
	       a->offsets.version == b->offsets.version && a->ruby == b->ruby;
}

struct script *script__of(struct process_env *env, struct process *process)
{
	const struct mapped *last = NULL;
	struct script *found = NULL;

	if (process->script_known)
		return process->script;
	process->script_known = true;
	for (size_t i = 0; i < process->maps.cnt && !found; i++) {
		const struct region *region = &process->maps.regions[i];

		if (region->mapped != last && may_be_one(region->mapped))
			found = make(env, process, region, &process->script_known);
		last = region->mapped;
	}
	if (is_same(found, process->script)) {
		script__free(found);
		return process->script;
	}
	script__free(process->script);
	process->script = found;
	return found;
}

void script__free(struct script *script)
{
	if (!script)
		return;
	script_code__forget_all(script);
	free(script);
}

size_t script__bytes(const struct script *script)
{
	return script ? sizeof(*script) + script->code_bytes : 0;
}

static void name(struct script *script, const struct script_memory *mem, struct pool *pool,
		 const struct jank_script_frame *from, struct frame *ret)
{
	const struct script_code *code = script ? script_code__get(script, mem, from->code) : NULL;

	*ret = (struct frame){ .address = from->instr, .module = UNNAMED, .language = LANGUAGE };
	/* It may stand before the first, too, where it is about to begin. */
	if (!code || code->check != from->check ||
	    from->instr + 2 - code->bytecode >= code->units * 2 + 2)
		return;
	ret->function = pool__add(pool, code->function, strlen(code->function));
	ret->file = pool__add(pool, code->file, strlen(code->file));
	ret->module = ret->file ?: UNNAMED;
	ret->offset = from->instr < code->bytecode ? 0 : from->instr - code->bytecode;
	ret->line = script_code__line(code, from->instr);
	ret->app = code->app;
}

int script__add_frames(struct process_env *env, struct process *process, struct pool *pool,
		       struct stack *stack)
{
	struct script_memory mem;
	struct script *script;
	struct frame *frames;

	if (!stack->script_cnt)
		return 0;
	frames = reallocarray(stack->frames, stack->frame_cnt + stack->script_cnt, sizeof(*frames));
	if (!frames) {
		stack->script_cnt = 0; /* so that none of the others is taken for one */
		return -ENOMEM;
	}
	stack->frames = frames;
	frames += stack->frame_cnt;
	stack->frame_cnt += stack->script_cnt;
	memset(frames, 0, stack->script_cnt * sizeof(*frames));
	script = process ? script__of(env, process) : NULL;
	if (process)
		mem = memory_of(env, process);
	for (size_t i = 0; i < stack->script_cnt; i++)
		if (stack->script[i].code)
			name(script, &mem, pool, &stack->script[i], &frames[i]);
	return 0;
}
