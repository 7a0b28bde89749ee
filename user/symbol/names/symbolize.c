/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The symbolizer: table of known processes, and limits on cached data. */
#include "symbol/names/symbolize.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/must.h"
#include "files/file.h"
#include "symbol/elf/elffunc.h"
#include "symbol/modules/fetch.h"
#include "symbol/names/symbolize_parts.h"

#define CACHE_BYTES_DEFAULT (24u << 20)
#define REST_NS		    (60 * NS_PER_SEC)

int symbolizer__new(const struct symbolizer_opts *opts, struct symbolizer **ret, struct err *err)
{
	struct symbolizer *sym = must__calloc(1, sizeof(*sym));

	sym->demangle = opts->demangle;
	sym->max_cache_bytes = opts->max_cache_bytes ?: CACHE_BYTES_DEFAULT;
	sym->env.machine = opts->machine;
	sym->env.pc_mask = opts->pc_mask;
	sym->env.other = opts->other;
	sym->this_kernel = !opts->kallsyms;
	sym->kallsyms = must__strdup(opts->kallsyms ?: "/proc/kallsyms");
	sym->env.proc = must__strdup(opts->proc ?: "/proc");
	sym->env.debug_dir = must__strdup(opts->debug_dir ?: "/usr/lib/debug");
	symtab__init(&sym->kernel);
	sym->env.fetch = fetch__new(NULL, err); /* only a warning */
	*ret = sym;
	return 0;
}

struct symbolizer *symbolizer__new_remote(const struct symbolizer_ops *ops, void *ctx)
{
	struct symbolizer *sym = calloc(1, sizeof(*sym));

	if (sym) {
		sym->remote = ops;
		sym->remote_ctx = ctx;
	}
	return sym;
}

void symbolizer__free(struct symbolizer *sym)
{
	struct process *process, *next;

	if (!sym)
		return;
	if (sym->remote) {
		free(sym);
		return;
	}
	HASH_ITER (hh, sym->processes, process, next) {
		HASH_DEL(sym->processes, process);
		process__free(&sym->env, process);
	}
	fetch__free(sym->env.fetch);
	modules__free(&sym->env.modules);
	symtab__free(&sym->kernel);
	cache__clear(&sym->kernel_cache);
	pool__free(&sym->pool);
	free(sym->kallsyms);
	free(sym->env.leased);
	free(sym->env.proc);
	free(sym->env.debug_dir);
	free(sym);
}

struct process *symbolizer__find(const struct symbolizer *sym, uint32_t pid)
{
	struct process *ret;

	HASH_FIND(hh, sym->processes, &pid, sizeof(pid), ret);
	return ret;
}

static struct process *add_process(struct symbolizer *sym, uint32_t pid)
{
	struct process *ret = process__new(pid);

	HASH_ADD(hh, sym->processes, pid, sizeof(pid), ret);
	return ret;
}

int symbolizer__process(struct symbolizer *sym, uint32_t pid, struct err *err)
{
	struct process *process = symbolizer__find(sym, pid);
	bool known = process;
	int ret;

	if (sym->remote)
		return sym->remote->process(sym->remote_ctx, pid, err);
	if (!known)
		process = add_process(sym, pid);
	if (!process)
		return err__set(err, ENOMEM, "out of memory");
	ret = process__refresh(&sym->env, process, false);
	if (!ret) {
		return 0;
	}
	if (!known) {
		HASH_DEL(sym->processes, process);
		process__free(&sym->env, process);
	}
	return err__set(err, -ret, "process %u: its mappings cannot be read: %s", pid,
			strerror(-ret));
}

void symbolizer__mapped(struct symbolizer *sym, uint32_t pid, const struct mapping *mapping)
{
	struct process *process = symbolizer__find(sym, pid);

	if (sym->remote) {
		sym->remote->mapped(sym->remote_ctx, pid, mapping);
		return;
	}
	if (process) /* otherwise its mappings are read when it is first seen */
		process__mapped(&sym->env, process, mapping);
}

void symbolizer__flush(struct symbolizer *sym)
{
	if (sym->remote)
		sym->remote->flush(sym->remote_ctx);
}

const char *symbolizer__leased(const struct symbolizer *sym, uint64_t *ret_cnt)
{
	if (sym->remote)
		return sym->remote->leased(sym->remote_ctx, ret_cnt);
	*ret_cnt = sym->env.leased_cnt;
	return sym->env.leased;
}

uint64_t symbolizer__cut_cnt(const struct symbolizer *sym)
{
	if (sym->remote)
		return sym->remote->cut_cnt(sym->remote_ctx);
	return sym->cut_cnt + sym->env.cut_cnt;
}

bool symbolizer__knows(const struct symbolizer *sym, uint32_t pid)
{
	if (sym->remote)
		return sym->remote->knows(sym->remote_ctx, pid);
	return symbolizer__find(sym, pid);
}

void symbolizer__process_gone(struct symbolizer *sym, uint32_t pid)
{
	struct process *process = symbolizer__find(sym, pid);

	if (sym->remote) {
		sym->remote->process_gone(sym->remote_ctx, pid);
		return;
	}
	if (process) {
		HASH_DEL(sym->processes, process);
		process__free(&sym->env, process);
	}
}

struct process *symbolizer__known(struct symbolizer *sym, uint32_t pid)
{
	struct process *ret = symbolizer__find(sym, pid);

	if (!ret && !symbolizer__process(sym, pid, NULL))
		ret = symbolizer__find(sym, pid);
	return ret;
}

bool symbolizer__has_section(struct symbolizer *sym, uint32_t pid, const char *section)
{
	char path[PATH_MAX];
	struct elffunc elf;
	bool ret;
	int fd;

	if (sym->remote)
		return sym->remote->has_section(sym->remote_ctx, pid, section);
	snprintf(path, sizeof(path), "%s/%" PRIu32 "/exe", sym->env.proc, pid);
	fd = openfile__link(path, NULL);
	if (fd < 0 || elffunc__open(fd, &elf))
		return false;
	ret = elffunc__has_section(&elf, section);
	elffunc__close(&elf);
	return ret;
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

static bool is_full(const struct symbolizer *sym)
{
	return bytes_besides_modules(sym) + modules__bytes(&sym->env.modules) >
	       sym->max_cache_bytes;
}

/*
 * Free DWARF first: it is large, and its results are in the caches. Without the caches it would be
 * read again for the next block.
 */
void symbolizer__trim(struct symbolizer *sym)
{
	struct process *process;
	struct module *module;
	size_t besides;

	if (sym->remote) {
		sym->remote->trim(sym->remote_ctx);
		return;
	}
	if (!is_full(sym))
		return;
	modules__bound_dwarf(&sym->env.modules, NULL, sym->max_cache_bytes / 2);
	if (!is_full(sym))
		return;
	for (process = sym->processes; process; process = process->hh.next)
		cache__clear(&process->cache);
	for (module = sym->env.modules.table; module; module = module->hh.next)
		cache__clear(&module->sources);
	cache__clear(&sym->kernel_cache);
	pool__free(&sym->pool);
	besides = bytes_besides_modules(sym);
	modules__trim(&sym->env.modules,
		      besides < sym->max_cache_bytes ? sym->max_cache_bytes - besides : 0);
}

void symbolizer__rest(struct symbolizer *sym, uint64_t now_ns)
{
	if (now_ns - sym->rested_ns < REST_NS)
		return;
	sym->rested_ns = now_ns;
	if (sym->remote)
		sym->remote->rest(sym->remote_ctx, now_ns);
	else
		modules__rest(&sym->env.modules);
}
