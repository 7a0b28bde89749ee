/* SPDX-License-Identifier: GPL-2.0 */
/* The directories and files of a line table: two plain lists up to DWARF 4, tables with forms in 5. */
#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "symbol/dwarf/dwarf_parts.h"

#define FIELDS_MAX  16
#define ENTRIES_MAX (1u << 20)

struct field {
	uint64_t what, form;
};

struct layout {
	struct field fields[FIELDS_MAX];
	unsigned cnt;
};

/* An entry: of a directory the name alone. */
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

/* Past a list of DWARF 5; it begins with its layout. */
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
	cursor__uleb(cur); /* when it was written, */
	cursor__uleb(cur); /* and its length */
	return !cur->bad;
}

int line_table__lists(struct line_table *table, struct cursor *cur, const struct unit *unit)
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

/* Up to DWARF 4 files are counted from 1. */
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

/* "": the unit's own. */
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
