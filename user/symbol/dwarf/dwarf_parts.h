/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations that the DWARF reader's files share. */
#ifndef JANK_SYMBOL_DWARF_DWARF_PARTS_H
#define JANK_SYMBOL_DWARF_DWARF_PARTS_H

#include "symbol/dwarf/cursor.h"
#include "symbol/dwarf/dwarf.h"

#define DWARF_NAME_MAX 4096 /* longer strings are cut */

enum dwarf_section {
	DWARF_INFO,
	DWARF_ABBREV,
	DWARF_STR,
	DWARF_LINE,
	DWARF_LINE_STR,
	DWARF_RANGES,
	DWARF_RNGLISTS,
	DWARF_ADDR,
	DWARF_STR_OFFSETS,
	DWARF_SECTION_CNT,
};

/* A section: in the file, or in memory (unpacked or read whole). */
struct dwarf_part {
	uint64_t off, size; /* in the file; size unpacked */
	uint64_t packed;    /* compressed size in the file; 0: not compressed */
	unsigned char *mem; /* owned; NULL: not read */
	bool broken;
};

/* An address range of a unit's code. */
struct dwarf_range {
	uint64_t low, high;
	uint64_t unit; /* its offset in .debug_info */
};

struct abbrev_attr {
	uint16_t name, form;
	int64_t implicit;
};

struct abbrev {
	uint64_t code;
	uint32_t tag;
	bool children;
	uint32_t attr_first, attr_cnt;
};

struct abbrevs {
	struct abbrev *all; /* by code */
	size_t cnt, cap;
	struct abbrev_attr *attrs;
	size_t attr_cnt, attr_cap;
};

/* A unit in memory. */
struct unit {
	uint64_t off, end; /* in .debug_info; end 0: not loaded */
	uint64_t first;	   /* the offset of its first entry */
	uint64_t abbrev_off;
	uint8_t type, addr_sz, off_sz;
	uint16_t version;
	const unsigned char *bytes; /* of the whole unit */
	unsigned char *own;	    /* buffer of bytes, unless they are the section's */
	struct abbrevs abbrevs;
	/* from its first entry */
	uint64_t low_pc, stmt_list, str_offsets_base, addr_base, rnglists_base;
	bool has_stmt_list;
	char comp_dir[DWARF_NAME_MAX];
};

#define UNIT_CACHE 3 /* the requested unit, and units that it refers to */

struct dwarf {
	int fd;
	struct image img;
	struct dwarf_part parts[DWARF_SECTION_CNT];
	struct dwarf_range *ranges; /* by low */
	size_t range_cnt, range_cap;
	uint64_t *units; /* offsets in .debug_info, ascending */
	size_t unit_cnt, unit_cap;
	bool indexed;
	uint64_t next_ns; /* do not rebuild the index before this time */
	uint8_t addr_sz;
	uint32_t budget; /* steps left for the current operation: dwarf__spend */
	unsigned costly; /* number of addresses that used up the budget */
	bool cut;	 /* the last lookup ended early */
	bool index_cut;	 /* the index is incomplete */
	struct unit cache[UNIT_CACHE];
	unsigned turn;
	struct dwarf *alt; /* dwz's common file; NULL: none */
};

/* The value of an attribute. */
struct value {
	uint16_t form; /* 0: it isn't there */
	uint64_t num;
	const unsigned char *bytes; /* of a block or an inline string */
	uint64_t len;
};

/* An entry, with the attributes that this reader uses. */
struct die {
	/* in .debug_info; next: the entry that follows, its first child or sibling */
	uint64_t off, next;
	uint32_t tag; /* 0: the end of a list of children */
	bool children;
	struct value low, high, ranges, name, linkage, origin, specification, call_file, call_line,
		sibling, stmt_list, comp_dir, str_offsets_base, addr_base, rnglists_base;
};

#define DWARF_BUDGET (32u << 20) /* some tenths of a second, per index or address */

/*
 * Returns true when `bytes` more may be kept in memory. A few compressed bytes may expand to
 * gigabytes.
 */
static inline bool dwarf__has_room(const struct dwarf *dwarf, uint64_t bytes)
{
	return bytes <= DWARF_FILE_MAX && dwarf__bytes(dwarf) <= DWARF_FILE_MAX - bytes;
}

/*
 * Takes steps from the budget, so that no file can keep us busy for long. Returns false when the
 * budget is used up.
 */
static inline bool dwarf__spend(struct dwarf *dwarf, uint32_t steps)
{
	if (dwarf->budget < steps) {
		dwarf->budget = 0;
		return false;
	}
	dwarf->budget -= steps;
	return true;
}

/*
 * dwarf_section.c: section__read reads a part of a section, 0 or -errno. section__whole returns the
 * whole section in memory, or NULL when it cannot be read.
 */
int section__read(struct dwarf *dwarf, enum dwarf_section nr, uint64_t off, void *buf, size_t len);
const unsigned char *section__whole(struct dwarf *dwarf, enum dwarf_section nr);
/* Reads a string of a section, cut to cap - 1 bytes. Returns its length, 0 when there is none. */
size_t section__string(struct dwarf *dwarf, enum dwarf_section nr, uint64_t off, char *buf,
		       size_t cap);
int section__open_all(struct dwarf *dwarf, const struct elf *elf);

/*
 * dwarf_form.c: reads the abbreviation table at off; if `only` is not 0, only that code. 0 or
 * -errno.
 */
int abbrevs__read(struct dwarf *dwarf, uint64_t off, uint64_t only, struct abbrevs *ret);
void abbrevs__free(struct abbrevs *abbrevs);
const struct abbrev *abbrevs__find(const struct abbrevs *abbrevs, uint64_t code);

/* dwarf_form.c: reads a value in a form. An unknown form makes the cursor bad. */
void form__read(struct cursor *cur, const struct unit *unit, uint16_t form, int64_t implicit,
		struct value *ret);

/* dwarf_unit.c: both return 0 or -errno; unit__read_root does not read comp_dir */
int unit__read_header(struct dwarf *dwarf, uint64_t off, struct unit *ret);
int unit__read_root(struct dwarf *dwarf, struct unit *unit, struct die *ret);
void unit__unload(struct unit *unit);
/*
 * Returns the unit that contains an offset, or NULL. keep: a unit that must stay loaded, or NULL.
 */
struct unit *unit__at(struct dwarf *dwarf, uint64_t off, const struct unit *keep);
/* Reads the entry at an offset of the unit. 0 or -EINVAL. */
int unit__die(const struct unit *unit, uint64_t off, struct die *ret);

/* dwarf_form.c: resolves values to addresses and strings. */
bool value__address(struct dwarf *dwarf, const struct unit *unit, const struct value *value,
		    uint64_t *ret);
size_t value__string(struct dwarf *dwarf, const struct unit *unit, const struct value *value,
		     char *buf, size_t cap);
/*
 * dwarf_unit.c: gets the function name of an entry, or of the entry that it refers to. Returns its
 * length, 0: none.
 */
size_t die__name(struct dwarf *dwarf, const struct unit *unit, const struct die *die, char *buf,
		 size_t cap);

/*
 * dwarf_range.c: returns 1 when the entry contains the address, 0 when not, -1 when it has no code
 * of its own.
 */
int die__holds(struct dwarf *dwarf, const struct unit *unit, const struct die *die, uint64_t vaddr);

/* dwarf_range.c: builds the index of units, once. */
void index__build(struct dwarf *dwarf);
/* Gets the offset of the unit that contains the address. Returns false when there is none. */
bool index__find(const struct dwarf *dwarf, uint64_t vaddr, uint64_t *ret);

/* dwarf_line.c: a unit's line table. */
struct line_table {
	struct cursor program, dirs, files;
	uint16_t version;
	uint8_t min_insn, opcode_base, addr_sz, off_sz;
	int8_t line_base;
	uint8_t line_range;
	const unsigned char *opcode_lens;
	uint64_t dir_cnt, file_cnt;
	unsigned char *own; /* to be freed */
};
int line_table__open(struct dwarf *dwarf, const struct unit *unit, struct line_table *ret);
void line_table__close(struct line_table *table);
/* Finds the row of an address. 0 or -ENOENT. */
int line_table__find(const struct line_table *table, uint64_t vaddr, uint64_t *file,
		     uint32_t *line);
/* Builds the path of a file of the table. Returns its length, 0: none. */
size_t line_table__path(struct dwarf *dwarf, const struct unit *unit,
			const struct line_table *table, uint64_t file, char *buf, size_t cap);

#endif
