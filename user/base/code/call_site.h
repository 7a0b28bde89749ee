/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call sites: whether an address is a return address, judged by the code before it, in this
 * machine's instruction set.
 */
#ifndef JANK_BASE_CODE_CALL_SITE_H
#define JANK_BASE_CODE_CALL_SITE_H

#include <stdbool.h>
#include <stdint.h>

#define CALL_BYTES 8 /* bytes to read before the address */

/* True if a call ends at the address. code: the CALL_BYTES bytes before the address. */
bool is_behind_call(const uint8_t *code);

/*
 * The target of the direct call before the address. False: the call is through a register or
 * memory, or there is no call.
 */
bool call_site__target(const uint8_t *code, uint64_t address, uint64_t *ret);

#endif
