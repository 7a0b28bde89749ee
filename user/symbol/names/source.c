/* SPDX-License-Identifier: GPL-2.0 */
/* Places of DWARF, kept with an address. See source.h. */
#include "symbol/names/source.h"

#include <limits.h>
#include <string.h>

#include "symbol/names/demangle.h"

struct collected {
	const struct resolver *rs;
	struct cached *entry;
	struct cached_inlined inlined[DWARF_INLINED_MAX];
	uint32_t cnt;
};

static const char *keep(const struct resolver *rs, const char *str)
{
	return str ? pool__add(rs->pool, str, strlen(str)) : NULL;
}

static const char *keep_name(const struct resolver *rs, const char *raw)
{
	char shown[DEMANGLE_MAX];

	if (raw && rs->demangle && demangle__name(raw, shown, sizeof(shown)))
		raw = shown;
	return keep(rs, raw);
}

/* One without a name would be no news. */
static void collect(const struct dwarf_place *place, void *ctx)
{
	struct collected *to = ctx;
	const char *file = keep(to->rs, place->file), *function;

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
	entry->file = keep(rs, file);
	if (!entry->file)
		entry->line = 0;
}

void source__add(const struct resolver *rs, struct module *module, uint64_t file_offset,
		 struct cached *entry)
{
	struct collected to = { .rs = rs, .entry = entry };
	struct cached_inlined *kept;
	uint64_t vaddr;
	size_t before;

	if (!rs->source || (!module->dwarf && !module->go) ||
	    elf__vaddr(module->loads, module->load_cnt, file_offset, &vaddr))
		return;
	if (!module->dwarf) {
		add_of_go(rs, module, vaddr, entry);
		return;
	}
	before = dwarf__bytes(module->dwarf);
	dwarf__find(module->dwarf, vaddr, collect, &to);
	entry->cut |= dwarf__was_cut(module->dwarf);
	if (dwarf__bytes(module->dwarf) > before)
		modules__bound_dwarf(&rs->env->modules, module, DWARF_FILE_MAX);
	kept = to.cnt ? pool__room(rs->pool, to.cnt * sizeof(*kept)) : NULL;
	if (!kept)
		return;
	memcpy(kept, to.inlined, to.cnt * sizeof(*kept));
	entry->inlined = kept;
	entry->inlined_cnt = to.cnt;
}
