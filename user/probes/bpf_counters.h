/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the probes count of their losses, and the kernel of the probes. */
#ifndef JANK_PROBES_BPF_COUNTERS_H
#define JANK_PROBES_BPF_COUNTERS_H

#include "bpf/jank_abi.h"
#include <stdbool.h>
#include <stdint.h>

struct bpf_object;

/*
 * Adds the losses of all CPUs, by JANK_LOST_*. map_fd: the array with a count a CPU for each. 0 or
 * -ENOMEM.
 */
int bpf_counters__losses(int map_fd, uint64_t cnt[JANK_LOSS_CNT]);

/*
 * Runs of the program that the kernel left out, since it, or one like it, was under way on that
 * CPU. 0 where it doesn't count.
 */
uint64_t bpf_counters__skipped(int prog_fd);

/*
 * Time and runs of the object's programs while the kernel's BPF statistics were on; false: they
 * never were.
 */
bool bpf_counters__cost(const struct bpf_object *obj, uint64_t *ret_ns, uint64_t *ret_runs);

#endif
