/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations that the files of the DWARF reader share. */
#ifndef JANK_SYMBOL_DWARF_DWARF_PARTS_H
#define JANK_SYMBOL_DWARF_DWARF_PARTS_H

#include <elfutils/libdw.h>

#include "symbol/dwarf/dwarf.h"

/* A file with DWARF, opened by libdw when its first address is looked up. */
struct dwarf_file {
	struct image img; /* its descriptor is owned; -1: no file */
	size_t unpacked;  /* bytes of compressed sections in memory */
	Dwarf *dwarf;	  /* NULL: not open */
	Elf *elf;
	const Elf_Data *lines; /* .debug_line; NULL: none */
	void *mem;	       /* the mapping, or malloc'ed */
	size_t mem_size;
	bool mapped;
};

/* An address range of a unit's code. */
struct dwarf_range {
	uint64_t low, high;
	uint32_t unit; /* its number */
};

struct dwarf_unit {
	Dwarf_Off root; /* its first entry */
	bool read;	/* it is counted in unit_bytes */
};

struct dwarf {
	struct dwarf_file file, alt;
	struct dwarf_range *ranges; /* by low */
	size_t range_cnt, range_cap;
	struct dwarf_unit *units;
	size_t unit_cnt, unit_cap;
	size_t unit_bytes;			 /* what libdw keeps of units, estimated */
	uint64_t next_ns;			 /* do not open the file again before this time */
	uint64_t begin_ns, begin_cpu_ns, max_ns; /* of the operation under way */
	uint64_t costly_ns;			 /* CPU time of slow look-ups */
	unsigned steps;
	bool indexed;
	bool used;	/* an address was looked up since the last dwarf__rest */
	bool cut;	/* the operation under way, or the last look-up, ended early */
	bool index_cut; /* the index is incomplete */
};

/*
 * dwarf_file.c: duplicates the image's descriptor. Returns false when the file has no DWARF, or one
 * that is too large unpacked, or no descriptor is free. An image in memory has none.
 */
bool dwarf_file__init(struct dwarf_file *file, const struct elf *elf);
/* Returns false when it cannot be read. */
bool dwarf_file__open(struct dwarf_file *file);
void dwarf_file__close(struct dwarf_file *file); /* accepts a file that is not open */
void dwarf_file__free(struct dwarf_file *file);
/* Whether the line table at an offset is of a size that libdw may read. */
bool dwarf_file__lines_fit(const struct dwarf_file *file, uint64_t off);
size_t dwarf_file__bytes(const struct dwarf_file *file); /* memory, without mapped files */

/* dwarf_index.c: builds the index of units by address. */
void dwarf_index__build(struct dwarf *dwarf);
void dwarf_index__free(struct dwarf *dwarf);
/* Returns the unit that contains the address, or NULL. */
struct dwarf_unit *dwarf_index__find(const struct dwarf *dwarf, uint64_t vaddr);
size_t dwarf_index__bytes(const struct dwarf *dwarf);

/*
 * dwarf_index.c: begins an operation of bounded CPU time; returns its time so far, at least where
 * it is beyond the bound; returns false when it is used up.
 */
void dwarf__begin(struct dwarf *dwarf, uint64_t max_ns);
uint64_t dwarf__elapsed_ns(const struct dwarf *dwarf);
bool dwarf__step(struct dwarf *dwarf);

#endif
