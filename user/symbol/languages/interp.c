/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Detects an interpreter by its file, and names CPython's frames by their code objects. See
 * interp.h.
 */
#include "symbol/languages/interp.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/elf/elf.h"
#include "symbol/languages/language.h"

/*
 * --- Search of the interpreter's variables: one pass through .dynsym, which a stripped file keeps;
 * else through .symtab
 */

#define VERSION_MAX 16
#define NEAR_MAX    8192 /* bytes before rb_mutex_lock where its jump may lead */

struct search {
	Elf64_Sym runtime, code_type, version; /* CPython's */
	Elf64_Sym ruby_vm, ruby_version, lock; /* Ruby's */
};

static int take(void *ctx, const Elf64_Sym *sym, const char *name)
{
	struct search *search = ctx;
	const struct {
		const char *name;
		Elf64_Sym *to;
	} wanted[] = {
		{ "_PyRuntime", &search->runtime },
		{ "PyCode_Type", &search->code_type },
		{ "Py_Version", &search->version },
		{ "ruby_current_vm_ptr", &search->ruby_vm },
		{ "ruby_version", &search->ruby_version },
		{ "rb_mutex_lock", &search->lock },
	};
	uint8_t type = ELF64_ST_TYPE(sym->st_info);

	if ((type != STT_OBJECT && type != STT_FUNC) || !sym->st_value)
		return 0;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		if (!strcmp(name, wanted[i].name))
			*wanted[i].to = *sym;
	return 0;
}

static bool has_python(const struct search *search)
{
	return search->runtime.st_value && search->code_type.st_value && search->version.st_value;
}

static bool has_ruby(const struct search *search)
{
	return search->ruby_vm.st_value && search->ruby_version.st_value && search->lock.st_value;
}

static bool has_all(const struct search *search)
{
	return has_python(search) || has_ruby(search);
}

/* Reads a constant's bytes from the file. */
static int read_constant(const struct elf *elf, uint64_t vaddr, void *buf, size_t len)
{
	for (size_t i = 0; i < elf->load_cnt; i++) {
		const struct elf_segment *seg = &elf->loads[i];

		if (vaddr >= seg->vaddr && vaddr - seg->vaddr < seg->file_size)
			return image__read(&elf->img, seg->offset + (vaddr - seg->vaddr), buf, len);
	}
	return -ENOENT;
}

/* Parses "3.1.2" to 0x03010200. */
static int read_ruby_version(const struct elf *elf, uint64_t vaddr, uint32_t *ret)
{
	char text[VERSION_MAX] = {};
	unsigned major, minor, patch;
	int res = read_constant(elf, vaddr, text, sizeof(text) - 1);

	if (res)
		return res;
	if (sscanf(text, "%3u.%3u.%3u", &major, &minor, &patch) != 3)
		return -ENOENT;
	*ret = (major & 0xff) << 24 | (minor & 0xff) << 16 | (patch & 0xff) << 8;
	return 0;
}

/*
 * Returns the begin of the code behind rb_mutex_lock. rb_mutex_lock may only jump to an unnamed
 * function shortly before it. Then rb_mutex_lock is not in the stacks of the threads that wait.
 * Returns the target of the jump, or the function itself.
 */
static uint64_t lock_begin(const struct elf *elf, uint64_t vaddr)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[16];
	size_t at = 0;
	int32_t disp;
	uint64_t to;

	if (read_constant(elf, vaddr, code, sizeof(code)))
		return vaddr;
	if (!memcmp(code, endbr64, sizeof(endbr64)))
		at = sizeof(endbr64);
	if (code[at] == 0xbe) /* mov $1,%esi */
		at += 5;
	memcpy(&disp, code + at + 1, sizeof(disp));
	to = vaddr + at + 5 + disp;
	return code[at] == 0xe9 && to < vaddr && vaddr - to < NEAR_MAX ? to : vaddr;
}

static int script_elf_make_ruby(const struct elf *elf, const struct search *search,
				struct interp_elf *ret)
{
	*ret = (struct interp_elf){
		.is_ruby = true,
		.runtime = search->ruby_vm.st_value,
		.lock_begin = lock_begin(elf, search->lock.st_value),
		.lock_end = search->lock.st_value + search->lock.st_size,
	};
	return read_ruby_version(elf, search->ruby_version.st_value, &ret->version);
}

int interp_elf__find(const struct elf *elf, struct interp_elf *ret)
{
	struct search search = {};
	uint64_t version;
	int res;

	if (!elf->is64)
		return -ENOENT;
	res = elf__each_named(elf, SHT_DYNSYM, take, &search);
	if (!res && !has_all(&search))
		res = elf__each_named(elf, SHT_SYMTAB, take, &search);
	if (res || !has_all(&search))
		return res ?: -ENOENT;
	if (!has_python(&search))
		return script_elf_make_ruby(elf, &search, ret);
	res = read_constant(elf, search.version.st_value, &version, sizeof(version));
	if (res)
		return res;
	*ret = (struct interp_elf){ .runtime = search.runtime.st_value,
				    .code_type = search.code_type.st_value,
				    .version = version };
	return 0;
}

#define LANGUAGE "python"
#define UNNAMED	 "[python]"

/*
 * Matches "python3.11", "libpython3.11.so.1.0", "libruby-3.1.so.3.1", but not a module such as
 * "_json.cpython-311.so".
 */
static bool may_be_one(const struct mapped *mapped)
{
	const char *name = strrchr(mapped->path, '/');

	if (mapped->kind != MAPPED_FILE || !mapped->module || !name)
		return false;
	name += strncmp(name, "/lib", 4) ? 1 : 4;
	return !strncmp(name, "python", 6) || !strncmp(name, "ruby", 4);
}

static int find(void *ctx, const struct elf *elf)
{
	return interp_elf__find(elf, ctx);
}

static struct interp_memory memory_of(const struct process_env *env, const struct process *process)
{
	return (struct interp_memory){ env->proc, process->living };
}

static int find_offsets(const struct interp_memory *mem, uint64_t runtime, uint32_t version,
			struct interp_offsets *ret)
{
	uint8_t told[SCRIPT_OFFSETS_SZ];
	int res;

	if (interp_offsets__of(version, ret))
		return 0;
	if (!interp_offsets__told(version))
		return -ENOTSUP;
	res = interp_memory__read(mem, runtime, told, sizeof(told));
	if (res)
		return res;
	return interp_offsets__read(told, version, ret) ? 0 : -ENOTSUP;
}

static struct interp *make_ruby(const struct interp_elf *elf, uint64_t bias)
{
	const struct script_ruby_offsets *offsets = script_ruby__offsets(elf->version);
	struct interp *script = offsets ? calloc(1, sizeof(*script)) : NULL;

	if (!script)
		return NULL;
	script->runtime = bias + elf->runtime;
	script->ruby = offsets;
	script->lock_begin = bias + elf->lock_begin;
	script->lock_end = bias + elf->lock_end;
	return script;
}

/* *known false: the process may become an interpreter later. */
static struct interp *make(struct process_env *env, const struct process *process,
			   const struct region *region, bool *known)
{
	struct interp_memory mem = memory_of(env, process);
	struct interp_offsets offsets;
	struct interp *script;
	struct interp_elf elf;
	uint64_t bias;
	int res;

	if (process__read_elf(env, process, region, find, &elf, &bias))
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

static bool is_same(const struct interp *a, const struct interp *b)
{
	return a && b && a->runtime == b->runtime && a->code_type == b->code_type &&
	       a->offsets.version == b->offsets.version && a->ruby == b->ruby;
}

struct interp *interp__of(struct process_env *env, struct process *process)
{
	const struct mapped *last = NULL;
	struct interp *found = NULL;

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
		interp__free(found);
		return process->script;
	}
	interp__free(process->script);
	process->script = found;
	return found;
}

static void name(struct interp *script, const struct interp_memory *mem, struct pool *pool,
		 const struct jank_script_frame *from, struct frame *ret)
{
	const struct interp_code *code = script ? interp_code__get(script, mem, from->code) : NULL;

	*ret = (struct frame){ .address = from->instr, .module = UNNAMED, .language = LANGUAGE };
	/* The instruction may lie before the first one, when the code is about to begin. */
	if (!code || code->check != from->check ||
	    from->instr + 2 - code->bytecode >= code->units * 2 + 2)
		return;
	ret->function = pool__add(pool, code->function, strlen(code->function));
	ret->file = pool__add(pool, code->file, strlen(code->file));
	ret->module = ret->file ?: UNNAMED;
	ret->offset = from->instr < code->bytecode ? 0 : from->instr - code->bytecode;
	ret->line = interp_code__line(code, from->instr);
	ret->app = code->app;
}

int interp__add_frames(struct process_env *env, struct process *process, struct pool *pool,
		       struct stack *stack)
{
	struct interp_memory mem;
	struct interp *script;
	struct frame *frames;

	if (!stack->script_cnt)
		return 0;
	frames = reallocarray(stack->frames, stack->frame_cnt + stack->script_cnt, sizeof(*frames));
	if (!frames) {
		stack->script_cnt = 0; /* so that no other frame is taken for a script frame */
		return -ENOMEM;
	}
	stack->frames = frames;
	frames += stack->frame_cnt;
	stack->frame_cnt += stack->script_cnt;
	memset(frames, 0, stack->script_cnt * sizeof(*frames));
	script = process ? interp__of(env, process) : NULL;
	if (process)
		mem = memory_of(env, process);
	for (size_t i = 0; i < stack->script_cnt; i++) {
		if (stack->script[i].flags & JANK_SCRIPT_NATIVE)
			language__name(process, pool, &stack->script[i], &frames[i]);
		else if (stack->script[i].code)
			name(script, &mem, pool, &stack->script[i], &frames[i]);
	}
	return 0;
}
