/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One copy of the stack of a thread that runs, by a perf event of its own. */
#ifndef JANK_PROBES_STACK_SAMPLE_H
#define JANK_PROBES_STACK_SAMPLE_H

#include "bpf/jank_abi.h"
#include <stdint.h>

/*
 * Fills ret->rec's registers, sizes and ret->bytes with what the thread has at its next
 * millisecond on a CPU; the kernel copies what is in memory. 0; -ETIMEDOUT: it does not run; or
 * -errno. Waits for up to 100 ms. Any thread.
 */
int stack_sample__take(uint32_t pid, uint32_t tid, struct jank_copy *ret);

#endif
