/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the CPUs did around blocks (--record): the window of time, and what is missing in it. Blocks
 * with windows that overlap share a history. One thread at a time.
 */
#ifndef JANK_MODEL_HISTORY_H
#define JANK_MODEL_HISTORY_H

#include "bpf/jank_abi.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_AFTER_NS 1000000000ull /* a window ends so long after its last block */

/* Times on CLOCK_MONOTONIC. */
struct history_window {
	uint64_t begin_ns, end_ns;
	uint64_t last_ns; /* a later end would make it too long to share */
};

/*
 * The window of a block: from before_ns before its begin to HISTORY_AFTER_NS after its end, but not
 * before start_ns, when the recording began.
 */
struct history_window history_window__of(uint64_t block_ns, uint64_t block_end_ns,
					 uint64_t before_ns, uint64_t start_ns);

/* Extends the window by another one. False: they do not overlap, or it would be too long. */
bool history_window__join(struct history_window *window, const struct history_window *other);

/* A time in which it is not known what a CPU did. */
struct history_gap {
	uint64_t begin_ns, end_ns;
};

/* What a CPU did. It owns both arrays. */
struct history_cpu {
	uint32_t cpu;
	struct jank_history_entry *entries; /* in time; the first may be before the window */
	size_t cnt;
	struct history_gap *gaps;
	size_t gap_cnt;
};

/* Sets the gaps of the CPU within the window. 0 or -ENOMEM. */
int history_cpu__find_gaps(struct history_cpu *cpu, const struct history_window *window);

struct history {
	struct history_window window;
	int64_t real_offset_ns; /* CLOCK_REALTIME minus CLOCK_MONOTONIC */
	int64_t boot_offset_ns; /* CLOCK_BOOTTIME minus CLOCK_MONOTONIC */
	struct history_cpu *cpus;
	size_t cpu_cnt;
};

void history__free(struct history *history); /* what it points to, not the struct */

#endif
