/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Governor of an agent's CPU time: decides when something is taken away to keep the budget, and
 * when it is given back. The caller takes and gives. One thread at a time.
 */
#ifndef JANK_MODEL_GOVERNOR_H
#define JANK_MODEL_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

#define GOVERNOR_WINDOW 10 /* periods of a second over which it judges */

/* Levels. Each includes those before it; whole processes are several levels. */
enum governor_level {
	GOVERNOR_ALL,
	GOVERNOR_NO_MARKS,
	GOVERNOR_NO_COPIES,
	GOVERNOR_NO_SAMPLES,
	GOVERNOR_NO_POOLS,
	GOVERNOR_PROCESSES, /* and the levels after it: one process less each */
};

struct governor {
	uint64_t budget_ns;  /* of CPU time in a second; 0: none */
	uint64_t recover_ns; /* time with room before a level is given back */
	unsigned level;
	bool blind; /* nothing is watched */
	uint64_t costs_ns[GOVERNOR_WINDOW];
	unsigned cost_cnt, settle;
	uint64_t room_ns;     /* for how long there has been room */
	uint64_t patience_ns; /* recover_ns, doubled for each level that was given back too early */
	uint64_t since_back_ns; /* since a level was given back; UINT64_MAX: none was */
};

enum governor_step { GOVERNOR_STAY, GOVERNOR_TAKE, GOVERNOR_GIVE };

/*
 * A period has ended, which took elapsed_ns and cost this much CPU time. The caller does the step,
 * then calls governor__took or governor__gave.
 */
enum governor_step governor__judge(struct governor *gov, uint64_t elapsed_ns, uint64_t cost_ns);

/* blind: there was nothing left but the probes themselves. */
void governor__took(struct governor *gov, bool blind);
void governor__gave(struct governor *gov);

/*
 * Lowers the level while it is one of a process, and is_used says that no process has it: there is
 * nothing to give back. True: it was lowered.
 */
bool governor__skip(struct governor *gov, bool (*is_used)(void *ctx, unsigned level), void *ctx);

/* The mean of the last periods, in ns of CPU time a second. */
uint64_t governor__cost(const struct governor *gov);

/* The word of the schema for what is taken away; static; NULL: nothing. */
const char *governor__word(const struct governor *gov);

#endif
