/* SPDX-License-Identifier: GPL-2.0 */
/* Which of the words on a stack are return addresses: those right behind a call. */
#ifndef JANK_CATALOGUE_RETURN_ADDRESSES_H
#define JANK_CATALOGUE_RETURN_ADDRESSES_H

#include "base/code/call_site.h"
#include "symbol/names/symbolize.h"
#include <stddef.h>
#include <stdint.h>

/* Whose code: of a process that the symbolizer knows, by the files that it maps. Code of no file is not known. */
struct code_of {
	struct symbolizer *sym;
	uint32_t pid;
};

/*
 * The function that the call before the address calls; through the procedure linkage table to what it leads to, by the
 * process's memory. 0: by a register or a pointer, or it can't be read.
 */
uint64_t return_addresses__callee(const struct code_of *of, uint64_t address);

/* Drops those that are not. Returns how many are left, in order. */
size_t return_addresses__keep(const struct code_of *of, uint64_t *addresses, size_t cnt);

#endif
