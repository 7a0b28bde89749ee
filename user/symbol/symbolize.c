/* SPDX-License-Identifier: GPL-2.0 */
/* The symbolizer's API: processes, the kernel's table, and stacks turned into frames. */
#include "symbol/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "symbol/demangle.h"
#include "symbol/kallsyms.h"
#include "symbol/resolve.h"
#include "symbol/runtime.h"
#include "symbol/vtable.h"

#define CACHE_BYTES_DEFAULT (24u << 20)

struct symbolizer {
	char *kallsyms;
	bool demangle;
	uint64_t max_cache_bytes;
	struct process_env env;
	struct process *processes;
	struct symtab kernel;
	bool kernel_loaded; /* by the first kernel address */
	bool this_kernel;   /* kallsyms is this machine's */
	char kernel_build_id[BUILD_ID_HEX_SZ];
	struct cache kernel_cache;
	struct pool pool; /* strings handed out */
};

/* What one symbolizer__stack may do once only. */
struct pass {
	struct symbolizer *sym;
	struct resolver rs;
	struct process *process;
	bool refreshed, jit_updated;
};

int symbolizer__new(const struct symbolizer_opts *opts, struct symbolizer **ret, struct err *err)
{
	struct symbolizer *sym = calloc(1, sizeof(*sym));

	if (!sym)
		return err__set(err, ENOMEM, "out of memory");
	sym->demangle = opts->demangle;
	sym->max_cache_bytes = opts->max_cache_bytes ?: CACHE_BYTES_DEFAULT;
	sym->this_kernel = !opts->kallsyms;
	sym->kallsyms = strdup(opts->kallsyms ?: "/proc/kallsyms");
	sym->env.proc = strdup(opts->proc ?: "/proc");
	sym->env.debug_dir = strdup(opts->debug_dir ?: "/usr/lib/debug");
	symtab__init(&sym->kernel);
	if (!sym->kallsyms || !sym->env.proc || !sym->env.debug_dir) {
		symbolizer__free(sym);
		return err__set(err, ENOMEM, "out of memory");
	}
	*ret = sym;
	return 0;
}

void symbolizer__free(struct symbolizer *sym)
{
	struct process *process, *next;

	if (!sym)
		return;
	HASH_ITER (hh, sym->processes, process, next) {
		HASH_DEL(sym->processes, process);
		process__free(&sym->env, process);
	}
	modules__free(&sym->env.modules);
	symtab__free(&sym->kernel);
	cache__clear(&sym->kernel_cache);
	pool__free(&sym->pool);
	free(sym->kallsyms);
	free(sym->env.proc);
	free(sym->env.debug_dir);
	free(sym);
}

static struct process *find_process(const struct symbolizer *sym, uint32_t pid)
{
	struct process *ret;

	HASH_FIND(hh, sym->processes, &pid, sizeof(pid), ret);
	return ret;
}

int symbolizer__process(struct symbolizer *sym, uint32_t pid, struct err *err)
{
	struct process *process = find_process(sym, pid);
	bool known = process;
	int ret;

	if (!known)
		process = process__new(pid);
	if (!process)
		return err__set(err, ENOMEM, "out of memory");
	ret = process__refresh(&sym->env, process, false);
	if (!ret) {
		if (!known)
			HASH_ADD(hh, sym->processes, pid, sizeof(pid), process);
		return 0;
	}
	if (!known)
		process__free(&sym->env, process);
	return err__set(err, -ret, "process %u: its mappings cannot be read: %s", pid,
			strerror(-ret));
}

bool symbolizer__knows(const struct symbolizer *sym, uint32_t pid)
{
	return find_process(sym, pid);
}

void symbolizer__process_gone(struct symbolizer *sym, uint32_t pid)
{
	struct process *process = find_process(sym, pid);

	if (process) {
		HASH_DEL(sym->processes, process);
		process__free(&sym->env, process);
	}
}

static void fill(struct frame *frame, const struct cached *entry)
{
	frame->function = entry->function;
	frame->module = entry->module;
	frame->build_id = entry->build_id;
	frame->offset = frame->address - entry->base;
	frame->app = entry->app;
}

static void load_kernel(struct symbolizer *sym)
{
	if (sym->kernel_loaded)
		return;
	sym->kernel_loaded = true;
	if (sym->kallsyms[0])
		kallsyms__load(&sym->kernel, sym->kallsyms);
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

/* The region of an address; for one outside of all, the mappings are read again, now and then. */
static const struct region *region_of(struct pass *pass, uint64_t addr)
{
	struct process *process = pass->process;
	const struct region *region = maps__find(&process->maps, addr);

	if (region || pass->refreshed || clock__mono_ns() < process->next_refresh_ns)
		return region;
	pass->refreshed = true;
	if (process__refresh(&pass->sym->env, process, true))
		return NULL;
	return maps__find(&process->maps, addr);
}

/* Whether a cached name still stands: those of a JIT compiler end with its map's next change. */
static bool still_stands(struct pass *pass, const struct cached *entry)
{
	if (!entry->jit)
		return true;
	update_jit(pass);
	return entry->generation == pass->process->jit.generation;
}

static void name_user(struct pass *pass, struct frame *frame, bool exact)
{
	struct cached fresh = { .key = cache__key(frame->address, exact) };
	const struct region *region;
	struct cached *entry;

	if (!pass->process)
		return;
	entry = cache__find(&pass->process->cache, fresh.key);
	if (!entry || !still_stands(pass, entry)) {
		region = region_of(pass, frame->address - !exact);
		if (!region)
			return;
		if (region->mapped->kind != MAPPED_VDSO)
			update_jit(pass);
		resolve__user(&pass->rs, pass->process, region, frame->address, exact, &fresh);
		cache__add(&pass->process->cache, &fresh);
		entry = &fresh;
	}
	fill(frame, entry);
}

static struct resolver resolver_of(struct symbolizer *sym)
{
	return (struct resolver){ .env = &sym->env,
				  .pool = &sym->pool,
				  .kernel_build_id = sym->kernel_build_id,
				  .this_kernel = sym->this_kernel,
				  .demangle = sym->demangle };
}

/* The process, read now when it isn't known yet; NULL: it can't be. */
static struct process *known_process(struct symbolizer *sym, uint32_t pid)
{
	struct process *ret = find_process(sym, pid);

	if (!ret && !symbolizer__process(sym, pid, NULL))
		ret = find_process(sym, pid);
	return ret;
}

int symbolizer__stack(struct symbolizer *sym, uint32_t pid, struct stack *stack)
{
	struct pass pass = { .sym = sym, .rs = resolver_of(sym) };
	size_t cnt = (size_t)stack->kernel_cnt + stack->user_cnt, i;

	free(stack->frames);
	stack->frame_cnt = 0;
	stack->frames = calloc(cnt ? cnt : 1, sizeof(*stack->frames));
	if (!stack->frames)
		return -ENOMEM;
	if (stack->user_cnt)
		pass.process = known_process(sym, pid);
	for (i = 0; i < cnt; i++) {
		struct frame *frame = &stack->frames[i];

		frame->address = stack->addresses[i];
		if (i < stack->kernel_cnt)
			name_kernel(&pass, frame, i == 0);
		else
			name_user(&pass, frame, i == stack->kernel_cnt);
	}
	stack->frame_cnt = cnt;
	return 0;
}

int symbolizer__function(struct symbolizer *sym, uint32_t pid, uint64_t addr, struct frame *ret)
{
	struct stack stack = { .addresses = &addr, .user_cnt = 1 };
	int res = symbolizer__stack(sym, pid, &stack);

	if (!res)
		*ret = stack.frames[0];
	free(stack.frames);
	return res;
}

/* A vtable's address is none of code, so its class may be kept as if it were a function's name. */
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
	struct pass pass = { .sym = sym, .process = known_process(sym, pid) };

	*ret = (struct frame){ .address = vtable };
	if (!pass.process)
		return 0;
	name_class(&pass, ret);
	if (ret->function || clock__mono_ns() < pass.process->next_refresh_ns)
		return 0;
	if (!process__refresh(&sym->env, pass.process, true)) /* its library may be a new one */
		name_class(&pass, ret);
	return 0;
}

bool symbolizer__code(struct symbolizer *sym, uint32_t pid, uint64_t addr, struct code_opts opts,
		      struct frame *ret)
{
	struct process *process = find_process(sym, pid);
	const struct region *region;
	struct cached entry = {};
	struct resolver rs;

	region = process ? maps__find(&process->maps, addr - !opts.exact) : NULL;
	if (!region)
		return false;
	*ret = (struct frame){ .address = addr, .module = region->mapped->path };
	if (!opts.named || region->mapped->kind != MAPPED_FILE)
		return true;
	rs = resolver_of(sym);
	rs.demangle = false; /* nor cached: others want it demangled */
	resolve__user(&rs, process, region, addr, opts.exact, &entry);
	ret->function = entry.function;
	ret->offset = addr - entry.base;
	return true;
}

static size_t bytes_besides_modules(const struct symbolizer *sym)
{
	size_t ret =
		sym->pool.bytes + symtab__bytes(&sym->kernel) + cache__bytes(&sym->kernel_cache);
	const struct process *process;

	for (process = sym->processes; process; process = process->hh.next)
		ret += process__bytes(process);
	return ret;
}

void symbolizer__trim(struct symbolizer *sym)
{
	struct process *process;
	size_t besides = bytes_besides_modules(sym);

	if (besides + modules__bytes(&sym->env.modules) <= sym->max_cache_bytes)
		return;
	for (process = sym->processes; process; process = process->hh.next)
		cache__clear(&process->cache);
	cache__clear(&sym->kernel_cache);
	pool__free(&sym->pool);
	besides = bytes_besides_modules(sym);
	modules__trim(&sym->env.modules,
		      besides < sym->max_cache_bytes ? sym->max_cache_bytes - besides : 0);
}
