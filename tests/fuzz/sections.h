/* SPDX-License-Identifier: GPL-2.0 */
/* Damage within the sections of an ELF file that a reader reads. */
#ifndef JANK_FUZZ_SECTIONS_H
#define JANK_FUZZ_SECTIONS_H

#include <elf.h>

#include "symbol/elf/elf.h"
#include "tests/fuzz/corpus.h"

#define SECTIONS_REPEATS 64 /* one input in so many has a long section */

/* The sections whose names begin with one of the prefixes (NULL at the end). */
static inline const struct elf_section *sections__any(struct fuzz *f, const struct elf *elf,
						      const char *const *prefixes)
{
	const struct elf_section *ret = NULL;
	size_t cnt = 0;

	for (size_t i = 0; i < elf->section_cnt; i++) {
		const struct elf_section *sec = &elf->sections[i];

		if (sec->name >= elf->names_len || !sec->size ||
		    !image__holds(&elf->img, sec->offset, sec->size))
			continue;
		for (const char *const *p = prefixes; *p; p++)
			if (!strncmp(elf->names + sec->name, *p, strlen(*p)) &&
			    fuzz__chance(f, ++cnt))
				ret = sec;
	}
	return ret;
}

/* Puts a section elsewhere; the table of sections must be within the file. */
static inline void sections__move(unsigned char *bytes, size_t len, bool is64, size_t nr,
				  uint64_t offset, uint64_t size)
{
	Elf64_Ehdr head64;
	Elf32_Ehdr head32;
	size_t at;

	if (len < sizeof(head64))
		return;
	memcpy(&head64, bytes, sizeof(head64));
	memcpy(&head32, bytes, sizeof(head32));
	at = is64 ? head64.e_shoff + nr * sizeof(Elf64_Shdr)
		  : head32.e_shoff + nr * sizeof(Elf32_Shdr);
	if (at > len - sizeof(Elf64_Shdr))
		return;
	if (is64) {
		memcpy(bytes + at + offsetof(Elf64_Shdr, sh_offset), &offset, 8);
		memcpy(bytes + at + offsetof(Elf64_Shdr, sh_size), &size, 8);
	} else {
		memcpy(bytes + at + offsetof(Elf32_Shdr, sh_offset), &offset, 4);
		memcpy(bytes + at + offsetof(Elf32_Shdr, sh_size), &size, 4);
	}
}

/* Repeats a section's content, without the zeros that end a list, behind the file's end. */
static inline void sections__repeat(const struct elf *elf, const struct elf_section *sec,
				    unsigned char *bytes, size_t *len)
{
	size_t from = *len, size = sec->size;

	while (size && !bytes[sec->offset + size - 1])
		size--;
	size += -size % 4;
	if (!size || size > sec->size)
		return;
	while (*len + size <= CORPUS_INPUT_SZ) {
		memcpy(bytes + *len, bytes + sec->offset, size);
		*len += size;
	}
	sections__move(bytes, from, elf->is64, sec - elf->sections, from, *len - from);
}

/*
 * Damages the content of such a section, or makes it long. If the file no longer has any: its first
 * bytes.
 */
static inline void sections__damage(struct fuzz *f, unsigned char *bytes, size_t *len,
				    const char *const *prefixes)
{
	const struct elf_section *sec = NULL;
	struct image img;
	struct elf elf;

	image__of_mem(&img, bytes, *len);
	if (!elf__open(&elf, &img)) {
		sec = sections__any(f, &elf, prefixes);
		if (sec && fuzz__chance(f, SECTIONS_REPEATS))
			sections__repeat(&elf, sec, bytes, len);
		else if (sec)
			fuzz__damage(f, bytes + sec->offset, sec->size);
		elf__close(&elf);
	}
	if (!sec)
		fuzz__damage(f, bytes, *len < 64 ? *len : 64);
}

#endif
