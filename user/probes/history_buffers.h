/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The overwritten buffers of --record, one for each CPU, as the probes fill them
 * (bpf/history.bpf.h): their size, their mapping, and copies of parts of them. Any thread; the
 * probes write meanwhile.
 */
#ifndef JANK_PROBES_HISTORY_BUFFERS_H
#define JANK_PROBES_HISTORY_BUFFERS_H

#include "bpf/jank_abi.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_BUFFERS_MAX (64u << 20) /* of all CPUs */

struct history_size {
	uint32_t entry_cnt; /* of a CPU: a power of two; 0: no history */
	uint32_t cpu_cnt;   /* CPUs with a number from this one on have no buffer */
};

/*
 * The size for so much time at a high load, within HISTORY_BUFFERS_MAX. entry_cnt: that many
 * entries instead, rounded up to a power of two; 0: as many as the time needs.
 */
struct history_size history_size__of(uint64_t ns, uint32_t entry_cnt, uint32_t cpu_cnt);

struct history_buffers {
	const struct jank_history_entry *entries; /* NULL: no history */
	const struct jank_history_head *heads;
	struct history_size size;
};

/* Maps the two maps; the descriptors may be closed then. 0 or -errno. */
int history_buffers__open(struct history_buffers *ret, int entries_fd, int heads_fd,
			  const struct history_size *size);
void history_buffers__close(struct history_buffers *buffers);

/* Switches this thread to each CPU for a moment, so that what runs there is known from now on. */
void history_buffers__begin(const struct history_buffers *buffers);

/* False: the CPU has switched to no thread since the start: it is offline. */
bool history_buffers__has(const struct history_buffers *buffers, uint32_t cpu);

/*
 * How far back the buffers reach, in ns before now: the least of the CPUs whose buffer was
 * overwritten. UINT64_MAX: none was.
 */
uint64_t history_buffers__reach(const struct history_buffers *buffers, uint64_t now_ns);

/*
 * Copies the CPU's entries from begin_ns to end_ns in their order, preceded by those from the last
 * switch before begin_ns on. What was overwritten before it was copied is left out, at the begin.
 * The caller frees *ret. 0 or -ENOMEM.
 */
int history_buffers__copy(const struct history_buffers *buffers, uint32_t cpu, uint64_t begin_ns,
			  uint64_t end_ns, struct jank_history_entry **ret, size_t *ret_cnt);

#endif
