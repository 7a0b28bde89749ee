/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables of one module. Input: an offset of code in the file. Output: the rules that give
 * the caller's registers there.
 * This is our own reader instead of libdw's, because the tables may be hostile: libdw allocates as
 * many registers as a table names, and keeps everything it has read. This reader reads files with
 * pread where needed. It caches some 60 bytes for each address, so the next walk through that
 * address reads nothing.
 */
#ifndef JANK_SYMBOL_UNWIND_CFI_H
#define JANK_SYMBOL_UNWIND_CFI_H

#include "symbol/elf/elf.h"

#define CFI_REG_MAX                                                                                \
	33 /* DWARF numbers of the registers that we know, and the program counter of arm64 */
#define CFI_RULE_MAX CFI_REG_MAX

enum cfi_how {
	CFI_UNSAID, /* no rule: the ABI decides */
	CFI_SAME,
	CFI_UNDEFINED,
	CFI_OFFSET,	/* in memory at the CFA + value */
	CFI_VAL_OFFSET, /* the CFA + value; for the CFA itself: register reg + value */
	CFI_REGISTER,	/* in register `value` */
	CFI_EXPR, /* in memory at the result of the expression; for the CFA itself: the result */
	CFI_VAL_EXPR, /* the result of the expression */
};

struct cfi_rule {
	uint8_t reg, how; /* enum cfi_how */
	uint16_t len;	  /* of the expression, in bytes */
	int32_t value;	  /* for an expression: its position, see cfi__expr */
};

/* The rules at one address. */
struct cfi_row {
	uint64_t key;	  /* of the cache entry */
	bool has_table;	  /* false: only the flags about the code are valid */
	bool signal;	  /* the kernel made the frame: its caller was interrupted */
	bool behind_call; /* the address follows a call instruction */
	bool of_go;	  /* code of a Go program */
	bool has_depth;	  /* Go code: depth is valid, see gopclntab__depth */
	bool is_top;	  /* no function calls this one */
	/* no table within MANAGED_BYTES: code of another compiler, which keeps frame pointers */
	bool managed;
	bool at_entry; /* within the program's first instructions */
	uint8_t ra;    /* the column of the return address */
	uint8_t rule_cnt;
	struct cfi_rule cfa;
	/*
	 * of code of ART's interpreters: register `reg` + value is the address of the bytecode that
	 * the frame executes (a dex pc); CFI_UNSAID: other code
	 */
	struct cfi_rule dex;
	uint32_t rules; /* index of the first rule */
	uint32_t depth;
	uint32_t since_start; /* with a table: bytes from the function's begin to the address */
};

struct cfi;

/*
 * Opens the unwind tables of an ELF image: parses only what is needed to find them. The image is
 * `part` of the file fd; or, when fd is -1, mem (malloc'ed). Takes ownership of fd or mem.
 * Bad contents of a file never cause an error: a file without tables, or no file at all, gives a
 * cfi without rows.
 */
struct cfi *cfi__new(int fd, struct image_part part, void *mem, size_t size);
void cfi__free(struct cfi *cfi); /* accepts NULL */

/* A table without a file, of code at [begin, end) in a process's memory. */
struct cfi_table {
	void *mem; /* malloc'ed: .debug_frame, or .eh_frame (eh) at address 0 */
	size_t size;
	bool eh, is64;
	uint16_t machine; /* EM_* */
	uint64_t begin, end;
};

/*
 * Opens such a table. Offsets of cfi__row are addresses of the process; behind_call is not set.
 * Takes ownership of table->mem.
 */
struct cfi *cfi__of_table(const struct cfi_table *table);

/*
 * The descriptor may be closed at any time. The caller sets it again when it asks for an address
 * that is not cached.
 */
void cfi__set_fd(struct cfi *cfi, int fd); /* takes fd; closes the previous one */
bool cfi__has_fd(const struct cfi *cfi);

/*
 * From now on, treat a file that was written after cfi__set_fd as absent. Cached addresses stay
 * valid.
 */
void cfi__watch(struct cfi *cfi);

/* Returns true, once only, when an address had no table and a separate debug file may have one. */
bool cfi__wants_debug(struct cfi *cfi);
void cfi__add_debug(struct cfi *cfi, const struct image *img);

/*
 * Returns the row for a file offset of mapped code: of the instruction there (exact), or of the
 * call before it. The pointer is valid until the next call. NULL: the offset is not cached and the
 * file is not open, or out of memory.
 */
const struct cfi_row *cfi__row(struct cfi *cfi, uint64_t offset, bool exact);

uint16_t cfi__machine(const struct cfi *cfi); /* EM_*; 0: not an ELF file */

const struct cfi_rule *cfi__rules(const struct cfi *cfi, const struct cfi_row *row);
const uint8_t *cfi__expr(const struct cfi *cfi, const struct cfi_rule *rule);

/* Reads bytes of the file. 0 or -errno. */
int cfi__code(const struct cfi *cfi, uint64_t offset, void *buf, size_t len);

size_t cfi__bytes(const struct cfi *cfi);

/* --- evaluator of DWARF expressions, for the operations that unwind tables use */

/* Callbacks for what an expression reads. Each returns false when the value is not available. */
struct cfi_world {
	bool (*reg)(void *ctx, uint64_t reg, uint64_t *ret);
	bool (*memory)(void *ctx, uint64_t addr, unsigned size, uint64_t *ret);
	void *ctx;
	unsigned word; /* bytes of an address */
};

/*
 * Runs the expression. `first` is pushed before, unless NULL. Returns false when a value is not
 * available, or when an operation is not one that unwind tables use.
 */
bool cfi_expr__run(const uint8_t *expr, size_t len, const uint64_t *first,
		   const struct cfi_world *world, uint64_t *ret);

#endif
