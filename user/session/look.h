/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks at the live threads, and the counts of the run. All functions run on the intake thread. */
#ifndef JANK_SESSION_LOOK_H
#define JANK_SESSION_LOOK_H

#include "base/strbuf.h"
#include "bpf/jank_abi.h"
#include "model/hist.h"
#include "model/loss.h"
#include "session/queue.h"
#include <stdbool.h>
#include <stdint.h>

struct session;

#define LOOK_MAX_NS NS_PER_SEC /* between two looks at the threads */

struct counts {
	struct hists *live;	      /* as of the last look at the threads */
	uint64_t start_ns, status_ns; /* of the run; of the last status line */
	uint64_t look_ns;	      /* time of the last look */
	int hang_fd;		      /* alarm for a look when a dispatch reaches a limit */
	uint64_t hang_limits[JANK_HANG_LIMITS]; /* ages of a dispatch; UINT64_MAX: none */
	size_t loop_cnt;			/* at the last look */
	uint64_t block_cnt, hang_cnt;		/* reported before it */
	bool told_reach;			/* how far back the buffers of --record reach */
	uint64_t start_cpu_ns;			/* our CPU time before it */
	struct losses kernel_losses;		/* as of the end */
	struct over_shares over_share;		/* of the queue */
};

/* Looks at the threads: hangs go to the ring, counts to `live` and, if requested, to records. */
void session__look(struct session *s, struct strbuf *records);
/* The same without the counts, which cost the most: `live` stays as it is. */
void session__look_for_hangs(struct session *s);
/* Looks, unless the counts are less than a second old. */
void session__renew_counts(struct session *s);
struct hist_totals session__totals(const struct session *s); /* as of the last look */

#endif
