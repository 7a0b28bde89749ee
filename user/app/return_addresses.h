/* SPDX-License-Identifier: GPL-2.0 */
/* Which of the words on a stack are return addresses: those right behind a call. */
#ifndef JANK_RETURN_ADDRESSES_H
#define JANK_RETURN_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/call_site.h"

/*
 * The function that the call before the address calls, in the process's memory; through the procedure linkage table to
 * what it leads to. 0: by a register or a pointer, or it can't be read.
 */
uint64_t return_addresses__callee(uint32_t pid, uint64_t address);

/* Drops those that are not, by the process's memory. Returns how many are left, in order. */
size_t return_addresses__keep(uint32_t pid, uint64_t *addresses, size_t cnt);

#endif
