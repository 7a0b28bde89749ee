/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From an address to its unit, the functions that contain it there, and their lines. See dwarf.h.
 */
#include "symbol/dwarf/dwarf.h"

#include <dwarf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "files/unread.h"
#include "symbol/dwarf/dwarf_parts.h"
#include "symbol/elf/debugfile.h"

#define DEPTH_MAX  256 /* nesting of entries */
#define DIE_STEPS  8   /* budget for an entry */
#define COSTLY_MAX 8   /* addresses that took too long; then all lookups stop */
#define COST_SHARE 20  /* rebuilding the index takes at most 1/20 of the time */

static struct dwarf *new_of(const struct elf *elf)
{
	struct dwarf *ret = elf->img.fd >= 0 ? calloc(1, sizeof(*ret)) : NULL;

	if (!ret)
		return NULL;
	ret->fd = fcntl(elf->img.fd, F_DUPFD_CLOEXEC, 3);
	ret->img = elf->img;
	ret->img.fd = ret->fd;
	if (ret->fd < 0)
		unread__add(UNREAD_NO_FD, elf->build_id);
	if (ret->fd < 0 || section__open_all(ret, elf)) {
		dwarf__free(ret);
		return NULL;
	}
	return ret;
}

/*
 * Opens dwz's common file. The section that refers to it holds its name, a NUL, and its build id.
 */
static struct dwarf *open_alt(const struct elf *elf, const char *alt_dir)
{
	struct dwarf *ret = NULL;
	struct image img;
	struct elf alt;
	int fd = debugfile__open_alt(elf, alt_dir);

	if (fd < 0)
		return NULL;
	if (!image__of_fd(&img, fd) && !elf__open(&alt, &img)) {
		ret = new_of(&alt);
		elf__close(&alt);
	}
	close(fd);
	return ret;
}

struct dwarf *dwarf__new(const struct elf *elf, const char *alt_dir)
{
	struct dwarf *ret = new_of(elf);

	if (ret && alt_dir)
		ret->alt = open_alt(elf, alt_dir);
	return ret;
}

void dwarf__shrink(struct dwarf *dwarf)
{
	if (!dwarf)
		return;
	for (unsigned i = 0; i < UNIT_CACHE; i++)
		unit__unload(&dwarf->cache[i]);
	for (unsigned i = 0; i < DWARF_SECTION_CNT; i++) {
		free(dwarf->parts[i].mem);
		dwarf->parts[i].mem = NULL;
	}
	free(dwarf->ranges);
	free(dwarf->units);
	dwarf->ranges = NULL;
	dwarf->units = NULL;
	dwarf->range_cnt = dwarf->range_cap = dwarf->unit_cnt = dwarf->unit_cap = 0;
	dwarf->indexed = false;
	dwarf__shrink(dwarf->alt);
}

void dwarf__free(struct dwarf *dwarf)
{
	if (!dwarf)
		return;
	dwarf__free(dwarf->alt);
	dwarf->alt = NULL;
	dwarf__shrink(dwarf);
	if (dwarf->fd >= 0)
		close(dwarf->fd);
	free(dwarf);
}

static size_t unit_bytes(const struct unit *unit)
{
	return (unit->own ? unit->end - unit->off : 0) +
	       unit->abbrevs.cap * sizeof(*unit->abbrevs.all) +
	       unit->abbrevs.attr_cap * sizeof(*unit->abbrevs.attrs);
}

size_t dwarf__bytes(const struct dwarf *dwarf)
{
	size_t ret;

	if (!dwarf)
		return 0;
	ret = sizeof(*dwarf) + dwarf->range_cap * sizeof(*dwarf->ranges) +
	      dwarf->unit_cap * sizeof(*dwarf->units) + dwarf__bytes(dwarf->alt);
	for (unsigned i = 0; i < DWARF_SECTION_CNT; i++)
		if (dwarf->parts[i].mem)
			ret += dwarf->parts[i].size;
	for (unsigned i = 0; i < UNIT_CACHE; i++)
		ret += unit_bytes(&dwarf->cache[i]);
	return ret;
}

/* Without an index nothing else is loaded. */
bool dwarf__is_loaded(const struct dwarf *dwarf)
{
	return dwarf && dwarf->indexed;
}

/* The functions that contain an address, outermost first. */
struct path {
	struct die dies[DWARF_INLINED_MAX + 1];
	unsigned cnt;
};

static bool is_function(uint32_t tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/*
 * Returns true for entries whose children can be skipped when they do not hold the address: they
 * contain no code, or other code. Skipped only when the entry gives its end.
 */
static bool is_passed(uint32_t tag)
{
	return is_function(tag) || tag == DW_TAG_lexical_block || tag == DW_TAG_enumeration_type ||
	       tag == DW_TAG_array_type || tag == DW_TAG_subroutine_type ||
	       tag == DW_TAG_formal_parameter || tag == DW_TAG_variable ||
	       tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site;
}

static bool sibling_of(const struct unit *unit, const struct die *die, uint64_t *ret)
{
	if (!die->sibling.form || die->sibling.form == DW_FORM_ref_addr)
		return false;
	*ret = unit->off + die->sibling.num;
	return *ret > die->off && *ret < unit->end;
}

/*
 * Stops at the end of the functions that contain the address. Returns false when not all entries
 * could be read: an incomplete path could give a line to the wrong function.
 */
static bool find_path(struct dwarf *dwarf, const struct unit *unit, uint64_t vaddr,
		      struct path *path)
{
	uint64_t off = unit->first, sibling;
	unsigned depth = 0, ends_at = 0; /* depth of the innermost function so far */
	struct die die;

	while (dwarf__spend(dwarf, DIE_STEPS) && !unit__die(unit, off, &die)) {
		int holds = 0;

		off = die.next;
		if (!die.tag) {
			if (!depth || --depth == 0 || (path->cnt && depth <= ends_at))
				return true;
			continue;
		}
		if (is_function(die.tag) || die.tag == DW_TAG_lexical_block)
			holds = die__holds(dwarf, unit, &die, vaddr);
		if (holds > 0 && is_function(die.tag) && path->cnt <= DWARF_INLINED_MAX) {
			path->dies[path->cnt++] = die;
			ends_at = depth;
			if (!die.children)
				return true;
		}
		if (!die.children)
			continue;
		if (holds <= 0 && is_passed(die.tag) && sibling_of(unit, &die, &sibling))
			off = sibling;
		else if (++depth > DEPTH_MAX)
			return false;
	}
	return off >= unit->end;
}

struct telling {
	struct dwarf *dwarf;
	const struct unit *unit;
	struct line_table lines;
	bool has_lines;
	char file[2 * DWARF_NAME_MAX], function[DWARF_NAME_MAX];
	dwarf_fn fn;
	void *ctx;
};

static void tell(struct telling *t, const struct die *die, uint64_t file, uint32_t line,
		 bool inlined)
{
	struct dwarf_place place = { .line = line, .inlined = inlined };

	if (die && die__name(t->dwarf, t->unit, die, t->function, sizeof(t->function)))
		place.function = t->function;
	if (t->has_lines && line &&
	    line_table__path(t->dwarf, t->unit, &t->lines, file, t->file, sizeof(t->file)))
		place.file = t->file;
	t->fn(&place, t->ctx);
}

/* Reports each function with the line in its code where the next inner one was inlined. */
static unsigned tell_path(struct telling *t, const struct path *path, uint64_t file, uint32_t line)
{
	unsigned cnt = 0;

	for (unsigned i = path->cnt; i > 1; i--, cnt++) {
		const struct die *die = &path->dies[i - 1];

		if (die->tag != DW_TAG_inlined_subroutine) /* a nested function */
			break;
		tell(t, die, file, line, true);
		file = die->call_file.num;
		line = die->call_line.num <= INT32_MAX ? die->call_line.num : 0;
	}
	tell(t, path->cnt > cnt ? &path->dies[path->cnt - cnt - 1] : NULL, file, line, false);
	return cnt + 1;
}

/*
 * Builds the index again after dwarf__shrink, at a limited rate. Returns false when it is too
 * early.
 */
static bool have_index(struct dwarf *dwarf)
{
	uint64_t begin, end;

	if (dwarf->indexed)
		return true;
	begin = clock__mono_ns();
	if (begin < dwarf->next_ns)
		return false;
	index__build(dwarf);
	if (dwarf->alt)
		index__build(dwarf->alt);
	end = clock__mono_ns();
	dwarf->next_ns = end + (end - begin) * COST_SHARE;
	return true;
}

/* Uses the unit in t. */
static unsigned find_in_unit(struct telling *t, uint64_t vaddr)
{
	struct path *path = calloc(1, sizeof(*path));
	uint64_t file = 0;
	uint32_t line = 0;
	unsigned ret = 0;

	if (!path)
		return 0;
	if (!find_path(t->dwarf, t->unit, vaddr, path)) {
		free(path);
		return 0;
	}
	t->has_lines = !line_table__open(t->dwarf, t->unit, &t->lines);
	if (t->has_lines)
		line_table__find(&t->lines, vaddr, &file, &line);
	if (path->cnt || line)
		ret = tell_path(t, path, file, line);
	if (t->has_lines)
		line_table__close(&t->lines);
	free(path);
	return ret;
}

unsigned dwarf__find(struct dwarf *dwarf, uint64_t vaddr, dwarf_fn fn, void *ctx)
{
	struct telling t = { .dwarf = dwarf, .fn = fn, .ctx = ctx };
	unsigned ret = 0;
	uint64_t off;

	dwarf->cut = dwarf->costly == COSTLY_MAX || !have_index(dwarf);
	if (dwarf->cut)
		return 0;
	if (!index__find(dwarf, vaddr, &off)) {
		dwarf->cut = dwarf->index_cut;
		return 0;
	}
	dwarf->budget = DWARF_BUDGET;
	if (dwarf->alt)
		dwarf->alt->budget = DWARF_BUDGET;
	t.unit = unit__at(dwarf, off, NULL);
	if (t.unit)
		ret = find_in_unit(&t, vaddr);
	dwarf->cut = !dwarf->budget || (dwarf->alt && !dwarf->alt->budget);
	dwarf->costly += dwarf->cut;
	return ret;
}

bool dwarf__was_cut(const struct dwarf *dwarf)
{
	return dwarf->cut;
}
