/* SPDX-License-Identifier: GPL-2.0 */
/* Refreshes of displays, kept until a block asks for those within it. */
#ifndef JANK_VBLANK_BPF_H
#define JANK_VBLANK_BPF_H

#include "bpf/maps.bpf.h"

/*
 * The DRM holds a device's lock here, so a CRTC has one writer at a time. cnt is written last, so
 * that a reader finds all counted entries.
 */
static __always_inline void vblank__record(__u32 crtc, __u32 seq, __u64 now_ns)
{
	struct jank_vblanks *all = bpf_map_lookup_elem(&jank_vblanks, &crtc);
	struct jank_vblank *at;
	__u32 cnt;

	if (!all)
		return;
	cnt = all->cnt;
	at = &all->near[cnt % JANK_VBLANK_NEAR];
	at->t_ns = now_ns;
	at->seq = seq;
	if (!(cnt % JANK_VBLANK_STEP)) {
		at = &all->far[cnt / JANK_VBLANK_STEP % JANK_VBLANK_FAR];
		at->t_ns = now_ns;
		at->seq = seq;
	}
	/* the CPU may still reorder the two writes: a reader skips entries out of order */
	barrier();
	all->cnt = cnt + 1;
}

#endif
