/* SPDX-License-Identifier: GPL-2.0 */
/* The registry of modules and the look-up in their tables. See module.h; moduleload.c builds
 * them, module_trim.c gives them up. */
#include "symbol/modules/module.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/apart.h"
#include "symbol/modules/module_parts.h"

struct module *modules__get(struct modules *modules, const struct module_id *id)
{
	struct module *module;

	HASH_FIND(hh, modules->table, id, sizeof(*id), module);
	if (!module) {
		module = calloc(1, sizeof(*module));
		if (!module)
			return NULL;
		module->id = *id;
		module->fd = module->source = -1;
		HASH_ADD(hh, modules->table, id, sizeof(module->id), module);
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

struct module *modules__settle(struct modules *modules, struct module *module, int fd)
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
	void *copy = malloc(size);

	return copy ? cfi__new(-1, (struct image_part){}, memcpy(copy, mem, size), size) : NULL;
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
