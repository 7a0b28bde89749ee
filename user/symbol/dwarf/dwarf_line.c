/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Line tables: the header, and the program, run up to the row of an address. */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/dwarf/dwarf_parts.h"

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
	return cur->bad || ret->program.bad ? -EINVAL : line_table__lists(ret, cur, unit);
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
