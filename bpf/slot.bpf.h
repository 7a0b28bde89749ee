/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lock of a slot in a table that threads share by the last bits of their ids. The word counts the
 * writes (high half) and the current writers (low half). Nobody waits for it.
 */
#ifndef JANK_SLOT_BPF_H
#define JANK_SLOT_BPF_H

#include "bpf/kernel.bpf.h"

#define SLOT_WRITER 1ull
#define SLOT_WRITE  (1ull << 32)

/* Returns false when another writer holds the slot. */
static __always_inline bool slot__lock(__u64 *writes)
{
	__sync_fetch_and_add(writes, SLOT_WRITE | SLOT_WRITER);
	if ((__u32) * (volatile __u64 *)writes == SLOT_WRITER)
		return true;
	__sync_fetch_and_add(writes, -SLOT_WRITER);
	return false;
}

static __always_inline void slot__unlock(__u64 *writes)
{
	__sync_fetch_and_add(writes, -SLOT_WRITER);
}

#endif
