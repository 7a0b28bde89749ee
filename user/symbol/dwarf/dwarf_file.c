/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Directories and files of a line table: two plain lists up to DWARF 4, tables with forms in 5. The
 * second part reads the sections.
 */
#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

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

/* --- Sections of DWARF: found, read in parts or whole, unpacked */

#define FIRST_READ 128 /* most strings are shorter */

static const char *const names[DWARF_SECTION_CNT] = {
	[DWARF_INFO] = ".debug_info",
	[DWARF_ABBREV] = ".debug_abbrev",
	[DWARF_STR] = ".debug_str",
	[DWARF_LINE] = ".debug_line",
	[DWARF_LINE_STR] = ".debug_line_str",
	[DWARF_RANGES] = ".debug_ranges",
	[DWARF_RNGLISTS] = ".debug_rnglists",
	[DWARF_ADDR] = ".debug_addr",
	[DWARF_STR_OFFSETS] = ".debug_str_offsets",
};

/*
 * Parses the header of a compressed section. 0; -ENOTSUP: another compression than zlib; or another
 * -errno.
 */
static int read_packing(const struct elf *elf, const struct elf_section *sec,
			struct dwarf_part *part)
{
	uint64_t head = elf->is64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	Elf64_Chdr c64 = {};
	Elf32_Chdr c32 = {};

	if (sec->size < head ||
	    image__read(&elf->img, sec->offset, elf->is64 ? (void *)&c64 : (void *)&c32, head))
		return -ENODATA;
	if ((elf->is64 ? c64.ch_type : c32.ch_type) != ELFCOMPRESS_ZLIB)
		return -ENOTSUP;
	part->off = sec->offset + head;
	part->packed = sec->size - head;
	part->size = elf->is64 ? c64.ch_size : c32.ch_size;
	return part->size <= DWARF_FILE_MAX && part->packed ? 0 : -EFBIG;
}

int section__open_all(struct dwarf *dwarf, const struct elf *elf)
{
	for (unsigned i = 0; i < DWARF_SECTION_CNT; i++) {
		const struct elf_section *sec = elf__section(elf, names[i]);
		struct dwarf_part *part = &dwarf->parts[i];

		if (!sec)
			continue;
		if (sec->flags & SHF_COMPRESSED) {
			int res = read_packing(elf, sec, part);

			if (res)
				return res;
		} else {
			part->off = sec->offset;
			part->size = sec->size;
		}
	}
	return dwarf->parts[DWARF_INFO].size && dwarf->parts[DWARF_ABBREV].size ? 0 : -ENOENT;
}

/*
 * Unpacks a section in pieces, so that the compressed data is never in memory whole. Returns true
 * when all of it was unpacked.
 */
static bool inflate_part(const struct image *img, const struct dwarf_part *part, unsigned char *to)
{
	enum { PIECE = 1 << 16 };
	unsigned char *from = malloc(PIECE);
	z_stream zs = { .next_out = to, .avail_out = part->size };
	uint64_t done = 0;
	int res = Z_OK;

	if (!from || inflateInit(&zs) != Z_OK) {
		free(from);
		return false;
	}
	while (res == Z_OK && done < part->packed && zs.avail_out) {
		size_t len = part->packed - done < PIECE ? part->packed - done : PIECE;

		if (image__read(img, part->off + done, from, len))
			break;
		done += len;
		zs.next_in = from;
		zs.avail_in = len;
		res = inflate(&zs, Z_NO_FLUSH);
	}
	inflateEnd(&zs);
	free(from);
	return !zs.avail_out;
}

const unsigned char *section__whole(struct dwarf *dwarf, enum dwarf_section nr)
{
	struct dwarf_part *part = &dwarf->parts[nr];
	bool good;

	if (part->mem || part->broken || !part->size || !dwarf__has_room(dwarf, part->size))
		return part->mem;
	part->mem = malloc(part->size);
	if (!part->mem) {
		part->broken = true;
		return NULL;
	}
	if (part->packed)
		good = inflate_part(&dwarf->img, part, part->mem);
	else
		good = !image__read(&dwarf->img, part->off, part->mem, part->size);
	if (!good) {
		free(part->mem);
		part->mem = NULL;
		part->broken = true;
	}
	return part->mem;
}

int section__read(struct dwarf *dwarf, enum dwarf_section nr, uint64_t off, void *buf, size_t len)
{
	struct dwarf_part *part = &dwarf->parts[nr];

	if (off > part->size || len > part->size - off || part->broken)
		return -ENODATA;
	if (part->packed && !section__whole(dwarf, nr))
		return -ENODATA;
	if (!part->mem)
		return image__read(&dwarf->img, part->off + off, buf, len);
	memcpy(buf, part->mem + off, len);
	return 0;
}

size_t section__string(struct dwarf *dwarf, enum dwarf_section nr, uint64_t off, char *buf,
		       size_t cap)
{
	uint64_t size = dwarf->parts[nr].size, left = off < size ? size - off : 0, len;

	if (left > cap - 1)
		left = cap - 1;
	len = left < FIRST_READ ? left : FIRST_READ;
	buf[0] = 0;
	if (!len || section__read(dwarf, nr, off, buf, len))
		return 0;
	if (len < left && !memchr(buf, 0, len)) {
		if (section__read(dwarf, nr, off, buf, left))
			return 0;
		len = left;
	}
	buf[len] = 0;
	return strlen(buf);
}
