/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Locations of register values at the end of a followed code path, and the cache of such exits for
 * HotSpot code.
 */
#ifndef JANK_SYMBOL_UNWIND_EXIT_PATHS_H
#define JANK_SYMBOL_UNWIND_EXIT_PATHS_H

#include <stdbool.h>
#include <stdint.h>

enum path_base {
	PATH_KEPT, /* a register with the value that it has where the path begins */
	PATH_SP,   /* in memory, relative to the stack pointer where the path begins */
	PATH_FP,   /* in memory, relative to the frame pointer there */
	PATH_LOST,
};

struct path_slot {
	uint8_t base; /* enum path_base */
	int32_t off;
};

/* Cache of the exits of HotSpot code, one per process. See unwind_java.h. */

#define JAVA_WAYS   1024
#define JAVA_EXITS  3
#define JAVA_WAY_NS 5000000000ull

struct java_exit {
	struct path_slot slot; /* location of the return address */
	struct path_slot fp;   /* location of the return address */
};

struct jvm_exit {
	uint64_t pc, at_ns;
	struct java_exit exits[JAVA_EXITS];
	uint8_t exit_cnt;
	bool framed; /* interpreter code: leave the frame by the frame pointer */
};

/* Both arrays are indexed by the lowest bits of the address. */
struct jvm_exits {
	struct jvm_exit ways[JAVA_WAYS];
	/* return addresses that do not follow a call */
	uint64_t returns[JAVA_WAYS];
};

#endif
