/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pointers in the data of an ELF file of 64 bits: what the loader writes there, without bias. Used
 * on the symbolizer's thread only.
 */
#ifndef JANK_SYMBOL_LANGUAGES_FILE_POINTERS_H
#define JANK_SYMBOL_LANGUAGES_FILE_POINTERS_H

#include "symbol/elf/elf.h"
#include <stdint.h>

struct file_pointers;

struct file_pointers *file_pointers__new(void);		  /* NULL: out of memory */
void file_pointers__free(struct file_pointers *pointers); /* accepts NULL */

/*
 * Loads the pointers between two addresses of the file, instead of those that were loaded before.
 * Borrows the file. 0; -E2BIG: too many; or -errno.
 */
int file_pointers__load(struct file_pointers *pointers, const struct elf *elf, uint64_t from,
			uint64_t to);

/* What the pointer at an address points to; 0: nothing. */
uint64_t file_pointers__at(const struct file_pointers *pointers, uint64_t addr);

#endif
