/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Line tables: the header, the directories and files (two plain lists up to DWARF 4, tables with
 * forms in 5), and the program, run up to the row of an address.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/dwarf/dwarf_parts.h"

/* --- directories and files */

#define FIELDS_MAX  16
#define ENTRIES_MAX (1u << 20)

struct field {
	uint64_t what, form;
};

struct layout {
	struct field fields[FIELDS_MAX];
	unsigned cnt;
};

/* An entry. A directory has only the name. */
struct entry {
	struct value name;
	uint64_t dir;
};

static struct unit unit_like(const struct line_table *table, const struct unit *unit)
{
	struct unit ret = { .version = table->version,
			    .addr_sz = table->addr_sz,
			    .off_sz = table->off_sz };

	ret.str_offsets_base = unit->str_offsets_base;
	return ret;
}

static bool read_layout(struct cursor *cur, struct layout *ret)
{
	ret->cnt = cursor__fixed(cur, 1);
	if (ret->cnt > FIELDS_MAX)
		return false;
	for (unsigned i = 0; i < ret->cnt; i++) {
		ret->fields[i].what = cursor__uleb(cur);
		ret->fields[i].form = cursor__uleb(cur);
		if (ret->fields[i].form > UINT16_MAX)
			return false;
	}
	return !cur->bad;
}

static void read_entry(struct cursor *cur, const struct unit *like, const struct layout *layout,
		       struct entry *ret)
{
	*ret = (struct entry){};
	for (unsigned i = 0; i < layout->cnt; i++) {
		struct value value;

		form__read(cur, like, layout->fields[i].form, 0, &value);
		if (layout->fields[i].what == DW_LNCT_path)
			ret->name = value;
		else if (layout->fields[i].what == DW_LNCT_directory_index)
			ret->dir = value.num;
	}
}

/* Skips a list of DWARF 5, which begins with its layout. */
static int pass_list(struct cursor *cur, const struct unit *like, uint64_t *ret_cnt)
{
	struct layout layout;
	struct entry entry;
	uint64_t cnt;

	if (!read_layout(cur, &layout))
		return -EINVAL;
	cnt = *ret_cnt = cursor__uleb(cur);
	if (cnt > ENTRIES_MAX)
		return -EINVAL;
	while (cnt-- && !cur->bad)
		read_entry(cur, like, &layout, &entry);
	return cur->bad ? -EINVAL : 0;
}

static bool read_plain_file(struct cursor *cur, struct entry *ret)
{
	const char *name = cursor__str(cur);

	*ret = (struct entry){};
	if (cur->bad || !*name)
		return false;
	ret->name = (struct value){ .form = DW_FORM_string,
				    .bytes = (const unsigned char *)name,
				    .len = strlen(name) };
	ret->dir = cursor__uleb(cur);
	cursor__uleb(cur); /* time of modification */
	cursor__uleb(cur); /* length */
	return !cur->bad;
}

/* Moves the cursor past the lists of directories and files, and records their positions. */
static int read_lists(struct line_table *table, struct cursor *cur, const struct unit *unit)
{
	struct unit like = unit_like(table, unit);
	struct entry entry;

	if (table->program.at < cur->at)
		return -EINVAL;
	cur->end = table->program.at;
	table->dirs = *cur;
	if (table->version >= 5) {
		int res = pass_list(cur, &like, &table->dir_cnt);

		table->files = *cur;
		return res ? res : pass_list(cur, &like, &table->file_cnt);
	}
	while (*cursor__str(cur))
		table->dir_cnt++;
	table->files = *cur;
	while (table->file_cnt < ENTRIES_MAX && read_plain_file(cur, &entry))
		table->file_cnt++;
	return 0;
}

static bool entry_at(struct cursor cur, const struct unit *like, uint64_t cnt, uint64_t nr,
		     struct entry *ret)
{
	struct layout layout;

	if (nr >= cnt || !read_layout(&cur, &layout))
		return false;
	cursor__uleb(&cur);
	for (uint64_t i = 0; i <= nr && !cur.bad; i++)
		read_entry(&cur, like, &layout, ret);
	return !cur.bad;
}

/* Up to DWARF 4 file numbers start at 1. */
static bool file_at(const struct line_table *table, const struct unit *like, uint64_t nr,
		    struct entry *ret)
{
	struct cursor cur = table->files;

	if (table->version >= 5)
		return entry_at(cur, like, table->file_cnt, nr, ret);
	if (!nr || nr > table->file_cnt)
		return false;
	while (nr-- && read_plain_file(&cur, ret))
		;
	return !cur.bad;
}

/* "" means the unit's own directory. */
static void read_dir(struct dwarf *dwarf, const struct line_table *table, const struct unit *like,
		     uint64_t nr, char *buf, size_t cap)
{
	struct cursor cur = table->dirs;
	struct entry entry;

	buf[0] = 0;
	if (table->version >= 5) {
		if (entry_at(cur, like, table->dir_cnt, nr, &entry))
			value__string(dwarf, like, &entry.name, buf, cap);
		return;
	}
	if (!nr || nr > table->dir_cnt)
		return;
	while (--nr)
		cursor__str(&cur);
	snprintf(buf, cap, "%s", cursor__str(&cur));
}

size_t line_table__path(struct dwarf *dwarf, const struct unit *unit,
			const struct line_table *table, uint64_t file, char *buf, size_t cap)
{
	struct unit like = unit_like(table, unit);
	char dir[DWARF_NAME_MAX], name[DWARF_NAME_MAX];
	const char *base = unit->comp_dir;
	struct entry entry;

	buf[0] = 0;
	if (!file_at(table, &like, file, &entry) ||
	    !value__string(dwarf, &like, &entry.name, name, sizeof(name)))
		return 0;
	if (name[0] == '/')
		return snprintf(buf, cap, "%s", name) < (int)cap ? strlen(buf) : cap - 1;
	read_dir(dwarf, table, &like, entry.dir, dir, sizeof(dir));
	if (dir[0] == '/')
		base = "";
	snprintf(buf, cap, "%s%s%s%s%s", base, base[0] ? "/" : "", dir, dir[0] ? "/" : "", name);
	return strlen(buf);
}

/* --- header and program */

#define TABLE_MAX (64ull << 20) /* bytes */

/* Reads the table's bytes after its length. */
static int read_table(struct dwarf *dwarf, const struct unit *unit, struct line_table *ret,
		      struct cursor *cur)
{
	uint64_t off = unit->stmt_list, len;
	unsigned char head[12];
	struct cursor at = { head, head + sizeof(head), false };

	if (!unit->has_stmt_list || off > INT64_MAX ||
	    section__read(dwarf, DWARF_LINE, off, head, sizeof(head)))
		return -ENOENT;
	len = cursor__fixed(&at, 4);
	ret->off_sz = 4;
	if (len == 0xffffffff) {
		ret->off_sz = 8;
		len = cursor__fixed(&at, 8);
	}
	if (!len || len > TABLE_MAX || !dwarf__spend(dwarf, len)) /* each byte may be a step */
		return -EFBIG;
	ret->own = malloc(len);
	if (!ret->own)
		return -ENOMEM;
	*cur = (struct cursor){ ret->own, ret->own + len, false };
	return section__read(dwarf, DWARF_LINE, off + (at.at - head), ret->own, len);
}

static int read_header(struct line_table *ret, struct cursor *cur, const struct unit *unit)
{
	uint64_t len;

	ret->version = cursor__fixed(cur, 2);
	if (ret->version < 2 || ret->version > 5)
		return -ENOTSUP;
	ret->addr_sz = unit->addr_sz;
	if (ret->version >= 5) {
		ret->addr_sz = cursor__fixed(cur, 1);
		cursor__fixed(cur, 1); /* size of segment selectors, unused in practice */
	}
	len = cursor__fixed(cur, ret->off_sz);
	ret->program = *cur;
	cursor__skip(&ret->program, len);
	ret->min_insn = cursor__fixed(cur, 1);
	if (ret->version >= 4)
		cursor__fixed(cur, 1); /* operations per instruction, for VLIW */
	cursor__fixed(cur, 1);	       /* default value of is_stmt */
	ret->line_base = cursor__fixed(cur, 1);
	ret->line_range = cursor__fixed(cur, 1);
	ret->opcode_base = cursor__fixed(cur, 1);
	if (cur->bad || !ret->line_range || !ret->opcode_base ||
	    (ret->addr_sz != 4 && ret->addr_sz != 8))
		return -EINVAL;
	ret->opcode_lens = cursor__skip(cur, ret->opcode_base - 1);
	return cur->bad || ret->program.bad ? -EINVAL : read_lists(ret, cur, unit);
}

int line_table__open(struct dwarf *dwarf, const struct unit *unit, struct line_table *ret)
{
	struct cursor cur;
	int res;

	memset(ret, 0, sizeof(*ret));
	res = read_table(dwarf, unit, ret, &cur);
	if (!res)
		res = read_header(ret, &cur, unit);
	if (res)
		line_table__close(ret);
	return res;
}

void line_table__close(struct line_table *table)
{
	free(table->own);
	table->own = NULL;
}

struct row {
	uint64_t addr, file;
	int64_t line;
};

struct machine {
	const struct line_table *table;
	struct cursor cur;
	struct row row, before;
	bool begun; /* `before` belongs to this sequence */
	uint64_t vaddr;
	bool found; /* `before` is the wanted row */
};

static void start_sequence(struct machine *m)
{
	m->row = (struct row){ .file = 1, .line = 1 };
	m->begun = false;
}

/* A sequence at address 0 belongs to a function that the linker dropped. */
static void add_row(struct machine *m)
{
	m->found =
		m->begun && m->before.addr && m->vaddr >= m->before.addr && m->vaddr < m->row.addr;
	if (m->found)
		return;
	m->before = m->row;
	m->begun = true;
}

static void run_special(struct machine *m, unsigned opcode, bool add)
{
	unsigned adjusted = opcode - m->table->opcode_base;

	m->row.addr += (uint64_t)(adjusted / m->table->line_range) * m->table->min_insn;
	if (!add)
		return;
	m->row.line += m->table->line_base + (int)(adjusted % m->table->line_range);
	add_row(m);
}

static void run_extended(struct machine *m)
{
	uint64_t len = cursor__uleb(&m->cur);
	struct cursor own = { m->cur.at, NULL, false };
	unsigned opcode;

	cursor__skip(&m->cur, len);
	own.end = m->cur.at;
	if (m->cur.bad || !len)
		return;
	opcode = cursor__fixed(&own, 1);
	if (opcode == DW_LNE_set_address) {
		m->row.addr = cursor__fixed(&own, len - 1 < 8 ? len - 1 : 8);
	} else if (opcode == DW_LNE_end_sequence) {
		add_row(m);
		if (!m->found)
			start_sequence(m);
	}
}

static void run_unknown(struct machine *m, unsigned opcode)
{
	for (unsigned i = m->table->opcode_lens[opcode - 1]; i; i--)
		cursor__uleb(&m->cur);
}

static void run_standard(struct machine *m, unsigned opcode)
{
	switch (opcode) {
	case DW_LNS_copy:
		add_row(m);
		break;
	case DW_LNS_advance_pc:
		m->row.addr += cursor__uleb(&m->cur) * m->table->min_insn;
		break;
	case DW_LNS_advance_line:
		m->row.line += (uint64_t)cursor__sleb(&m->cur);
		break;
	case DW_LNS_set_file:
		m->row.file = cursor__uleb(&m->cur);
		break;
	case DW_LNS_const_add_pc:
		run_special(m, 255, false);
		break;
	case DW_LNS_fixed_advance_pc:
		m->row.addr += cursor__fixed(&m->cur, 2);
		break;
	default: /* columns, statements, blocks, future opcodes */
		run_unknown(m, opcode);
	}
}

int line_table__find(const struct line_table *table, uint64_t vaddr, uint64_t *file, uint32_t *line)
{
	struct machine m = { .table = table, .vaddr = vaddr };

	m.cur = table->program;
	start_sequence(&m);
	while (!m.found && m.cur.at < m.cur.end) {
		unsigned opcode = cursor__fixed(&m.cur, 1);

		if (opcode >= table->opcode_base)
			run_special(&m, opcode, true);
		else if (opcode)
			run_standard(&m, opcode);
		else
			run_extended(&m);
	}
	if (!m.found)
		return -ENOENT;
	*file = m.before.file;
	*line = m.before.line > 0 && m.before.line <= INT32_MAX ? m.before.line : 0;
	return 0;
}
