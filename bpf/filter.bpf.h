/* SPDX-License-Identifier: GPL-2.0 */
/* Who is traced. The cheapest test comes first: one process is a comparison with a constant. */
#ifndef JANK_FILTER_BPF_H
#define JANK_FILTER_BPF_H

#include "bpf/maps.bpf.h"

/* False: certainly not traced. True: look further. */
static __always_inline bool filter__maybe(__u32 tgid)
{
	return !jank_conf.tgid || tgid == jank_conf.tgid;
}

static __always_inline bool filter__traced(__u32 tgid)
{
	if (jank_conf.tgid)
		return tgid == jank_conf.tgid;
	return bpf_map_lookup_elem(&jank_tgids, &tgid) != NULL;
}

#endif
