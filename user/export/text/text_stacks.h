/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A block's samples, merged by stack. */
#ifndef JANK_EXPORT_TEXT_TEXT_STACKS_H
#define JANK_EXPORT_TEXT_TEXT_STACKS_H

#include "model/block.h"
#include <stddef.h>
#include <stdint.h>

/* Samples of one state, system call and stack (by function, not by instruction). */
struct fold {
	const struct sample *sample; /* the longest of them */
	uint64_t ns;	      /* spans: their length; ticks: their part of the running time */
	uint64_t runnable_ns; /* of ns, waiting for a CPU after a wake-up */
	size_t cnt;
	bool other_wakers; /* some have another waker than sample */
	bool other_waits;  /* some have another wait object than sample */
};

/* Merges the samples, longest first. 0 or -ENOMEM; the caller frees *ret. */
int fold__block(const struct block *block, struct fold **ret, size_t *ret_cnt);

#endif
