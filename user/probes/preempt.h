/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps probes from being preempted half-way, on the kernels that would. See bpf/preempt.bpf.h. */
#ifndef JANK_PROBES_PREEMPT_H
#define JANK_PROBES_PREEMPT_H

#include "probes/features.h"

struct bpf_object;

/*
 * Call before load. Replaces the marks in the programs that this kernel preempts, if it has
 * FEATURE_PREEMPT_OFF; else does nothing, and such a kernel counts `probes_skipped`. Returns 0 or
 * -ENOMEM.
 */
int preempt__prevent(struct bpf_object *obj, const struct features *feats);

#endif
