/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens the files whose tables and code a walk needs. See tables.h. */
#include "symbol/unwind/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/code/insn.h"
#include "base/must.h"
#include "files/proc.h"

static int open_file(struct process_env *env, const struct process *process,
		     const struct mapped *mapped)
{
	int held = modules__held(&env->modules, mapped->module);

	if (held >= 0)
		return fcntl(held, F_DUPFD_CLOEXEC, 0);
	return process__open(env, process, mapped);
}

static struct cfi *open_cfi(struct process_env *env, const struct process *process,
			    struct mapped *mapped)
{
	int fd = mapped->kind == MAPPED_FILE ? open_file(env, process, mapped) : -1;
	struct module *module;

	if (fd < 0)
		return NULL;
	module = modules__resolve_all(&env->modules, mapped->module, fd);
	if (module != mapped->module && module->cfi) { /* another copy of the file: good enough */
		mapped->module = module;
		close(fd);
		return module->cfi;
	}
	mapped->module = module;
	return modules__open_cfi(&env->modules, module, fd);
}

static void add_debug_file(struct process_env *env, const struct process *process,
			   const struct mapped *mapped)
{
	struct debugfile_places places;
	int fd = open_file(env, process, mapped), debug = -1;
	char root[PATH_MAX];
	struct image img;
	struct elf elf;

	if (fd < 0)
		return;
	snprintf(root, sizeof(root), "%s/%u/root", env->proc, process->living);
	places = (struct debugfile_places){ .debug_dir = env->debug_dir,
					    .root = root,
					    .path = mapped->path };
	if (!module__image(mapped->module, fd, &img) && !elf__open(&elf, &img)) {
		debug = debugfile__open(&elf, &places);
		elf__close(&elf);
	}
	if (debug >= 0 && !image__of_fd(&img, debug))
		cfi__add_debug(mapped->module->cfi, &img);
	if (debug >= 0)
		close(debug);
	close(fd);
}

static uint64_t offset_of(const struct region *region, uint64_t addr)
{
	return addr - region->start + region->offset;
}

const struct cfi_row *tables__row(struct process_env *env, const struct process *process,
				  const struct region *region, uint64_t addr, bool exact,
				  struct cfi **ret_cfi)
{
	struct mapped *mapped = region->mapped;
	uint64_t offset = offset_of(region, addr);
	const struct cfi_row *row;
	struct cfi *cfi;

	if (!mapped->module)
		return NULL;
	modules__mark(mapped);
	mapped->module = modules__resolve_all(&env->modules, mapped->module, -1);
	mapped->module->used = ++env->modules.tick;
	cfi = mapped->module->cfi ?: open_cfi(env, process, mapped);
	row = cfi ? cfi__row(cfi, offset, exact) : NULL;
	if (cfi && !row) {
		cfi = open_cfi(env, process, mapped);
		row = cfi ? cfi__row(cfi, offset, exact) : NULL;
	}
	if (!cfi)
		return NULL;
	*ret_cfi = cfi;
	if (row && !row->has_table && !row->managed && mapped->kind == MAPPED_FILE &&
	    cfi__wants_debug(cfi)) {
		add_debug_file(env, process, mapped);
		row = cfi__row(cfi, offset, exact);
	}
	return row;
}

int tables__code(struct process_env *env, const struct process *process,
		 const struct region *region, uint64_t addr, void *buf, size_t len)
{
	const struct module *module = region->mapped->module;

	if (addr < region->start || len > region->end - addr)
		return -ENODATA;
	if (module && module->cfi)
		return cfi__code(module->cfi, offset_of(region, addr), buf, len);
	return memory__read_across(env->proc, process->pid, addr, buf, len);
}

int tables__file_code(struct process_env *env, const struct process *process,
		      const struct region *region, uint64_t addr, void *buf, size_t len)
{
	struct mapped *mapped = region->mapped;
	struct cfi *cfi;
	int ret = -ENODATA;

	if (!mapped->module || addr < region->start || addr > region->end ||
	    len > region->end - addr)
		return -ENODATA;
	modules__mark(mapped);
	mapped->module = modules__resolve_all(&env->modules, mapped->module, -1);
	mapped->module->used = ++env->modules.tick;
	cfi = mapped->module->cfi;
	if (cfi)
		ret = cfi__code(cfi, offset_of(region, addr), buf, len);
	if (ret && (!cfi || !cfi__has_fd(cfi))) {
		cfi = open_cfi(env, process, mapped);
		ret = cfi ? cfi__code(cfi, offset_of(region, addr), buf, len) : -ENODATA;
	}
	return ret;
}

int tables__behind_call(struct process_env *env, struct process *process, uint16_t machine,
			const struct region *region, uint64_t addr)
{
	uint64_t *slot;
	uint8_t code[CALL_BYTES];
	bool past;
	int ret;

	if (region->mapped->kind == MAPPED_SPECIAL)
		return 0;
	past = proc_maps__is_past(&process->maps);
	if (!process->calls && !past)
		process->calls = must__calloc(1, sizeof(*process->calls));
	slot = !past ? &process->calls->addresses[addr % CALLS_MAX] : NULL;
	if (slot && *slot == addr)
		return 1;
	ret = tables__code(env, process, region, addr - CALL_BYTES, code, sizeof(code));
	if (ret)
		return ret;
	ret = is_behind_call(machine, code);
	if (slot && ret)
		*slot = addr;
	return ret;
}

uint64_t tables__start(struct process_env *env, const struct process *process,
		       const struct region *region, uint64_t addr, bool exact)
{
	struct cfi *cfi;
	const struct cfi_row *row = tables__row(env, process, region, addr, exact, &cfi);
	uint64_t offset = offset_of(region, addr) - !exact;

	return row && row->has_table && row->since_start < offset ? offset - row->since_start : 0;
}

uint64_t tables__function(struct process_env *env, const struct process *process,
			  const struct region *region, uint64_t addr)
{
	struct mapped *mapped = region->mapped;
	const struct symbol *symbol;
	const struct module_tab *tab;
	uint64_t delta;

	if (!mapped->module || (mapped->kind != MAPPED_FILE && mapped->kind != MAPPED_VDSO))
		return 0;
	process__load(env, process, mapped);
	symbol = module__find(&env->modules, mapped->module, offset_of(region, addr), &tab, &delta);
	return symbol ? addr - delta : 0;
}
