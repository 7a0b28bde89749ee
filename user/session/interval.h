/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts of parts of the run (--interval). All functions run on the intake thread. */
#ifndef JANK_SESSION_INTERVAL_H
#define JANK_SESSION_INTERVAL_H

#include "model/block.h"
#include "model/hist.h"
#include "model/loss.h"

struct intervals {
	struct hists *told; /* NULL: not asked for */
	struct losses losses;
	uint64_t end_ns, cpu_ns;    /* as of the last one */
	struct open_dispatch *open; /* as of the last look */
	size_t open_cnt, open_cap;
	uint64_t open_more; /* without room in open */
	int timer_fd;	    /* -1: none */
};

/* What has happened up to t_ns. */
struct intervals_now {
	uint64_t t_ns, threshold_ns, cpu_ns, rss_kb;
	struct hists *hists;
	struct losses losses;
};

int intervals__open(struct intervals *iv); /* 0 or -ENOMEM */
void intervals__close(struct intervals *iv);
void intervals__begin_look(struct intervals *iv);
/* A live thread in a look. 0 or -ENOMEM. */
int intervals__saw(struct intervals *iv, const struct jank_rec_thread *rec, uint64_t threshold_ns);
/* What is new since the last one. 0 or -ENOMEM; interval__free in both cases. */
int intervals__take(struct intervals *iv, const struct intervals_now *now, struct interval *ret);

#endif
