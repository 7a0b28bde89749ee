/* SPDX-License-Identifier: GPL-2.0 */
/* A display is about to show its next frame: the DRM's tracepoint, in the module drm. */
#include "bpf/vblank.bpf.h"

/*
 * By our own clock: its time is an argument only of later kernels. Raw in either kind of probes:
 * drm's types may not be the kernel's own.
 */
SEC("raw_tp/drm_vblank_event")
int BPF_PROG(jank_on_vblank, int crtc, unsigned int seq)
{
	vblank__record(crtc, seq, bpf_ktime_get_ns());
	return 0;
}
