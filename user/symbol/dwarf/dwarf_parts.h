/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the DWARF reader share. */
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

/* A section: left in the file, or in memory (unpacked, or read whole). */
struct dwarf_part {
	uint64_t off, size; /* in the file; size unpacked */
	uint64_t packed;    /* its size in the file, when compressed; 0: it isn't */
	unsigned char *mem; /* owned; NULL: not read */
	bool broken;
};

/* Code of a unit. */
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
	uint64_t off, end; /* in .debug_info; end 0: nothing is loaded */
	uint64_t first;	   /* the offset of its first entry */
	uint64_t abbrev_off;
	uint8_t type, addr_sz, off_sz;
	uint16_t version;
	const unsigned char *bytes; /* of the whole unit */
	unsigned char *own;	    /* bytes, when they are not the section's */
	struct abbrevs abbrevs;
	/* of its first entry */
	uint64_t low_pc, stmt_list, str_offsets_base, addr_base, rnglists_base;
	bool has_stmt_list;
	char comp_dir[DWARF_NAME_MAX];
};

#define UNIT_CACHE 3 /* the one asked for, and those it refers to */

struct dwarf {
	int fd;
	struct image img;
	struct dwarf_part parts[DWARF_SECTION_CNT];
	struct dwarf_range *ranges; /* by low */
	size_t range_cnt, range_cap;
	uint64_t *units; /* offsets in .debug_info, ascending */
	size_t unit_cnt, unit_cap;
	bool indexed;
	uint64_t next_ns; /* no new index before */
	uint8_t addr_sz;
	uint32_t budget; /* steps left of what is being done: dwarf__spend */
	unsigned costly; /* addresses for which they did not do */
	bool cut;	 /* the last address was not looked up to its end */
	bool index_cut;	 /* the index is not whole */
	struct unit cache[UNIT_CACHE];
	unsigned turn;
	struct dwarf *alt; /* dwz's common file; NULL: none */
};

/* The value of an attribute. */
struct value {
	uint16_t form; /* 0: it isn't there */
	uint64_t num;
	const unsigned char *bytes; /* of a block or a string in place */
	uint64_t len;
};

/* An entry, with the attributes that matter here. */
struct die {
	uint64_t off, next; /* in .debug_info; next: of what follows, its first child or sibling */
	uint32_t tag;	    /* 0: the end of a list of children */
	bool children;
	struct value low, high, ranges, name, linkage, origin, specification, call_file, call_line,
		sibling, stmt_list, comp_dir, str_offsets_base, addr_base, rnglists_base;
};

#define DWARF_BUDGET (32u << 20) /* some tenths of a second, for an index or an address */

/* Whether so many bytes more of the file may be kept: a few packed ones may stand for gigabytes. */
static inline bool dwarf__has_room(const struct dwarf *dwarf, uint64_t bytes)
{
	return bytes <= DWARF_FILE_MAX && dwarf__bytes(dwarf) <= DWARF_FILE_MAX - bytes;
}

/* Pays for steps, so that no file can keep us busy for long. False: there are none left. */
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
 * dwarf_file.c: part of a section, 0 or -errno; the whole of it in memory, NULL when it can't be
 * had.
 */
int section__read(struct dwarf *dwarf, enum dwarf_section nr, uint64_t off, void *buf, size_t len);
const unsigned char *section__whole(struct dwarf *dwarf, enum dwarf_section nr);
/* A string of a section, cut to cap - 1: its length, 0 when there is none. */
size_t section__string(struct dwarf *dwarf, enum dwarf_section nr, uint64_t off, char *buf,
		       size_t cap);
int section__open_all(struct dwarf *dwarf, const struct elf *elf);

/* dwarf_form.c: reads the table at off, or with `only` nothing but that code's. 0 or -errno. */
int abbrevs__read(struct dwarf *dwarf, uint64_t off, uint64_t only, struct abbrevs *ret);
void abbrevs__free(struct abbrevs *abbrevs);
const struct abbrev *abbrevs__find(const struct abbrevs *abbrevs, uint64_t code);

/* dwarf_form.c: reads a value of a form; what isn't known makes the cursor bad. */
void form__read(struct cursor *cur, const struct unit *unit, uint16_t form, int64_t implicit,
		struct value *ret);

/* dwarf_unit.c */
int unit__read_header(struct dwarf *dwarf, uint64_t off, struct unit *ret); /* 0 or -errno */
int unit__read_root(struct dwarf *dwarf, struct unit *unit,
		    struct die *ret); /* without its comp_dir */
void unit__unload(struct unit *unit);
/* The unit that holds an offset; keep: one that must stay loaded, or NULL. NULL: there is none. */
struct unit *unit__at(struct dwarf *dwarf, uint64_t off, const struct unit *keep);
/* The entry at an offset of the unit. 0 or -EINVAL. */
int unit__die(const struct unit *unit, uint64_t off, struct die *ret);

/* dwarf_value.c: values as what they stand for. */
bool value__address(struct dwarf *dwarf, const struct unit *unit, const struct value *value,
		    uint64_t *ret);
size_t value__string(struct dwarf *dwarf, const struct unit *unit, const struct value *value,
		     char *buf, size_t cap);
/* The function's name of an entry, or of what it refers to. Its length, 0: none. */
size_t die__name(struct dwarf *dwarf, const struct unit *unit, const struct die *die, char *buf,
		 size_t cap);

/*
 * dwarf_range.c: calls fn with each range of an entry until it returns non-zero, and returns that.
 */
typedef int (*range_fn)(uint64_t low, uint64_t high, void *ctx);
int die__each_range(struct dwarf *dwarf, const struct unit *unit, const struct die *die,
		    range_fn fn, void *ctx);
/* 1: it holds the address, 0: it doesn't, -1: it has no code of its own. */
int die__holds(struct dwarf *dwarf, const struct unit *unit, const struct die *die, uint64_t vaddr);

/* dwarf_range.c: makes the index of units, once. */
void index__build(struct dwarf *dwarf);
/* The offset of the unit with that code. False: none has it. */
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
/* The row of an address: 0 or -ENOENT. */
int line_table__find(const struct line_table *table, uint64_t vaddr, uint64_t *file,
		     uint32_t *line);
/* dwarf_file.c: the path of a file of the table; its length, 0: none. */
size_t line_table__path(struct dwarf *dwarf, const struct unit *unit,
			const struct line_table *table, uint64_t file, char *buf, size_t cap);
/* Moves the cursor past the lists of directories and files, and notes where they are. */
int line_table__lists(struct line_table *table, struct cursor *cur, const struct unit *unit);

#endif
