/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stack of a thread whose dispatch was opened while it slept (bpf/opening.bpf.h). */
#ifndef JANK_SESSION_OPENED_STACK_H
#define JANK_SESSION_OPENED_STACK_H

#include "bpf/jank_abi.h"
#include "probes/bpf_fds.h"
#include <stdbool.h>
#include <stdint.h>

/* The stack as the probes would have copied it. False: the thread has gone on. Any thread. */
bool opened_stack__read(uint32_t pid, uint32_t tid, const struct jank_opening *opening,
			struct jank_copy *copy);

/*
 * Gives the probes a copy as they would have made it, if the thread still sleeps. Reads pages of
 * the process that are present only. Any thread.
 */
void opened_stack__copy(const struct opening_bpf_fds *maps, uint32_t pid, uint32_t tid,
			const struct jank_opening *opening);

#endif
