/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Visits the frames of a record that was unpacked or read from JSON; its memory is malloc's. They
 * are found by the protobuf descriptors, so that a new field with a stack needs no change here.
 */
#ifndef JANK_CLI_RECORD_FRAMES_H
#define JANK_CLI_RECORD_FRAMES_H

#include "schema/blockinfo.pb-c.h"
#include "symbol/languages/r8_mapping.h"
#include <stddef.h>

/* Both may replace what they get. They return 1: changed, 0, or -errno, which ends the visit. */
struct record_frames_ops {
	int (*stack)(void *ctx, Jankbpf__Frame ***stack, size_t *cnt);
	int (*frame)(void *ctx, Jankbpf__Frame **frame); /* a single one, such as a cause's */
};

/* Of a block or hang; other records have none. Returns 1: one has changed; 0; or -errno. */
int record_frames__each(Jankbpf__Record *record, const struct record_frames_ops *ops, void *ctx);

/* Original names for the frames of obfuscated code. Returns 1: one has changed; 0; or -ENOMEM. */
int record_frames__retrace(Jankbpf__Record *record, struct r8_mapping *mapping);

#endif
