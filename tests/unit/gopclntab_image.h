/* SPDX-License-Identifier: GPL-2.0 */
/* An ELF file with a Go function table (gopclntab) of a few functions, to be damaged by tests. */
#ifndef JANK_GOPCLNTAB_IMAGE_H
#define JANK_GOPCLNTAB_IMAGE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MADE_FUNCS   4
#define MADE_FUNC_SZ 0x40
#define MADE_TEXT    0x401000
#define MADE_TABLE   0x402000

struct made_table {
	uint32_t magic;
	uint8_t pad[2], min_lc, ptr_size;
	/*
	 * Sizes and offsets of the table: functions, files, text; then names, units, files, values,
	 * index
	 */
	uint64_t head[8];
	char names[MADE_FUNCS][16];
	uint32_t units[2];
	char files[32];
	uint8_t values[64];
	struct {
		uint32_t addr, func;
	} index[MADE_FUNCS];
	uint32_t end;
	struct {
		uint32_t addr, name, args, deferreturn, sp, file, line, value_cnt, unit, begin_line;
		uint8_t id, flags, pad, data_cnt;
		uint32_t values[3];
	} funcs[MADE_FUNCS];
};

enum made_section {
	MADE_NONE,
	MADE_SECTION, /* the section of the table */
	MADE_STRINGS,
	MADE_BUILDINFO,
	MADE_RELA,
	MADE_SECTIONS,
};

static union {
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr segment;
		Elf64_Shdr sections[MADE_SECTIONS];
		char names[64];
		Elf64_Rela relas[2];
		uint8_t other[64]; /* data before the table */
		struct made_table table;
	};
	uint8_t bytes[2048];
} gopclntab_image;

#define MADE_IN_FILE(member) ((uint64_t)offsetof(__typeof__(gopclntab_image), member))
#define MADE_AT(member)	     ((uint64_t)offsetof(struct made_table, member))

static inline void gopclntab_image__make_table(struct made_table *made, uint32_t magic)
{
	/*
	 * Runs of (difference, length): file 0; line 10, then 13; inlined functions: none, then
	 * one.
	 */
	static const uint8_t values[] = {
		0, 2, 0x40, 0, 22, 0x20, 6, 0x20, 0, 0, 0x30, 2, 0x10, 0
	};

	*made = (struct made_table){ .magic = magic, .min_lc = 1, .ptr_size = 8 };
	made->head[0] = MADE_FUNCS;
	made->head[1] = 1;
	made->head[2] = MADE_TEXT;
	made->head[3] = MADE_AT(names);
	made->head[4] = MADE_AT(units);
	made->head[5] = MADE_AT(files);
	made->head[6] = MADE_AT(values);
	made->head[7] = MADE_AT(index);
	strcpy(made->files, "/src/main.go");
	memcpy(made->values, values, sizeof(values));
	for (uint32_t i = 0; i < MADE_FUNCS; i++) {
		snprintf(made->names[i], sizeof(made->names[i]), "main.f%u", i);
		made->index[i].addr = made->funcs[i].addr = i * MADE_FUNC_SZ;
		made->index[i].func = MADE_AT(funcs[i]) - MADE_AT(index);
		made->funcs[i].name = i * sizeof(made->names[i]);
		made->funcs[i].file = 1;
		made->funcs[i].line = 4;
		made->funcs[i].value_cnt = 3;
		/* the slot of the third value in Go 1.18, and in Go 1.20 */
		made->funcs[i].values[1] = made->funcs[i].values[2] = 9;
	}
	made->end = MADE_FUNCS * MADE_FUNC_SZ;
}

static inline void gopclntab_image__set(enum made_section nr, uint32_t name, uint32_t type,
					uint64_t addr, uint64_t offset, uint64_t size)
{
	gopclntab_image.sections[nr] = (Elf64_Shdr){ .sh_name = name,
						     .sh_type = type,
						     .sh_addr = addr,
						     .sh_offset = offset,
						     .sh_size = size };
}

static inline void gopclntab_image__make(uint32_t magic)
{
	static const char names[] =
		"\0.gopclntab\0.shstrtab\0.go.buildinfo\0.rela.dyn\0.data.rel.ro";
	Elf64_Ehdr *head = &gopclntab_image.head;

	_Static_assert(sizeof(names) <= sizeof(gopclntab_image.names), "names");
	memset(&gopclntab_image, 0, sizeof(gopclntab_image));
	*head = (Elf64_Ehdr){ .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
			      .e_type = ET_DYN,
			      .e_machine = EM_X86_64,
			      .e_phoff = MADE_IN_FILE(segment),
			      .e_phnum = 1,
			      .e_shoff = MADE_IN_FILE(sections),
			      .e_shnum = MADE_SECTIONS,
			      .e_shstrndx = MADE_STRINGS };
	gopclntab_image.segment = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = MADE_TEXT, .p_filesz = 0x400
	};
	gopclntab_image__set(MADE_SECTION, 1, SHT_PROGBITS, MADE_TABLE, MADE_IN_FILE(table),
			     sizeof(struct made_table));
	gopclntab_image__set(MADE_STRINGS, 12, SHT_STRTAB, 0, MADE_IN_FILE(names), sizeof(names));
	gopclntab_image__set(MADE_BUILDINFO, 22, SHT_PROGBITS, 0, 0, 64);
	gopclntab_image__set(MADE_RELA, 36, SHT_RELA, 0, MADE_IN_FILE(relas),
			     sizeof(gopclntab_image.relas));
	memcpy(gopclntab_image.names, names, sizeof(names));
	gopclntab_image__make_table(&gopclntab_image.table, magic);
}

/* As C linkers write it: among other data, with the code address left to the loader. */
static inline void gopclntab_image__hide(void)
{
	size_t before = sizeof(gopclntab_image.other);

	gopclntab_image__set(MADE_SECTION, 46, SHT_PROGBITS, MADE_TABLE - before,
			     MADE_IN_FILE(other), before + sizeof(struct made_table));
	gopclntab_image.table.head[2] = 0;
	gopclntab_image.relas[1] = (Elf64_Rela){ .r_offset = MADE_TABLE + MADE_AT(head[2]),
						 .r_info = R_X86_64_RELATIVE,
						 .r_addend = MADE_TEXT };
}

#endif
