/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resolves stacks to frames, and other addresses to names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/must.h"
#include "symbol/elf/vtable.h"
#include "symbol/languages/heap.h"
#include "symbol/languages/runtime.h"
#include "symbol/modules/fetch.h"
#include "symbol/names/kallsyms.h"
#include "symbol/names/resolve.h"
#include "symbol/names/symbolize_parts.h"
#include "symbol/unwind/tables.h"

/* State of one symbolizer__stack call: what it does at most once. */
struct pass {
	struct symbolizer *sym;
	struct resolver rs;
	struct process *process;
	bool refreshed, jit_updated;
};

static void fill(struct frame *frame, const struct cached *entry)
{
	frame->function = entry->function;
	frame->module = entry->module;
	frame->build_id = entry->build_id;
	frame->offset = frame->address - entry->base;
	frame->start = entry->start;
	frame->file = entry->file;
	frame->line = entry->line;
	frame->language = entry->language;
	frame->app = entry->app;
}

/*
 * Inlined functions, innermost first, then the function that contains them. Only that one can be
 * `app`, so that a verdict is the same with and without debug information.
 */
static size_t fill_all(struct frame *frames, const struct cached *entry)
{
	uint32_t cnt = entry->inlined_cnt;

	frames[cnt] = (struct frame){ .address = frames[0].address }; /* make_room does not clear */
	fill(&frames[cnt], entry);
	for (uint32_t i = 0; i < cnt; i++) {
		frames[i] = frames[cnt];
		frames[i].function = entry->inlined[i].function;
		frames[i].file = entry->inlined[i].file;
		frames[i].line = entry->inlined[i].line;
		frames[i].inlined = true;
		frames[i].app = false;
	}
	return cnt + 1;
}

static void load_kernel(struct symbolizer *sym)
{
	if (sym->kernel_loaded)
		return;
	sym->kernel_loaded = true;
	if (sym->kallsyms[0] && kallsyms__load(&sym->kernel, sym->kallsyms) == -EMFILE)
		sym->kernel_loaded = false; /* a descriptor may be free later */
	if (sym->this_kernel)
		kallsyms__build_id("vmlinux", sym->kernel_build_id);
}

static void name_kernel(struct pass *pass, struct frame *frame, bool exact)
{
	struct symbolizer *sym = pass->sym;
	struct cached fresh = { .key = cache__key(frame->address, exact) };
	struct cached *entry = cache__find(&sym->kernel_cache, fresh.key);

	if (!entry) {
		load_kernel(sym);
		resolve__kernel(&pass->rs, &sym->kernel, frame->address, exact, &fresh);
		cache__add(&sym->kernel_cache, &fresh);
		entry = &fresh;
	}
	fill(frame, entry);
	frame->kernel = true;
}

static void update_jit(struct pass *pass)
{
	if (pass->jit_updated)
		return;
	pass->jit_updated = true;
	process__update_jit(&pass->sym->env, pass->process);
}

/* The region of an address. When it is in none, reads the mappings again, at a limited rate. */
static const struct region *region_of(struct pass *pass, uint64_t addr)
{
	struct process *process = pass->process;
	const struct region *region = proc_maps__find(&process->maps, addr);

	if (region || pass->refreshed || clock__mono_ns() < process->next_refresh_ns)
		return region;
	pass->refreshed = true;
	if (process__refresh(&pass->sym->env, process, true))
		return NULL;
	return proc_maps__find(&process->maps, addr);
}

/* Whether a cached name is valid: names from a JIT compiler end when its map changes. */
static bool still_stands(struct pass *pass, const struct cached *entry)
{
	if (!entry->jit)
		return true;
	update_jit(pass);
	return entry->generation == process__jit_generation(pass->process);
}

/*
 * Fills frames from frames[0] on, of which only the first has its address. Returns the number of
 * functions there.
 */
static size_t name_user(struct pass *pass, struct frame *frame, bool exact)
{
	struct cached fresh = { .key = cache__key(frame->address, exact) };
	const struct region *region;
	struct cached *entry;
	bool past;

	if (!pass->process)
		return 1;
	past = proc_maps__is_past(&pass->process->maps);
	entry = past ? NULL : cache__find(&pass->process->cache, fresh.key);
	if (!entry || !still_stands(pass, entry)) {
		region = region_of(pass, frame->address - !exact);
		if (!region)
			return 1;
		if (region->mapped->kind != MAPPED_VDSO)
			update_jit(pass);
		resolve__user(&pass->rs, pass->process, region, frame->address, exact, &fresh);
		if (!past)
			cache__add(&pass->process->cache, &fresh);
		entry = &fresh;
	}
	pass->sym->cut_cnt += entry->cut;
	return fill_all(frame, entry);
}

static struct resolver resolver_of(struct symbolizer *sym)
{
	return (struct resolver){ .env = &sym->env,
				  .pool = &sym->pool,
				  .kernel_build_id = sym->kernel_build_id,
				  .this_kernel = sym->this_kernel,
				  .source = true,
				  .demangle = sym->demangle };
}

static void take_fetched_of(struct symbolizer *sym, struct module *module)
{
	const struct debugfile_places places = { .debug_dir = sym->env.debug_dir };
	int fd = module->loaded && module->build_id[0] && !module->dwarf
			 ? fetch__open(sym->env.fetch, module->build_id)
			 : -1;
	struct image img;

	if (fd < 0)
		return;
	if (!image__of_fd(&img, fd))
		module__add_debug(module, &img, &places);
	close(fd);
}

/* Uses debug files that have arrived; cached names are resolved again. */
static void take_fetched(struct symbolizer *sym)
{
	unsigned cnt = fetch__cnt(sym->env.fetch);
	struct process *process;
	struct module *module;

	if (cnt == sym->fetched)
		return;
	sym->fetched = cnt;
	for (module = sym->env.modules.table; module; module = module->hh.next)
		take_fetched_of(sym, module);
	for (process = sym->processes; process; process = process->hh.next)
		cache__clear(&process->cache);
}

/* Makes room for one more address with the maximum of inlined functions. */
static void make_room(struct stack *stack, size_t *cap)
{
	size_t need = stack->frame_cnt + DWARF_INLINED_MAX + 1;

	if (need <= *cap)
		return;
	*cap = 2 * *cap > need ? 2 * *cap : need;
	stack->frames = must__realloc(stack->frames, *cap * sizeof(*stack->frames));
}

static void add_frames(struct pass *pass, struct stack *stack, size_t *cap, size_t i)
{
	struct frame *frame;

	make_room(stack, cap);
	frame = &stack->frames[stack->frame_cnt];
	*frame = (struct frame){ .address = stack->addresses[i] };
	if (i >= stack->kernel_cnt) {
		stack->frame_cnt += name_user(pass, frame, i == stack->kernel_cnt);
		return;
	}
	name_kernel(pass, frame, i == 0);
	stack->frame_cnt++;
}

/* Code that ART compiled: who owns its methods is decided as for HotSpot's. */
static bool has_compiled_java(const struct stack *stack)
{
	for (size_t i = 0; i < stack->frame_cnt; i++)
		if (stack->frames[i].language && stack->frames[i].module &&
		    java__is_compiled(stack->frames[i].module))
			return true;
	return false;
}

int symbolizer__stack(struct symbolizer *sym, uint32_t pid, struct stack *stack)
{
	struct pass pass = { .sym = sym, .rs = resolver_of(sym) };
	size_t cnt = (size_t)stack->kernel_cnt + stack->user_cnt, cap;

	if (sym->remote)
		return sym->remote->stacks(sym->remote_ctx, pid, &stack, 1);
	take_fetched(sym);
	free(stack->frames);
	stack->frame_cnt = 0;
	cap = cnt + DWARF_INLINED_MAX;
	stack->frames = must__calloc(cap, sizeof(*stack->frames));
	if (stack->user_cnt || stack->script_cnt)
		pass.process = symbolizer__known(sym, pid);
	if (pass.process)
		pass.process->maps.at_ns = stack->t_ns;
	for (size_t i = 0; i < cnt; i++)
		add_frames(&pass, stack, &cap, i);
	if (pass.process && (pass.process->is_java || has_compiled_java(stack)))
		java__resolve_all(stack->frames, stack->frame_cnt);
	if (pass.process)
		pass.process->maps.at_ns = 0;
	return script__add_frames(&sym->env, pass.process, &sym->pool, stack);
}

int symbolizer__stacks(struct symbolizer *sym, uint32_t pid, struct stack *const *stacks,
		       size_t cnt)
{
	int res = 0;

	if (sym->remote)
		return sym->remote->stacks(sym->remote_ctx, pid, stacks, cnt);
	for (size_t i = 0; i < cnt; i++)
		res = symbolizer__stack(sym, pid, stacks[i]) ?: res;
	return res;
}

/* Use the function itself, not those inlined at its beginning. */
int symbolizer__function(struct symbolizer *sym, uint32_t pid, uint64_t addr, struct frame *ret)
{
	struct stack stack = { .addresses = &addr, .user_cnt = 1 };
	int res;

	if (sym->remote)
		return sym->remote->function(sym->remote_ctx, pid, addr, ret);
	res = symbolizer__stack(sym, pid, &stack);
	if (!res)
		*ret = stack.frames[stack.frame_cnt - 1];
	free(stack.frames);
	return res;
}

/* The address of a vtable is never a code address, so its class can be cached like a function. */
static void name_class(struct pass *pass, struct frame *frame)
{
	struct cached fresh = { .key = cache__key(frame->address, true), .base = frame->address };
	struct cached *entry = cache__find(&pass->process->cache, fresh.key);
	char name[DEMANGLE_MAX];
	struct mapped *mapped;
	size_t len;

	if (!entry) {
		len = vtable__class(&pass->sym->env, pass->process, frame->address, name,
				    sizeof(name), &mapped);
		if (len) {
			fresh.function = pool__add(&pass->sym->pool, name, len);
			if (mapped)
				fresh.module = pool__add(&pass->sym->pool, mapped->path,
							 strlen(mapped->path));
			fresh.app = !fresh.module || !runtime__is(fresh.module);
		}
		cache__add(&pass->process->cache, &fresh);
		entry = &fresh;
	}
	fill(frame, entry);
}

int symbolizer__class(struct symbolizer *sym, uint32_t pid, uint64_t vtable, struct frame *ret)
{
	struct pass pass = { .sym = sym };

	if (sym->remote)
		return sym->remote->class(sym->remote_ctx, pid, vtable, ret);
	pass.process = symbolizer__known(sym, pid);
	*ret = (struct frame){ .address = vtable };
	if (!pass.process)
		return 0;
	name_class(&pass, ret);
	if (ret->function || clock__mono_ns() < pass.process->next_refresh_ns)
		return 0;
	if (!process__refresh(&sym->env, pass.process, true)) /* its library may be new */
		name_class(&pass, ret);
	return 0;
}

int symbolizer__variable(struct symbolizer *sym, uint32_t pid, uint64_t addr, struct frame *ret)
{
	const struct process *process;
	char name[DEMANGLE_MAX];
	struct mapped *mapped;
	size_t len;

	if (sym->remote)
		return sym->remote->variable(sym->remote_ctx, pid, addr, ret);
	*ret = (struct frame){ .address = addr };
	process = symbolizer__known(sym, pid);
	len = process ? variable__name(&sym->env, process, addr, name, sizeof(name), &mapped,
				       &ret->offset)
		      : 0;
	if (!len)
		return 0;
	ret->function = pool__add(&sym->pool, name, len);
	ret->module = pool__add(&sym->pool, mapped->path, strlen(mapped->path));
	return ret->function && ret->module ? 0 : -ENOMEM;
}

bool symbolizer__code(struct symbolizer *sym, uint32_t pid, uint64_t addr, struct code_opts opts,
		      struct frame *ret)
{
	struct process *process = symbolizer__find(sym, pid);
	const struct region *region;
	struct cached entry = {};
	struct resolver rs;

	if (sym->remote)
		return sym->remote->code(sym->remote_ctx, pid, addr, opts, ret);
	region = process ? proc_maps__find(&process->maps, addr - !opts.exact) : NULL;
	if (!region)
		return false;
	*ret = (struct frame){ .address = addr, .module = region->mapped->path };
	if (!opts.named || region->mapped->kind != MAPPED_FILE)
		return true;
	rs = resolver_of(sym);
	rs.source = false;
	rs.demangle = false; /* not cached either: the cache has demangled names */
	resolve__user(&rs, process, region, addr, opts.exact, &entry);
	ret->function = entry.function;
	ret->offset = addr - entry.base;
	return true;
}

size_t symbolizer__keep_code(struct symbolizer *sym, uint32_t pid, const uint64_t *words,
			     size_t cnt, uint64_t *ret, size_t max)
{
	struct frame frame;
	size_t kept = 0;

	if (sym->remote)
		return sym->remote->keep_code(sym->remote_ctx, pid, words, cnt, ret, max);
	for (size_t i = 0; i < cnt && kept < max; i++)
		if (symbolizer__code(sym, pid, words[i], (struct code_opts){}, &frame))
			ret[kept++] = words[i];
	return kept;
}

int symbolizer__code_bytes(struct symbolizer *sym, uint32_t pid, uint64_t addr, void *buf,
			   size_t len)
{
	struct process *process = symbolizer__find(sym, pid);
	const struct region *region = process ? proc_maps__find(&process->maps, addr) : NULL;

	if (sym->remote)
		return sym->remote->code_bytes(sym->remote_ctx, pid, addr, buf, len);
	return region ? tables__file_code(&sym->env, process, region, addr, buf, len) : -ENODATA;
}
