/* SPDX-License-Identifier: GPL-2.0 */
/* Where a register's value is, as instructions that were followed say. */
#ifndef JANK_SYMBOL_UNWIND_PATH_SLOT_H
#define JANK_SYMBOL_UNWIND_PATH_SLOT_H

#include <stdint.h>

enum path_base {
	PATH_KEPT, /* a register: as it was where the path begins */
	PATH_SP,   /* in memory, by the stack pointer where the path begins */
	PATH_FP,   /* the same by the frame pointer */
	PATH_LOST,
};

struct path_slot {
	uint8_t base; /* enum path_base */
	int32_t off;
};

#endif
