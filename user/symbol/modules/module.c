/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registry of modules, lookup in their tables, and limits on memory. See module.h; moduleload.c
 * builds the tables.
 */
#include "symbol/modules/module.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/must.h"
#include "files/apart.h"
#include "symbol/names/proc_maps.h"

/* Functions shared by the files of the modules. */

static struct module_mark *mark_in;

void modules__mark_in(struct module_mark *mark)
{
	mark_in = mark;
}

void modules__mark(const struct mapped *mapped)
{
	if (!mark_in)
		return;
	mark_in->dev = mapped ? mapped->dev : 0;
	mark_in->inode = mapped ? mapped->inode : 0;
}

/* --- module.c: the descriptor of a file that is not read yet */

/* --- memory and descriptors of modules, and what is freed first */

#define HELD_MAX     256 /* descriptors of unread files: further ones are opened again by name */
#define CFI_HELD_MAX 128 /* the same for unwind tables */

/* Takes over fd; closes it when it is of no use or many are kept. The module may be NULL. */
static void module__keep_fd(struct modules *modules, struct module *module, int fd)
{
	if (module && !module->loaded && module->fd < 0 && modules->held < HELD_MAX) {
		module->fd = fd;
		modules->held++;
	} else {
		close(fd);
	}
}

static void module__drop_fd(struct modules *modules, struct module *module)
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
	language_file__free(module->language);
	module->cfi = NULL;
}

static void drop_tables(struct module *module)
{
	size_t i;

	for (i = 0; i < module->tab_cnt; i++)
		symtab__free(&module->tabs[i].syms);
	dwarf__free(module->dwarf);
	module->dwarf = NULL;
	cache__clear(&module->sources);
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

/* Tables outlive the last process that maps the file: the program may start again. */
void module__put(struct modules *modules, struct module *module)
{
	if (!module || --module->refs)
		return;
	if (!module->tab_cnt && !module->cfi)
		remove_module(modules, module);
}

/*
 * Keep the unwind tables, which an unwinder may be using; they check their file themselves
 * (cfi__watch).
 */
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

	ret += dwarf__bytes(module->dwarf) + (module->go ? sizeof(*module->go) : 0) +
	       cache__bytes(&module->sources);
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

/* The module to free next, or NULL. A vdso stays: it cannot be read again. */
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

/*
 * The least recently used module with DWARF in memory. DWARF that was freed still takes some bytes.
 */
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

void modules__rest(struct modules *modules)
{
	struct module *module;

	for (module = modules->table; module; module = module->hh.next)
		dwarf__rest(module->dwarf);
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

struct module *modules__get(struct modules *modules, const struct module_id *id)
{
	struct module *module;

	HASH_FIND(hh, modules->table, id, sizeof(*id), module);
	if (!module) {
		module = must__calloc(1, sizeof(*module));
		module->id = *id;
		module->fd = module->source = -1;
		HASH_ADD(hh, modules->table, id, sizeof(module->id), module);
		if (!module)
			return NULL;
	}
	module->refs++;
	return module;
}

struct module *modules__of_file(struct modules *modules, int fd, const struct stat *st,
				struct image_part part)
{
	struct module_id file = module_id__of_file(st, part), id;
	bool known = module_ids__find(&modules->ids, &file, &id);
	struct module *module = modules__get(modules, known ? &id : &file);

	if (module)
		module->settled |= known;
	module__keep_fd(modules, module, fd);
	return module;
}

struct module *modules__resolve_all(struct modules *modules, struct module *module, int fd)
{
	struct module *shared;
	struct module_id id;

	if (module->settled)
		return module;
	if (fd >= 0)
		id = module_ids__look(&modules->ids, &module->id, fd);
	else if (!module_ids__find(&modules->ids, &module->id, &id))
		return module;
	shared = modules__get(modules, &id);
	if (!shared)
		return module;
	shared->settled = true;
	if (shared != module && !shared->loaded && shared->fd < 0) {
		shared->fd = module->fd;
		module->fd = -1;
	}
	if (shared != module)
		module__drop_fd(modules, module);
	module__put(modules, module);
	return shared;
}

bool modules__is(struct modules *modules, const struct module *module, int fd,
		 const struct stat *st)
{
	struct module_id id = module_id__of_file(st, module->id.file.part);

	if (module_id__is_shared(&module->id))
		id = module_ids__look(&modules->ids, &id, fd);
	return module_id__is(&id, &module->id);
}

int modules__held(struct modules *modules, struct module *module)
{
	struct stat st;

	if (module->fd >= 0 && module_id__is_shared(&module->id) &&
	    (apart__stat(module->fd, &st) || !modules__is(modules, module, module->fd, &st)))
		module__drop_fd(modules, module);
	return module->fd;
}

int module__image(const struct module *module, int fd, struct image *img)
{
	return image__of_part(img, fd, module->id.file.part);
}

void module__load(struct modules *modules, struct module *module, int fd,
		  const struct debugfile_places *places)
{
	struct image img;

	if (!module__image(module, fd, &img))
		module__build(module, &img, places);
	module->loaded = true;
	if (module_id__is_shared(&module->id)) {
		module->source = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		module->source_ns = image__written_ns(fd);
	}
	module__drop_fd(modules, module);
}

static struct cfi *cfi_of_memory(const void *mem, size_t size)
{
	return cfi__new(-1, (struct image_part){}, memcpy(must__malloc(size), mem, size), size);
}

struct module *modules__of_memory(struct modules *modules, const void *mem, size_t size)
{
	struct module_id id = module_id__of_memory(mem, size);
	struct module *module = modules__get(modules, &id);
	struct image img;

	if (module && !module->loaded) {
		image__of_mem(&img, mem, size);
		module__build(module, &img, NULL);
		module->loaded = module->settled = module->in_memory = true;
		module->cfi = cfi_of_memory(mem, size);
	}
	return module;
}

const struct symbol *module__find(struct modules *modules, struct module *module,
				  uint64_t file_offset, const struct module_tab **tab,
				  uint64_t *delta)
{
	const struct symbol *best = NULL;
	uint64_t vaddr;
	size_t i;

	module->used = ++modules->tick;
	if (elf__vaddr(module->loads, module->load_cnt, file_offset, &vaddr))
		return NULL;
	for (i = 0; i < module->tab_cnt; i++) {
		const struct symbol *sym = symtab__find(&module->tabs[i].syms, vaddr);

		if (!sym || (best && sym->addr <= best->addr))
			continue;
		best = sym;
		*tab = &module->tabs[i];
		*delta = vaddr - sym->addr;
	}
	return best;
}
