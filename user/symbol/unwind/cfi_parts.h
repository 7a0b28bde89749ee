/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the unwind tables' reader share. */
#ifndef JANK_SYMBOL_UNWIND_CFI_PARTS_H
#define JANK_SYMBOL_UNWIND_CFI_PARTS_H

#include "symbol/dwarf/cursor.h"
#include "symbol/interpreters/gopclntab.h"
#include "symbol/unwind/cfi.h"

#define CFI_ENTRY_MAX	(64u << 10) /* bytes of a CIE or FDE */
#define CFI_SECTION_MAX (64u << 20)
#define CFI_INDEX_MAX	(1u << 20)

#define CFI_EXPR_MAX  256
#define CFI_EXPRS_MAX (256u << 10) /* of a module */
#define CFI_RULES_MAX (1u << 17)

/* A place in an index that we made: of the FDE that begins at an address. */
struct cfi_place {
	uint32_t start; /* from the index's lowest address on */
	uint32_t off;	/* in the section */
};

/*
 * A section with tables: of the file (read where needed, with the file's own search table), or in
 * memory (all of it, with an index of ours).
 */
struct cfi_section {
	bool eh; /* .eh_frame, not .debug_frame */
	uint8_t *mem;
	uint64_t off, addr, size; /* in the file; in memory off is 0 */
	struct cfi_place *index;
	size_t index_cnt;
	uint64_t lowest;
};

/* .eh_frame_hdr's table: pairs of 32-bit numbers relative to addr. */
struct cfi_search {
	uint64_t addr, off;
	uint64_t cnt;
};

/* The bytes of one entry, CIE or FDE, behind its length. */
struct cfi_entry {
	struct cursor cur;
	const uint8_t *begin; /* of the cursor */
	uint64_t addr;	      /* of begin */
	uint64_t off;	      /* of begin, in the section */
	uint64_t next;
	bool wide; /* DWARF's 64-bit format */
};

#define CFI_SECTIONS 3
struct cfi {
	struct image img;
	struct image_part part; /* of the file that img is */
	void *mem;		/* owned, or NULL: img is of a descriptor, owned too */
	uint64_t written_ns;	/* when the file was, as it was given */
	bool watched;		/* it must not have been since */
	bool is64, is_elf, debug_wanted;
	bool keeps_fp; /* Go's code */
	bool has_go;
	struct gopclntab go; /* its image is img, as it is by now */
	uint16_t machine;
	uint64_t entry;
	struct elf_segment *loads;
	size_t load_cnt;
	struct cfi_search search;
	struct cfi_section file;		   /* what search leads to */
	struct cfi_section sections[CFI_SECTIONS]; /* in memory */
	size_t section_cnt;
	uint8_t *scratch[2]; /* of an FDE and a CIE, as long as the longest so far */
	size_t scratch_sz[2];
	/* the cache */
	struct cfi_row *slots;
	size_t slot_cnt, row_cnt;
	struct cfi_rule *rules;
	size_t rule_cnt, rule_cap;
	uint8_t *exprs;
	size_t expr_len, expr_cap;
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint8_t ra, fde_enc;
	bool has_aug, signal;
	struct cursor program;
};

struct cfi_fde {
	uint64_t start, len;
	struct cfi_cie cie;
	struct cursor program;
	uint64_t program_addr;
};

/* What surrounds an address without a table. */
struct cfi_gap {
	uint64_t from, to;
};

/*
 * cfi_entry.c: the FDE whose begin is nearest at or below the address, and where the next one
 * begins (or the last address). False: none.
 */
bool cfi_search__find(struct cfi *cfi, uint64_t vaddr, uint64_t *ret_off, uint64_t *ret_next);
bool cfi_index__find(const struct cfi_section *sec, uint64_t vaddr, uint64_t *ret_off);
int cfi_index__build(struct cfi *cfi, struct cfi_section *sec);
void cfi_search__open(struct cfi *cfi, const struct elf *elf);

/* cfi_entry.c: parses the FDE at an offset of the section, with its CIE. 0 or -errno. */
int cfi_entry__fde(struct cfi *cfi, const struct cfi_section *sec, uint64_t off,
		   struct cfi_fde *ret);
int cfi_entry__read(struct cfi *cfi, const struct cfi_section *sec, uint64_t off, unsigned which,
		    struct cfi_entry *ret);
/* Whether the entry is a CIE; its CIE's offset else. */
bool cfi_entry__is_cie(const struct cfi_section *sec, struct cfi_entry *entry, uint64_t *ret_cie);
uint64_t cfi_entry__pointer(const struct cfi *cfi, struct cursor *cur, uint8_t enc, uint64_t addr,
			    uint64_t data);

/*
 * cfi_program.c: runs the instructions up to vaddr; fills row with rules added to cfi. 0 or -errno.
 */
int cfi_program__run(struct cfi *cfi, const struct cfi_fde *fde, uint64_t vaddr,
		     struct cfi_row *row);

#endif
