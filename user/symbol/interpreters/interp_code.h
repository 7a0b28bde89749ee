/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reader of the location table of a CPython code object, since 3.11 (Objects/locations.md). */
#ifndef JANK_SYMBOL_INTERPRETERS_INTERP_CODE_H
#define JANK_SYMBOL_INTERPRETERS_INTERP_CODE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the line of the instruction at `unit` (in units of 2 bytes from the begin of the
 * bytecode). 0: the instruction has no line, or the table is not valid.
 */
uint32_t interp_line__at(const uint8_t *table, size_t size, uint32_t first_line, uint64_t unit);

#endif
