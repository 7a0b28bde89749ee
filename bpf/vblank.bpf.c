/* SPDX-License-Identifier: GPL-2.0 */
/* Probe of a display's refresh: the DRM's tracepoint, in the module drm. */
#include "bpf/vblank.bpf.h"

/*
 * Timed by CLOCK_MONOTONIC: only later kernels pass the time as an argument. A raw tracepoint in
 * both objects: drm's types may be missing from the kernel's own.
 */
SEC("raw_tp/drm_vblank_event")
int BPF_PROG(jank_on_vblank, int crtc, unsigned int seq)
{
	vblank__record(crtc, seq, bpf_ktime_get_ns());
	return 0;
}
