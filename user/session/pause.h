/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pause of the agent, and its control socket. All functions run on the intake thread. */
#ifndef JANK_SESSION_PAUSE_H
#define JANK_SESSION_PAUSE_H

#include "model/hist.h"
#include <stdbool.h>
#include <stdint.h>

struct session;

struct pause {
	bool on;
	uint64_t since_ns;	/* of the last change */
	uint64_t total_ns;	/* of the intervals that were paused */
	struct hists *excluded; /* what was counted in them; NULL: nothing */
};

/* The probes' threshold: that of the judge, or none. */
void session__use_threshold(struct session *s);
void pause__free(struct pause *pause);
int session__begin_control(struct session *s); /* 0 or -errno */

#endif
