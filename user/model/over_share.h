/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was dropped because its user was over the share (docs/design.md), by user. The probes'
 * counts are added at the end. Used on the intake thread.
 */
#ifndef JANK_MODEL_OVER_SHARE_H
#define JANK_MODEL_OVER_SHARE_H

#include "bpf/jank_abi.h"
#include <stddef.h>
#include <stdint.h>

#define OVER_SHARE_MAX 64 /* users with an entry of their own */

struct over_share {
	uint32_t uid;		      /* UID_UNKNOWN: further users, and users that are not known */
	uint64_t cnt[JANK_SHARE_CNT]; /* by JANK_SHARE_* */
};

/* All zero: nothing was dropped. The entry of UID_UNKNOWN is not always the last one. */
struct over_shares {
	struct over_share users[OVER_SHARE_MAX + 1];
	size_t cnt;
};

uint64_t over_shares__total(const struct over_shares *shares); /* sum of all counts */

/* kind: JANK_SHARE_*. No effect for a count of 0. */
void over_shares__add(struct over_shares *shares, uint32_t uid, unsigned kind, uint64_t cnt);

#endif
