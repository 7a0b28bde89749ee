/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libuv's thread pool, by the symbols of src/threadpool.c. All are local: a stripped file has none,
 * its debug file has them.
 * Names such as `threads` are only unique behind the STT_FILE symbol of that source.
 */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "symbol/elf/elf.h"
#include "symbol/names/symbolize_parts.h"

#define SOURCE "threadpool.c"

/* X(name, member, size) */
#define VARIABLES(X)                                                                               \
	X("threads", threads, sizeof(uint64_t))                                                    \
	X("nthreads", nthreads, sizeof(uint32_t))                                                  \
	X("idle_threads", idle_threads, sizeof(uint32_t))                                          \
	X("slow_io_work_running", slow_running, sizeof(uint32_t))                                  \
	X("slow_io_pending_wq", slow_pending, 2 * sizeof(uint64_t))                                \
	X("cond", cond, 0)

struct uv_search {
	struct uv_pool_at at;
	bool here;	/* behind the source's name */
	bool ambiguous; /* two files of that name have such a variable */
};

static void take(struct uv_search *search, uint64_t *to, const Elf64_Sym *sym, uint64_t size)
{
	search->ambiguous |= *to || (size && sym->st_size != size);
	*to = sym->st_value;
}

static int look_at(void *ctx, const Elf64_Sym *sym, const char *name)
{
	struct uv_search *search = ctx;
	unsigned type = ELF64_ST_TYPE(sym->st_info);

	if (type == STT_FILE)
		search->here = !strcmp(name, SOURCE);
	else if (ELF64_ST_BIND(sym->st_info) != STB_LOCAL)
		search->here = false;
	if (!search->here || type != STT_OBJECT || !sym->st_value)
		return 0;
#define TAKE(word, member, size)                                                                   \
	if (!strcmp(name, word))                                                                   \
		take(search, &search->at.member, sym, size);
	VARIABLES(TAKE)
#undef TAKE
	if (!strcmp(name, "cond"))
		search->at.cond_sz = sym->st_size;
	return 0;
}

static int find(void *ctx, const struct elf *elf)
{
	struct uv_search *search = ctx;

	if (!elf->is64 || !elf__section_of_type(elf, SHT_SYMTAB))
		return elf->is64 ? -ENODATA : -ENOENT;
	return elf__each_named(elf, SHT_SYMTAB, look_at, search);
}

/* Adds the bias. False: a variable is missing. */
static bool place(struct uv_search *search, uint64_t bias)
{
	bool all = !search->ambiguous && search->at.cond_sz;

#define PLACE(word, member, size)                                                                  \
	all &= search->at.member != 0;                                                             \
	search->at.member += bias;
	VARIABLES(PLACE)
#undef PLACE
	return all;
}

/* "node", "nodejs", "libnode.so.108", "libuv.so.1.0.0" */
static bool may_have_it(const struct mapped *mapped)
{
	const char *name = mapped->path ? text__base_name(mapped->path) : "";

	if (mapped->kind != MAPPED_FILE || !mapped->module)
		return false;
	return !strncmp(name, "node", 4) || !strncmp(name, "libnode.so", 10) ||
	       !strncmp(name, "libuv.so", 8);
}

bool symbolizer__uv_pool(struct symbolizer *sym, uint32_t pid, struct uv_pool_at *ret)
{
	const struct mapped *last = NULL;
	struct process *process;

	if (sym->remote)
		return sym->remote->uv_pool(sym->remote_ctx, pid, ret);
	process = symbolizer__known(sym, pid);
	for (size_t i = 0; process && i < process->maps.cnt; i++) {
		const struct region *region = &process->maps.regions[i];
		struct uv_search search = {};
		uint64_t bias;

		if (region->mapped != last && may_have_it(region->mapped) &&
		    !process__read_elf(&sym->env, process, region, find, &search, &bias) &&
		    place(&search, bias)) {
			*ret = search.at;
			return true;
		}
		last = region->mapped;
	}
	return false;
}
