/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From an address to the functions that contain it, and their lines, by libdw. See dwarf.h. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/must.h"
#include "symbol/dwarf/dwarf_parts.h"
#include "symbol/elf/debugfile.h"

#define DEPTH_MAX    256	       /* nesting of entries */
#define FIND_NS	     (200 * NS_PER_MS) /* CPU time for an address */
#define COSTLY_NS    (NS_PER_SEC)      /* CPU time of slow look-ups; then all stop */
#define COST_SHARE   20		       /* unpacking again takes at most 1/20 of the time */
#define ROW_BYTES    64		       /* of a line in libdw's memory */
#define UNIT_BYTES   8192	       /* of libdw's memory for a unit */
#define NAME_MAX_LEN 4095	       /* longer strings are cut */

static void open_alt(struct dwarf *dwarf, const struct elf *elf, const char *alt_dir)
{
	int fd = debugfile__open_alt(elf, alt_dir);
	struct image img;
	struct elf alt;

	if (fd < 0)
		return;
	if (!image__of_fd(&img, fd) && !elf__open(&alt, &img)) {
		dwarf_file__init(&dwarf->alt, &alt);
		elf__close(&alt);
	}
	close(fd);
}

struct dwarf *dwarf__new(const struct elf *elf, const char *alt_dir)
{
	struct dwarf *ret = must__calloc(1, sizeof(*ret));

	ret->alt.img.fd = -1;
	if (!dwarf_file__init(&ret->file, elf)) {
		free(ret);
		return NULL;
	}
	if (alt_dir)
		open_alt(ret, elf, alt_dir);
	return ret;
}

void dwarf__shrink(struct dwarf *dwarf)
{
	if (!dwarf)
		return;
	dwarf_file__close(&dwarf->file);
	dwarf_file__close(&dwarf->alt);
	for (size_t i = 0; i < dwarf->unit_cnt; i++)
		dwarf->units[i].read = false;
	dwarf->unit_bytes = 0;
}

void dwarf__rest(struct dwarf *dwarf)
{
	if (!dwarf)
		return;
	if (!dwarf->used)
		dwarf__shrink(dwarf);
	dwarf->used = false;
}

void dwarf__free(struct dwarf *dwarf)
{
	if (!dwarf)
		return;
	dwarf_index__free(dwarf);
	dwarf_file__free(&dwarf->file);
	dwarf_file__free(&dwarf->alt);
	free(dwarf);
}

size_t dwarf__bytes(const struct dwarf *dwarf)
{
	if (!dwarf)
		return 0;
	return sizeof(*dwarf) + dwarf_index__bytes(dwarf) + dwarf->unit_bytes +
	       dwarf_file__bytes(&dwarf->file) + dwarf_file__bytes(&dwarf->alt);
}

bool dwarf__is_loaded(const struct dwarf *dwarf)
{
	return dwarf && dwarf->file.dwarf;
}

/*
 * Opens the file, or opens it again after dwarf__shrink, at a limited rate. Returns false when it
 * is too early, or when libdw cannot read it.
 */
static bool open_file(struct dwarf *dwarf)
{
	uint64_t begin, end;

	if (dwarf__bytes(dwarf) > DWARF_FILE_MAX)
		dwarf__shrink(dwarf);
	if (dwarf->file.dwarf)
		return true;
	begin = clock__mono_ns();
	if (begin < dwarf->next_ns) {
		dwarf->cut = true;
		return false;
	}
	if (dwarf_file__open(&dwarf->file) && dwarf_file__open(&dwarf->alt))
		dwarf_setalt(dwarf->file.dwarf, dwarf->alt.dwarf);
	end = clock__mono_ns();
	dwarf->next_ns = end + (end - begin) * COST_SHARE;
	if (dwarf->file.dwarf && !dwarf->indexed)
		dwarf_index__build(dwarf);
	return dwarf->file.dwarf;
}

/* The functions that contain an address, outermost first. */
struct path {
	Dwarf_Die dies[DWARF_INLINED_MAX + 1];
	unsigned cnt;
};

static bool is_function(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* Entries without code of their own that may contain functions. */
static bool is_container(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type;
}

/*
 * Not dwarf_getscopes: it recurses as deep as the file says, has no bound of time, and continues
 * around an inlined function with the scopes of its source.
 */
static void find_path(struct dwarf *dwarf, Dwarf_Die *root, uint64_t vaddr, struct path *path)
{
	Dwarf_Die dies[DEPTH_MAX];
	unsigned depth = 0, bottom = 0; /* of the innermost entry that contains the address */

	if (dwarf_child(root, &dies[0]))
		return;
	while (dwarf__step(dwarf)) {
		Dwarf_Die *die = &dies[depth];
		int tag = dwarf_tag(die);
		bool holds = (is_function(tag) || tag == DW_TAG_lexical_block) &&
			     dwarf_haspc(die, vaddr) > 0;

		if (holds && is_function(tag) && path->cnt <= DWARF_INLINED_MAX)
			path->dies[path->cnt++] = *die;
		if ((holds || is_container(tag)) && depth + 1 < DEPTH_MAX &&
		    !dwarf_child(die, &dies[depth + 1])) {
			depth++;
			if (holds)
				bottom = depth;
			continue;
		}
		/* without DW_AT_sibling all entries below are read once more for each level */
		while (dwarf_siblingof(&dies[depth], &dies[depth])) {
			dwarf->cut = dwarf__elapsed_ns(dwarf) > dwarf->max_ns;
			if (dwarf->cut || depth-- == bottom)
				return;
		}
	}
}

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *ret = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		ret = dwarf_formstring(&attr);
	return ret ? ret : dwarf_diename(die);
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word ret;

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &ret))
		return 0;
	return ret <= INT32_MAX ? ret : 0;
}

struct telling {
	Dwarf_Die unit;
	bool has_lines;
	struct dwarf_place place;
	char function[NAME_MAX_LEN + 1], file[NAME_MAX_LEN + 1];
	dwarf_fn fn;
	void *ctx;
};

static const char *cut(const char *str, char *buf)
{
	if (!str || strnlen(str, NAME_MAX_LEN + 1) <= NAME_MAX_LEN)
		return str;
	memcpy(buf, str, NAME_MAX_LEN);
	buf[NAME_MAX_LEN] = 0;
	return buf;
}

static void set_file(struct telling *t, const char *file)
{
	bool known = file && strcmp(file, "???"); /* libdw's word */

	t->place.file = known && t->place.line ? cut(file, t->file) : NULL;
}

static void tell(struct telling *t, Dwarf_Die *die, bool inlined)
{
	t->place.function = die ? cut(name_of(die), t->function) : NULL;
	t->place.inlined = inlined;
	t->fn(&t->place, t->ctx);
}

/* Sets the place where a function was inlined. */
static void set_call(struct telling *t, Dwarf_Die *die)
{
	Dwarf_Files *files;
	size_t cnt;

	t->place.line = number_of(die, DW_AT_call_line);
	set_file(t, dwarf_getsrcfiles(&t->unit, &files, &cnt)
			    ? NULL
			    : dwarf_filesrc(files, number_of(die, DW_AT_call_file), NULL, NULL));
}

/* Reports each function with the line in its code where the next inner one was inlined. */
static unsigned tell_path(struct telling *t, struct path *path)
{
	unsigned cnt = 0;

	for (unsigned i = path->cnt; i > 1; i--, cnt++) {
		Dwarf_Die *die = &path->dies[i - 1];

		if (dwarf_tag(die) != DW_TAG_inlined_subroutine) /* a nested function */
			break;
		tell(t, die, true);
		set_call(t, die);
	}
	tell(t, path->cnt > cnt ? &path->dies[path->cnt - cnt - 1] : NULL, false);
	return cnt + 1;
}

static void find_line(struct telling *t, const struct dwarf_file *file, uint64_t vaddr)
{
	Dwarf_Attribute attr;
	Dwarf_Line *line;
	Dwarf_Word off;
	int nr = 0;

	t->has_lines = dwarf_attr(&t->unit, DW_AT_stmt_list, &attr) &&
		       !dwarf_formudata(&attr, &off) && dwarf_file__lines_fit(file, off);
	line = t->has_lines ? dwarf_getsrc_die(&t->unit, vaddr) : NULL;
	if (!line || dwarf_lineno(line, &nr) || nr <= 0)
		return;
	t->place.line = nr;
	set_file(t, dwarf_linesrc(line, NULL, NULL));
}

/* Counts what libdw keeps of a unit from now on. */
static void count_unit(struct dwarf *dwarf, struct dwarf_unit *unit, struct telling *t)
{
	Dwarf_Lines *lines;
	size_t cnt;

	if (!unit->read)
		dwarf->unit_bytes += UNIT_BYTES;
	if (!unit->read && t->has_lines && !dwarf_getsrclines(&t->unit, &lines, &cnt))
		dwarf->unit_bytes += cnt * ROW_BYTES;
	unit->read = true;
}

unsigned dwarf__find(struct dwarf *dwarf, uint64_t vaddr, dwarf_fn fn, void *ctx)
{
	struct telling t = { .fn = fn, .ctx = ctx };
	struct dwarf_unit *unit;
	struct path path = {};
	uint64_t took_ns;
	unsigned ret = 0;

	dwarf->cut = dwarf->costly_ns > COSTLY_NS;
	if (dwarf->cut || !open_file(dwarf))
		return 0;
	dwarf->used = true;
	dwarf__begin(dwarf, FIND_NS);
	unit = dwarf_index__find(dwarf, vaddr);
	dwarf->cut = !unit && dwarf->index_cut;
	if (!unit || !dwarf_offdie(dwarf->file.dwarf, unit->root, &t.unit))
		return 0;
	find_path(dwarf, &t.unit, vaddr, &path);
	if (!dwarf->cut) { /* else the path is incomplete: a line could be another function's */
		find_line(&t, &dwarf->file, vaddr);
		count_unit(dwarf, unit, &t);
		ret = path.cnt || t.place.line ? tell_path(&t, &path) : 0;
	}
	took_ns = dwarf__elapsed_ns(dwarf);
	if (took_ns > FIND_NS / 2)
		dwarf->costly_ns += took_ns;
	return ret;
}

bool dwarf__was_cut(const struct dwarf *dwarf)
{
	return dwarf->cut;
}
