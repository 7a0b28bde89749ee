/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections of DWARF: found, read in parts or whole, unpacked. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "files/unpack.h"
#include "symbol/dwarf/dwarf_parts.h"

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

static bool read_part(const struct image *img, const struct dwarf_part *part, void *to)
{
	const struct deflated packed = { .img = *img, .at = part->off, .packed = part->packed };

	if (!part->packed)
		return !image__read(img, part->off, to, part->size);
	return inflate__bytes(&packed, to, part->size) == (int)part->size;
}

const unsigned char *section__whole(struct dwarf *dwarf, enum dwarf_section nr)
{
	struct dwarf_part *part = &dwarf->parts[nr];

	if (part->mem || part->broken || !part->size || !dwarf__has_room(dwarf, part->size))
		return part->mem;
	part->mem = malloc(part->size);
	if (!part->mem) {
		part->broken = true;
		return NULL;
	}
	if (!read_part(&dwarf->img, part, part->mem)) {
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
