/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Relative relocations, sorted by address. See file_pointers.h. */
#include "symbol/languages/file_pointers.h"

#include <errno.h>
#include <stdlib.h>

#define POINTERS_MAX	65536
#define RELOCATIONS_MAX (1u << 20) /* that are read */
#define PART		512

struct pointer {
	uint64_t at, to;
};

struct file_pointers {
	const struct elf *elf;
	size_t cnt;
	struct pointer table[POINTERS_MAX];
};

struct file_pointers *file_pointers__new(void)
{
	return calloc(1, sizeof(struct file_pointers));
}

void file_pointers__free(struct file_pointers *pointers)
{
	free(pointers);
}

static int compare(const void *a, const void *b)
{
	const struct pointer *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static bool is_relative(const struct elf *elf, uint64_t info)
{
	uint32_t type = elf->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;

	return ELF64_R_TYPE(info) == type;
}

/* *left: relocations that may still be read. */
static int take_section(struct file_pointers *pointers, const struct elf_section *section,
			uint64_t from, uint64_t to, size_t *left)
{
	size_t total = section->size / sizeof(Elf64_Rela);
	Elf64_Rela part[PART];
	int res;

	if (total > *left)
		return -E2BIG;
	*left -= total;
	for (size_t done = 0; done < total; done += PART) {
		size_t cnt = total - done < PART ? total - done : PART;

		res = image__read(&pointers->elf->img, section->offset + done * sizeof(*part), part,
				  cnt * sizeof(*part));
		if (res)
			return res;
		for (size_t i = 0; i < cnt; i++) {
			if (part[i].r_offset < from || part[i].r_offset >= to ||
			    !is_relative(pointers->elf, part[i].r_info))
				continue;
			if (pointers->cnt == POINTERS_MAX)
				return -E2BIG;
			pointers->table[pointers->cnt++] =
				(struct pointer){ part[i].r_offset, (uint64_t)part[i].r_addend };
		}
	}
	return 0;
}

int file_pointers__load(struct file_pointers *pointers, const struct elf *elf, uint64_t from,
			uint64_t to)
{
	size_t left = RELOCATIONS_MAX;
	int res = 0;

	pointers->elf = elf;
	pointers->cnt = 0;
	for (size_t i = 0; i < elf->section_cnt && !res; i++)
		if (elf->sections[i].type == SHT_RELA && elf->sections[i].flags & SHF_ALLOC)
			res = take_section(pointers, &elf->sections[i], from, to, &left);
	qsort(pointers->table, pointers->cnt, sizeof(*pointers->table), compare);
	return res;
}

/* Without a relocation in the table, its addend is in place: packed relocations (SHT_RELR). */
uint64_t file_pointers__at(const struct file_pointers *pointers, uint64_t addr)
{
	struct pointer key = { .at = addr };
	const struct pointer *found =
		bsearch(&key, pointers->table, pointers->cnt, sizeof(*pointers->table), compare);
	uint64_t ret = 0;

	if (found)
		return found->to;
	return elf__read(pointers->elf, addr, &ret, sizeof(ret)) ? 0 : ret;
}
