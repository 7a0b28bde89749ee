/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resolves one address. See resolve.h; the caller caches the result. */
#include "symbol/names/resolve.h"

#include <libiberty/demangle.h>
#include <limits.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "symbol/languages/runtime.h"
#include "symbol/names/kallsyms.h"
#include "symbol/unwind/tables.h"

/*
 * --- demangling with bounded output. A mangled name may refer back to its own parts, so that a
 * short name can expand to a text of any length. We use libiberty's callback forms, which print in
 * pieces, and leave them by longjmp when the buffer is full. They keep nothing on the heap, so this
 * leaks nothing (except a few hundred bytes for Rust's punycode).
 */

#define MANGLED_MAX   4096    /* libiberty itself gives up on C++ names over 1 KiB */
#define LINKER_PREFIX "__dl_" /* of all names of Android's linker (bionic/linker/Android.bp) */
#define MANGLED	      "_Z"

struct output {
	char *buf;
	size_t len, cap;
	jmp_buf full;
};

/* piece may be NULL if it is empty. */
static void add(const char *piece, size_t len, void *opaque)
{
	struct output *out = opaque;
	size_t room = out->cap - 1 - out->len;

	if (!len)
		return;
	memcpy(out->buf + out->len, piece, len < room ? len : room);
	out->len += len < room ? len : room;
	if (len >= room)
		longjmp(out->full, 1);
}

/* Rust first: its older names are also valid C++ names, with a hash at the end. */
static bool demangle(const char *name, struct output *out)
{
	if (rust_demangle_callback(name, DMGL_NO_OPTS, add, out))
		return true;
	out->len = 0;
	return cplus_demangle_v3_callback(name, DMGL_NO_OPTS, add, out);
}

/* A separate stack frame, so that longjmp does not clobber the caller's variables. */
static bool demangle_until_full(const char *name, struct output *out)
{
	return setjmp(out->full) || demangle(name, out);
}

/*
 * "G", a number in base 62, "_": libiberty counts up to this number of lifetimes, even where it
 * prints nothing. Three digits take up to 60 ms, more take years. Some identifiers look alike;
 * these names stay mangled.
 */
static bool is_endless(const char *name)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	while ((name = strchr(name, 'G'))) {
		size_t len = strspn(++name, digits);

		if (len > 2 && name[len] == '_')
			return true;
	}
	return false;
}

size_t demangle__name(const char *name, char *buf, size_t cap)
{
	struct output out = { .buf = buf, .cap = cap };

	if (!strncmp(name, LINKER_PREFIX MANGLED, strlen(LINKER_PREFIX MANGLED)))
		name += strlen(LINKER_PREFIX);
	if (name[0] != '_' || strlen(name) > MANGLED_MAX || (name[1] == 'R' && is_endless(name)))
		return 0;
	if (!demangle_until_full(name, &out))
		out.len = 0;
	buf[out.len] = 0;
	return out.len;
}

/* --- file, line and inlined functions from DWARF, stored with an address */

struct collected {
	const struct resolver *rs;
	struct cached *entry;
	struct cached_inlined inlined[DWARF_INLINED_MAX];
	uint32_t cnt;
};

static const char *source_keep(const struct resolver *rs, const char *str)
{
	return str ? pool__add(rs->pool, str, strlen(str)) : NULL;
}

static const char *keep_name(const struct resolver *rs, const char *raw)
{
	char shown[DEMANGLE_MAX];

	if (raw && rs->demangle && demangle__name(raw, shown, sizeof(shown)))
		raw = shown;
	return source_keep(rs, raw);
}

/* Skip inlined functions without a name: they add no information. */
static void collect(const struct dwarf_place *place, void *ctx)
{
	struct collected *to = ctx;
	const char *file = source_keep(to->rs, place->file), *function;

	if (!place->inlined) {
		to->entry->file = file;
		to->entry->line = file ? place->line : 0;
		return;
	}
	function = keep_name(to->rs, place->function);
	if (function && to->cnt < DWARF_INLINED_MAX)
		to->inlined[to->cnt++] = (struct cached_inlined){ .function = function,
								  .file = file,
								  .line = file ? place->line : 0 };
}

static void add_of_go(const struct resolver *rs, const struct module *module, uint64_t vaddr,
		      struct cached *entry)
{
	char file[PATH_MAX];

	if (!gopclntab__line(module->go, vaddr, file, sizeof(file), &entry->line))
		return;
	entry->file = source_keep(rs, file);
	if (!entry->file)
		entry->line = 0;
}

static void find_source(const struct resolver *rs, struct module *module, uint64_t vaddr,
			struct cached *ret)
{
	struct collected to = { .rs = rs, .entry = ret };
	struct cached_inlined *kept;
	size_t before;

	if (!module->dwarf) {
		add_of_go(rs, module, vaddr, ret);
		return;
	}
	before = dwarf__bytes(module->dwarf);
	dwarf__find(module->dwarf, vaddr, collect, &to);
	ret->cut = dwarf__was_cut(module->dwarf);
	if (dwarf__bytes(module->dwarf) > before)
		modules__bound_dwarf(&rs->env->modules, module, DWARF_FILE_MAX);
	kept = to.cnt ? pool__room(rs->pool, to.cnt * sizeof(*kept)) : NULL;
	if (!kept)
		return;
	memcpy(kept, to.inlined, to.cnt * sizeof(*kept));
	ret->inlined = kept;
	ret->inlined_cnt = to.cnt;
}

/*
 * Adds file, line and inlined functions to an entry of a module, for the byte at an offset of its
 * file. All processes that map the file share them, so that its DWARF can be freed.
 */
static void source__add(const struct resolver *rs, struct module *module, uint64_t file_offset,
			struct cached *entry)
{
	struct cached found = {};
	const struct cached *source;
	uint64_t vaddr;

	if (!rs->source || (!module->dwarf && !module->go) ||
	    elf__vaddr(module->loads, module->load_cnt, file_offset, &vaddr))
		return;
	found.key = cache__key(vaddr, true);
	source = cache__find(&module->sources, found.key);
	if (!source) {
		find_source(rs, module, vaddr, &found);
		if (!found.cut)
			cache__add(&module->sources, &found);
		source = &found;
	}
	entry->file = source->file;
	entry->line = source->line;
	entry->inlined = source->inlined;
	entry->inlined_cnt = source->inlined_cnt;
	entry->cut |= source->cut;
}

#define SUFFIX_MAX 8

static const char *keep(const struct resolver *rs, const char *str)
{
	return str[0] ? pool__add(rs->pool, str, strlen(str)) : NULL;
}

static const char *name_of(const struct resolver *rs, const struct module_tab *tab,
			   const struct symbol *sym)
{
	char raw[NAME_MAX_LEN], shown[DEMANGLE_MAX + SUFFIX_MAX];
	char *version;

	if (!names__get(&tab->syms.names, sym->name, raw, sizeof(raw)))
		return NULL;
	version = strchr(raw + 1, '@'); /* memcpy@@GLIBC_2.14 */
	if (version)
		*version = 0;
	if (!rs->demangle || !demangle__name(raw, shown, DEMANGLE_MAX))
		snprintf(shown, sizeof(shown), "%s", raw);
	strncat(shown, tab->suffix, SUFFIX_MAX - 1);
	return keep(rs, shown);
}

bool resolve__file(const struct resolver *rs, struct module *module, uint64_t file_offset,
		   struct cached *entry, uint64_t *delta)
{
	const struct module_tab *tab;
	const struct symbol *sym =
		module__find(&rs->env->modules, module, file_offset, &tab, delta);

	if (!sym)
		return false;
	entry->function = name_of(rs, tab, sym);
	if (!entry->function)
		return false;
	source__add(rs, module, file_offset, entry);
	return true;
}

/* Resolves the byte at `at` by the tables of its file. */
static bool by_file(const struct resolver *rs, const struct region *region, uint64_t at,
		    struct cached *entry)
{
	uint64_t delta;

	if (!resolve__file(rs, region->mapped->module, at - region->start + region->offset, entry,
			   &delta))
		return false;
	entry->base = at - delta;
	return true;
}

/* A name that a JIT compiler published. */
static void add_published(const struct resolver *rs, char *name, const struct symbol *sym,
			  struct cached *entry)
{
	const char *function = name, *file = NULL;

	entry->base = sym->addr;
	entry->module = "[jit]";
	entry->language = language__of(name);
	if (javascript__split(name, &function, &file) && file)
		entry->module = entry->file = keep(rs, file);
	entry->function = keep(rs, function);
}

static bool by_perf_map(const struct resolver *rs, const struct process *process, uint64_t at,
			struct cached *entry)
{
	const struct symbol *sym = symtab__find(&process->jit.tab, at);
	char name[NAME_MAX_LEN];

	if (!sym || !names__get(&process->jit.tab.names, sym->name, name, sizeof(name)) ||
	    (process->is_java && java__is_scratch(name)))
		return false;
	add_published(rs, name, sym, entry);
	return entry->function;
}

static bool by_jitdump(const struct resolver *rs, struct process *process, uint64_t at,
		       struct cached *entry)
{
	struct jitdump *dump = &process->dump;
	const struct symbol *sym = jitdump__find(dump, at);
	char name[NAME_MAX_LEN];

	if (!sym || !names__get(&dump->names, sym->name, name, sizeof(name)))
		return false;
	add_published(rs, name, sym, entry);
	entry->line = jitdump__line(dump, sym, at, name, sizeof(name));
	if (entry->line)
		entry->file = keep(rs, name);
	return entry->function;
}

static const char *module_name(const struct resolver *rs, const struct mapped *mapped)
{
	return mapped->kind == MAPPED_ANON ? "[jit]" : keep(rs, mapped->path);
}

/*
 * When the byte before a return address has no symbol, but a function begins at the address itself,
 * there was no call. It is the signal trampoline that the kernel pushed (glibc's __restore_rt).
 */
static bool by_file_around(const struct resolver *rs, const struct region *region, uint64_t addr,
			   bool exact, struct cached *entry)
{
	if (exact)
		return by_file(rs, region, addr, entry);
	if (by_file(rs, region, addr - 1, entry))
		return true;
	return addr < region->end && by_file(rs, region, addr, entry);
}

static void name_user(const struct resolver *rs, struct process *process,
		      const struct region *region, uint64_t addr, bool exact, struct cached *entry)
{
	struct mapped *mapped = region->mapped;
	const struct module *module = NULL;

	entry->module = module_name(rs, mapped);
	if (mapped->module) {
		process__load(rs->env, process, mapped);
		module = mapped->module;
		entry->build_id = keep(rs, module->build_id);
		if (by_file_around(rs, region, addr, exact, entry))
			return;
	}
	entry->base = mapped->kind == MAPPED_FILE ? region->start - region->offset : region->start;
	entry->jit = mapped->kind == MAPPED_ANON || (module && !module->load_cnt);
	if (entry->jit) {
		entry->generation = process__jit_generation(process);
		entry->cut = !by_jitdump(rs, process, addr - !exact, entry) &&
			     !by_perf_map(rs, process, addr - !exact, entry) &&
			     process__jit_is_partial(process);
	}
	if (!entry->function && mapped->kind == MAPPED_FILE)
		entry->start = tables__start(rs->env, process, region, addr, exact);
}

void resolve__user(const struct resolver *rs, struct process *process, const struct region *region,
		   uint64_t addr, bool exact, struct cached *entry)
{
	const struct module *module;
	const char *function;

	modules__mark(region->mapped);
	name_user(rs, process, region, addr, exact, entry);
	module = region->mapped->module;
	function = entry->function;
	entry->app =
		!entry->module || (!runtime__is(entry->module) && !java__is_art(entry->module));
	if (function && (runtime__is_glue(function) ||
			 (module && module->is_static && runtime__is_reserved(function))))
		entry->app = false;
	if (function && module && java__is_compiled(entry->module)) {
		entry->app = java__is_method(function);
		entry->language = entry->app ? "java" : NULL;
	}
}

static const char *kernel_build_id(const struct resolver *rs, const char *module)
{
	char hex[BUILD_ID_HEX_SZ];

	if (!rs->this_kernel)
		return NULL;
	if (!strcmp(module, "vmlinux"))
		return keep(rs, rs->kernel_build_id);
	kallsyms__build_id(module, hex);
	return keep(rs, hex);
}

void resolve__kernel(const struct resolver *rs, const struct symtab *kernel, uint64_t addr,
		     bool exact, struct cached *entry)
{
	const struct symbol *sym = symtab__find(kernel, addr - !exact);
	struct kernel_name name;

	entry->base = addr;
	if (!sym)
		return;
	kallsyms__name(kernel, sym, &name);
	entry->function = keep(rs, name.function);
	entry->module = keep(rs, name.module);
	entry->build_id = kernel_build_id(rs, name.module);
	entry->base = sym->addr;
}
