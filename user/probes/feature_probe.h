/* SPDX-License-Identifier: GPL-2.0 */
/* One question to the kernel for each feature of the list; features.c calls them by table. */
#ifndef JANK_PROBES_FEATURE_PROBE_H
#define JANK_PROBES_FEATURE_PROBE_H

#include "probes/feature_list.h"

struct btf;

/* probe__NAME(btf): 0 when the feature is there, else -errno. btf is the kernel's, or NULL. */
#define JANK_X_PROBE(NAME, name, ...) int probe__##name(const struct btf *btf);
JANK_FEATURES(JANK_X_PROBE)
#undef JANK_X_PROBE

#endif
