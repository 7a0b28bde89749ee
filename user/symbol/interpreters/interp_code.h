/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The location table of a code object, as CPython has it since 3.11 (Objects/locations.md). */
#ifndef JANK_SYMBOL_INTERPRETERS_INTERP_CODE_H
#define JANK_SYMBOL_INTERPRETERS_INTERP_CODE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The line of the instruction that lies so many units of 2 bytes into the bytecode. 0: it has none,
 * or the table is no such table.
 */
uint32_t interp_line__at(const uint8_t *table, size_t size, uint32_t first_line, uint64_t unit);

#endif
