/* SPDX-License-Identifier: GPL-2.0 */
/* What modules keep in memory and open, how much of it, and what is given up first. */
#include <stdlib.h>
#include <unistd.h>

#include "symbol/modules/module_parts.h"

#define HELD_MAX     256 /* descriptors for files not read yet: further ones are opened again by name */
#define CFI_HELD_MAX 128 /* for unwind tables: the same */

void module__keep_fd(struct modules *modules, struct module *module, int fd)
{
	if (module && !module->loaded && module->fd < 0 && modules->held < HELD_MAX) {
		module->fd = fd;
		modules->held++;
	} else {
		close(fd);
	}
}

void module__drop_fd(struct modules *modules, struct module *module)
{
	if (module->fd < 0)
		return;
	close(module->fd);
	module->fd = -1;
	modules->held--;
}

static void drop_cfi(struct modules *modules, struct module *module)
{
	modules->cfi_held -= module->cfi && cfi__has_fd(module->cfi);
	cfi__free(module->cfi);
	module->cfi = NULL;
}

static void drop_tables(struct module *module)
{
	size_t i;

	for (i = 0; i < module->tab_cnt; i++)
		symtab__free(&module->tabs[i].syms);
	dwarf__free(module->dwarf);
	module->dwarf = NULL;
	gopclntab__free(module->go);
	module->go = NULL;
	free(module->loads);
	module->loads = NULL;
	module->load_cnt = module->tab_cnt = 0;
	module->loaded = false;
	if (module->source >= 0)
		close(module->source);
	module->source = -1;
}

static void unload(struct modules *modules, struct module *module)
{
	drop_cfi(modules, module);
	drop_tables(module);
}

static void remove_module(struct modules *modules, struct module *module)
{
	HASH_DEL(modules->table, module);
	module__drop_fd(modules, module);
	unload(modules, module);
	free(module);
}

/* Tables outlive the last process that mapped the file: it may be started again. */
void module__put(struct modules *modules, struct module *module)
{
	if (!module || --module->refs)
		return;
	if (!module->tab_cnt && !module->cfi)
		remove_module(modules, module);
}

/* A walk may have the unwind tables in hand; those look at their file themselves (cfi__watch). */
void module__check(struct module *module)
{
	if (module->source >= 0 && image__written_ns(module->source) != module->source_ns)
		drop_tables(module);
}

static void close_oldest_cfi(struct modules *modules)
{
	struct module *module, *oldest = NULL;

	for (module = modules->table; module; module = module->hh.next)
		if (module->cfi && cfi__has_fd(module->cfi) &&
		    (!oldest || module->used < oldest->used))
			oldest = module;
	if (oldest)
		cfi__set_fd(oldest->cfi, -1);
	modules->cfi_held -= !!oldest;
}

struct cfi *modules__open_cfi(struct modules *modules, struct module *module, int fd)
{
	if (modules->cfi_held >= CFI_HELD_MAX)
		close_oldest_cfi(modules);
	if (module->cfi) {
		modules->cfi_held -= cfi__has_fd(module->cfi);
		cfi__set_fd(module->cfi, fd);
	} else {
		module->cfi = cfi__new(fd, module->id.file.part, NULL, 0);
	}
	modules->cfi_held += module->cfi && cfi__has_fd(module->cfi);
	if (module->cfi && module_id__is_shared(&module->id))
		cfi__watch(module->cfi);
	return module->cfi;
}

static size_t bytes_of(const struct module *module)
{
	size_t ret = sizeof(*module) + module->load_cnt * sizeof(*module->loads), i;

	ret += dwarf__bytes(module->dwarf) + (module->go ? sizeof(*module->go) : 0);
	if (module->cfi)
		ret += cfi__bytes(module->cfi);
	for (i = 0; i < module->tab_cnt; i++)
		ret += symtab__bytes(&module->tabs[i].syms);
	return ret;
}

size_t modules__bytes(const struct modules *modules)
{
	const struct module *module;
	size_t ret = module_ids__bytes(&modules->ids);

	for (module = modules->table; module; module = module->hh.next)
		ret += bytes_of(module);
	return ret;
}

/* The module to give up next, or NULL. A vdso stays: it could not be read again. */
static struct module *victim(const struct modules *modules)
{
	struct module *module, *best = NULL;

	for (module = modules->table; module; module = module->hh.next) {
		bool unused = !module->refs;

		if ((!module->tab_cnt && !module->cfi) || (!unused && module->in_memory))
			continue;
		if (!best || unused > !best->refs ||
		    (unused == !best->refs && module->used < best->used))
			best = module;
	}
	return best;
}

static size_t dwarf_bytes(const struct modules *modules)
{
	const struct module *module;
	size_t ret = 0;

	for (module = modules->table; module; module = module->hh.next)
		ret += dwarf__bytes(module->dwarf);
	return ret;
}

/* Its DWARF is in memory; of those, the one that was used least recently. One that has been given up keeps a little. */
static struct module *oldest_dwarf(const struct modules *modules, const struct module *but)
{
	struct module *module, *ret = NULL;

	for (module = modules->table; module; module = module->hh.next)
		if (module != but && dwarf__is_loaded(module->dwarf) &&
		    (!ret || module->used < ret->used))
			ret = module;
	return ret;
}

void modules__bound_dwarf(struct modules *modules, const struct module *module, size_t max)
{
	size_t bytes = dwarf_bytes(modules);
	struct module *oldest;

	while (bytes > max && (oldest = oldest_dwarf(modules, module))) {
		bytes -= dwarf__bytes(oldest->dwarf);
		dwarf__shrink(oldest->dwarf);
		bytes += dwarf__bytes(oldest->dwarf);
	}
}

void modules__trim(struct modules *modules, size_t max)
{
	size_t bytes = modules__bytes(modules);
	struct module *module;

	for (module = modules->table; module && bytes > max; module = module->hh.next) {
		bytes -= dwarf__bytes(module->dwarf);
		dwarf__shrink(module->dwarf);
		bytes += dwarf__bytes(module->dwarf);
	}
	while (bytes > max && (module = victim(modules))) {
		bytes -= bytes_of(module);
		if (module->refs)
			unload(modules, module);
		else
			remove_module(modules, module);
	}
}

void modules__free(struct modules *modules)
{
	struct module *module, *next;

	HASH_ITER (hh, modules->table, module, next)
		remove_module(modules, module);
	module_ids__free(&modules->ids);
}
