/* SPDX-License-Identifier: GPL-2.0 */
/* Damage within the sections of an ELF file that a reader reads. */
#ifndef JANK_FUZZ_SECTIONS_H
#define JANK_FUZZ_SECTIONS_H

#include "symbol/elf/elf.h"
#include "tests/fuzz/fuzz.h"

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

/* If the file no longer has any of them: its first bytes. */
static inline void sections__damage(struct fuzz *f, unsigned char *bytes, size_t len,
				    const char *const *prefixes)
{
	const struct elf_section *sec = NULL;
	struct image img;
	struct elf elf;

	image__of_mem(&img, bytes, len);
	if (!elf__open(&elf, &img)) {
		sec = sections__any(f, &elf, prefixes);
		if (sec)
			fuzz__damage(f, bytes + sec->offset, sec->size);
		elf__close(&elf);
	}
	if (!sec)
		fuzz__damage(f, bytes, len < 64 ? len : 64);
}

#endif
