/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether an address is where a call returns to, by the code before it, in this machine's
 * instruction set.
 */
#ifndef JANK_BASE_CODE_CALL_SITE_H
#define JANK_BASE_CODE_CALL_SITE_H

#include <stdbool.h>
#include <stdint.h>

#define CALL_BYTES 8 /* before the address, as far as one must look */

/* code: the CALL_BYTES bytes before the address. */
bool is_behind_call(const uint8_t *code);

/*
 * What a direct call before the address calls; false: it is by a register or by memory, or there is
 * none.
 */
bool call_site__target(const uint8_t *code, uint64_t address, uint64_t *ret);

#endif
