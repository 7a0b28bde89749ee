/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations that the files of the unwind table reader share. */
#ifndef JANK_SYMBOL_UNWIND_CFI_PARTS_H
#define JANK_SYMBOL_UNWIND_CFI_PARTS_H

#include "symbol/dwarf/cursor.h"
#include "symbol/languages/gopclntab.h"
#include "symbol/unwind/cfi.h"

#define CFI_ENTRY_MAX	(64u << 10) /* bytes of a CIE or FDE */
#define CFI_SECTION_MAX (64u << 20)
#define CFI_INDEX_MAX	(1u << 20)

#define CFI_EXPR_MAX  256
#define CFI_EXPRS_MAX (256u << 10) /* of a module */
#define CFI_RULES_MAX (1u << 17)

/*
 * An entry of the index that we build: the code of an FDE. Several may share the FDE's
 * instructions.
 */
struct cfi_place {
	uint32_t start, len; /* start: relative to the index's lowest address */
	uint32_t off;	     /* of the FDE in the section */
};

/*
 * A section with tables: in the file (read where needed, found by the file's own search table), or
 * in memory (read whole, with an index that we build).
 */
struct cfi_section {
	bool eh; /* .eh_frame, not .debug_frame */
	uint8_t *mem;
	uint64_t off, addr, size; /* in the file; for a section in memory off is 0 */
	struct cfi_place *index;
	size_t index_cnt;
	uint64_t lowest;
};

#define CFI_PAIR 8 /* bytes of an entry of a search table */

/*
 * A table of pairs in the file, the first word of which is the begin of code: of .eh_frame_hdr,
 * relative to addr; or .ARM.exidx, where it is relative to the pair, in 31 bits.
 */
struct cfi_search {
	bool is_prel31;
	uint64_t addr, off;
	uint64_t cnt;
};

struct cfi_pair {
	uint64_t start, next; /* next: start of the next pair, or UINT64_MAX */
	uint64_t addr;	      /* of the pair */
	uint32_t value;	      /* its second word */
};

/* The bytes of one entry, CIE or FDE, after its length. */
struct cfi_entry {
	struct cursor cur;
	const uint8_t *begin; /* of the cursor */
	uint64_t addr;	      /* of begin */
	uint64_t off;	      /* of begin, in the section */
	uint64_t next;
	bool wide; /* DWARF's 64-bit format */
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint8_t ra, fde_enc;
	bool has_aug, signal;
	struct cursor program;
};

#define CFI_SECTIONS 4
struct cfi {
	struct image img;
	struct image_part part; /* the part of the file that img covers */
	void *mem;		/* owned, or NULL: then img owns a descriptor */
	bool no_file;		/* only a table in memory */
	uint64_t written_ns;	/* modification time of the file when fd was set */
	bool watched;		/* the file must keep that modification time */
	bool is64, is_elf, debug_wanted, packed_wanted;
	bool keeps_fp; /* Go's code */
	bool has_go;
	struct gopclntab go; /* its image is updated from img before use */
	uint16_t machine;
	uint64_t entry;
	struct elf_segment *loads;
	size_t load_cnt;
	struct cfi_search search;
	struct cfi_search exidx;		   /* cnt 0: none */
	struct cfi_section file;		   /* the section that search points into */
	struct cfi_section sections[CFI_SECTIONS]; /* in memory */
	size_t section_cnt;
	/* the last CIE that was parsed, by section and offset in it */
	const uint8_t *cie_of;
	uint64_t cie_off;
	struct cfi_cie cie;
	uint8_t *scratch[2]; /* buffers for an FDE and a CIE, as large as the longest so far */
	size_t scratch_sz[2];
	/* cache of rows */
	struct cfi_row *slots;
	size_t slot_cnt, row_cnt;
	struct cfi_rule *rules;
	size_t rule_cnt, rule_cap;
	uint8_t *exprs;
	size_t expr_len, expr_cap;
};

struct cfi_fde {
	uint64_t start, len;
	struct cfi_cie cie;
	struct cursor program;
	uint64_t program_addr;
};

/* The code around an address without a table. */
struct cfi_gap {
	uint64_t from, to;
};

/*
 * cfi_index.c: finds the FDE with the nearest begin at or below the address. ret_next gets where
 * the next FDE begins, or UINT64_MAX. Returns false, or NULL, when there is none.
 */
bool cfi_search__find(struct cfi *cfi, uint64_t vaddr, uint64_t *ret_off, uint64_t *ret_next);
bool cfi_search__pair(struct cfi *cfi, const struct cfi_search *search, uint64_t vaddr,
		      struct cfi_pair *ret);
const struct cfi_place *cfi_index__find(const struct cfi_section *sec, uint64_t vaddr);
void cfi_search__open(struct cfi *cfi, const struct elf *elf);

/*
 * cfi_index.c: indexes a section in memory. pack (.debug_frame only): removes repeated
 * instructions, so that sec->size shrinks.
 */
void cfi_index__build(struct cfi *cfi, struct cfi_section *sec, bool pack);

/*
 * cfi_entry.c: reads the head of the entry at an offset. which: the scratch buffer, 0 or 1, for a
 * section in the file. 0 or -errno; then the section ends there.
 */
int cfi_entry__read(struct cfi *cfi, const struct cfi_section *sec, uint64_t off, unsigned which,
		    struct cfi_entry *ret);
/* Call first. Returns true when the entry is a CIE; else ret_cie gets the offset of its CIE. */
bool cfi_entry__is_cie(const struct cfi_section *sec, struct cfi_entry *entry, uint64_t *ret_cie);
/* Parses an entry that was read, with its CIE. 0; -ENOENT: it is a CIE; or -errno. */
int cfi_entry__parse(struct cfi *cfi, const struct cfi_section *sec, struct cfi_entry *entry,
		     struct cfi_fde *ret);

/* cfi_entry.c: parses the FDE at an offset of the section, and its CIE. 0 or -errno. */
int cfi_entry__fde(struct cfi *cfi, const struct cfi_section *sec, uint64_t off,
		   struct cfi_fde *ret);
uint64_t cfi_entry__pointer(const struct cfi *cfi, struct cursor *cur, uint8_t enc, uint64_t addr,
			    uint64_t data);

/*
 * cfi_program.c: runs the instructions up to vaddr. Fills row and appends its rules to cfi. 0 or
 * -errno.
 */
int cfi_program__run(struct cfi *cfi, const struct cfi_fde *fde, uint64_t vaddr,
		     struct cfi_row *row);

/* Appends rules, at most CFI_REG_MAX, to cfi, as those of the row. 0 or -errno. */
int cfi_rules__add(struct cfi *cfi, const struct cfi_rule *rules, size_t cnt, struct cfi_row *row);

/* Finds the file offset of an address. ret_left: bytes from there to the end of its segment. */
bool cfi__offset_of(const struct cfi *cfi, uint64_t vaddr, uint64_t *ret, uint64_t *ret_left);

/* --- exidx.c: tables of 32-bit arm */

void exidx__open(struct cfi *cfi, const struct elf *elf);
/* Fills the row of an address. exact: the instruction there has not run. False: no table. */
bool exidx__find(struct cfi *cfi, uint64_t vaddr, bool exact, struct cfi_row *row);

#endif
