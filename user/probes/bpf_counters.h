/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters: losses counted by the probes, and runs of the probes counted by the kernel. */
#ifndef JANK_PROBES_BPF_COUNTERS_H
#define JANK_PROBES_BPF_COUNTERS_H

#include "bpf/jank_abi.h"
#include <stdbool.h>
#include <stdint.h>

struct bpf_object;

/*
 * Adds the losses of all CPUs to cnt, by JANK_LOST_*. map_fd: the per-CPU array of counts. Returns
 * 0 or -ENOMEM.
 */
int bpf_counters__losses(int map_fd, uint64_t cnt[JANK_LOSS_CNT]);

/*
 * Number of runs that the kernel skipped because this program, or one like it, was already running
 * on that CPU. 0 when the kernel does not count them.
 */
uint64_t bpf_counters__skipped(int prog_fd);

/*
 * Time and runs of the object's programs while the kernel's BPF statistics were on. False: they
 * were never on.
 */
bool bpf_counters__cost(const struct bpf_object *obj, uint64_t *ret_ns, uint64_t *ret_runs);

#endif
