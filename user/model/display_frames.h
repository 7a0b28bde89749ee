/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of a display that passed in an interval, from the refreshes (vblanks) that the kernel
 * counted. Between two reported refreshes, the difference of their sequence numbers is exact: the
 * kernel turns the interrupt off while no program requests frames. After the last report nothing is
 * known, so the result is a lower bound.
 */
#ifndef JANK_MODEL_DISPLAY_FRAMES_H
#define JANK_MODEL_DISPLAY_FRAMES_H

#include "bpf/jank_abi.h"
#include "model/block.h"

/*
 * Adds one display. *ret is zeroed by the caller before the first call; it keeps the display with
 * the most missed frames. The interval excludes start_ns and includes end_ns.
 */
void display_frames__add(struct missed_frames *ret, uint32_t crtc,
			 const struct jank_vblanks *vblanks, uint64_t start_ns, uint64_t end_ns);

#endif
