/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a register's value is, as instructions that were followed say. */
#ifndef JANK_SYMBOL_UNWIND_EXIT_PATHS_H
#define JANK_SYMBOL_UNWIND_EXIT_PATHS_H

#include <stdbool.h>
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

/*
 * How HotSpot's code is left from an address, as far as it was looked at: kept with the process.
 * See unwind_java.h.
 */

#define JAVA_WAYS   1024
#define JAVA_EXITS  3
#define JAVA_WAY_NS 5000000000ull

struct java_exit {
	struct path_slot slot; /* where the return address is */
	struct path_slot fp;   /* the caller's frame pointer */
};

struct jvm_exit {
	uint64_t pc, at_ns;
	struct java_exit exits[JAVA_EXITS];
	uint8_t exit_cnt;
	bool framed; /* of the interpreter: by frame pointer */
};

/* By the address's lowest bits. */
struct jvm_exits {
	struct jvm_exit ways[JAVA_WAYS];
	uint64_t returns[JAVA_WAYS]; /* addresses behind no call that are returned to */
};

#endif
