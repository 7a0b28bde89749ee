/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which frames of a display went by in an interval: its refreshes as the kernel counted them.
 * Between two that it told of, its own number of frames says how many there were (it switches the
 * interrupt off while nobody asks for frames); after the last one there is nothing to go by, so
 * that what was missed is at least this.
 */
#ifndef JANK_MODEL_DISPLAY_FRAMES_H
#define JANK_MODEL_DISPLAY_FRAMES_H

#include "bpf/jank_abi.h"
#include "model/block.h"

/*
 * Takes a display into account, as it was read; *ret, zero at first, is of the one with most. Ends
 * are inclusive of end_ns, not of start_ns.
 */
void display_frames__add(struct missed_frames *ret, uint32_t crtc,
			 const struct jank_vblanks *vblanks, uint64_t start_ns, uint64_t end_ns);

#endif
