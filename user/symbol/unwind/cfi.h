/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind tables of one module: how, at an address of its code, the caller's registers are
 * found.
 *
 * A reader of our own rather than libdw's: the tables may be hostile (libdw allocates as many
 * registers as a table names, and keeps all that it met), a file's are read by pread where they are
 * needed instead of being kept whole, and what an address needs is kept in some 60 bytes, so that
 * the next walk through it reads nothing.
 */
#ifndef JANK_SYMBOL_UNWIND_CFI_H
#define JANK_SYMBOL_UNWIND_CFI_H

#include "symbol/elf/elf.h"

#define CFI_REG_MAX                                                                                \
	33 /* DWARF's numbers of the registers that we know, and the program counter of arm64 */
#define CFI_RULE_MAX CFI_REG_MAX

enum cfi_how {
	CFI_UNSAID, /* as the ABI has it */
	CFI_SAME,
	CFI_UNDEFINED,
	CFI_OFFSET,	/* in memory at the CFA + value */
	CFI_VAL_OFFSET, /* the CFA + value; of the CFA itself: register reg + value */
	CFI_REGISTER,	/* in register `value` */
	CFI_EXPR,	/* in memory where the expression says; of the CFA itself: what it says */
	CFI_VAL_EXPR,	/* what the expression says */
};

struct cfi_rule {
	uint8_t reg, how; /* enum cfi_how */
	uint16_t len;	  /* of the expression */
	int32_t value;	  /* of an expression: where it is, see cfi__expr */
};

/* What holds at an address. */
struct cfi_row {
	uint64_t key;	  /* of the cache */
	bool has_table;	  /* else only what is said of the code holds */
	bool signal;	  /* the frame was made by the kernel: its caller was interrupted */
	bool behind_call; /* the address is behind a call instruction */
	bool of_go;	  /* Go's code */
	bool has_depth;	  /* of Go's code: gopclntab__depth */
	bool is_top;	  /* nothing calls that */
	bool managed;  /* no table for miles: another compiler's code, which keeps frame pointers */
	bool at_entry; /* within the program's first instructions */
	uint8_t ra;    /* the column of the return address */
	uint8_t rule_cnt;
	struct cfi_rule cfa;
	uint32_t rules; /* the first one's place */
	uint32_t depth;
};

struct cfi;

/*
 * The tables of an ELF image: parses what is needed to find them. It is a part of the file fd,
 * which is taken (or -1: then mem, malloc'ed and taken too). NULL when out of memory; a file
 * without tables, or none at all, is a cfi that has no rows. Never fails for what the file holds.
 */
struct cfi *cfi__new(int fd, struct image_part part, void *mem, size_t size);
void cfi__free(struct cfi *cfi); /* accepts NULL */

/*
 * The descriptor may be given up, and given back when an address is asked for that isn't known yet.
 */
void cfi__set_fd(struct cfi *cfi, int fd); /* takes it; closes the one it had */
bool cfi__has_fd(const struct cfi *cfi);

/*
 * From now on a file that was written to since it was given counts as none, where an address isn't
 * known yet.
 */
void cfi__watch(struct cfi *cfi);

/* Whether a separate debug file may have a table for what had none, which is told once only. */
bool cfi__wants_debug(struct cfi *cfi);
void cfi__add_debug(struct cfi *cfi, const struct image *img);

/*
 * The row for an offset into the file where code is mapped from: of the instruction there (exact),
 * or of the call before it. Stands until the next call. NULL: none is known and the file isn't
 * open; or out of memory.
 */
const struct cfi_row *cfi__row(struct cfi *cfi, uint64_t offset, bool exact);

uint16_t cfi__machine(const struct cfi *cfi); /* EM_*; 0: no ELF file */

const struct cfi_rule *cfi__rules(const struct cfi *cfi, const struct cfi_row *row);
const uint8_t *cfi__expr(const struct cfi *cfi, const struct cfi_rule *rule);

/* Bytes of the file; -errno. */
int cfi__code(const struct cfi *cfi, uint64_t offset, void *buf, size_t len);

size_t cfi__bytes(const struct cfi *cfi);

#endif
