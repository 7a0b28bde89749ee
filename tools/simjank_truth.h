/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What really happened, as the program itself saw it. It is kept in memory that exists from the
 * start, and written at the end: a tracer sees every wait, so bookkeeping must neither wait nor
 * cause one.
 *
 * One line for each dispatch longer than --truth-min, `"type":"dispatch"`: pid, tid, loop, form (of
 * a Looper), scenario; kind: the largest measured share, in the words of jankbpf's cause.kind;
 * also: kinds within 2 ms of it; function: the handler to blame; functions: it and its callees;
 * begin_ns, end_ns (CLOCK_MONOTONIC), duration_ns, wanted_ns, cpu_ns, run_delay_ns, stopped_ns.
 *
 * meant: true if the kind is, without doubt, the intended one of the scenario. Then also the cause,
 * as far as it is known: what (jankbpf's cause.what); chain: the tids of the waited-for threads,
 * each waiting for the next; culprit: the last of them ({pid, tid, comm}); preemptors: the tids
 * that had the CPU, in place of the thread or of the last in the chain; object: the file or the
 * peer ({path} or {peer}).
 *
 * The last line, `"type":"summary"`, counts all dispatches by scenario, the lines above by kind,
 * and what was lost for lack of room; left_out are those of `all` that were not possible. With
 * several loops a stop may end early: another loop's SIGCONT ends it.
 */
#ifndef SIMJANK_TRUTH_H
#define SIMJANK_TRUTH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include "simjank_actors.h"
#include "simjank_clock.h"
#include "simjank_scenario.h"

#ifdef __cplusplus
extern "C" {
#endif

struct options;

struct record {
	uint64_t begin_ns, end_ns;
	uint64_t cpu_ns, run_delay_ns; /* the clocks at its begin, then their differences */
	uint64_t wanted_ns;
	uint16_t scenario;
	uint16_t form;	/* how the loop delivered it: an index into the front end's forms */
	pid_t late_tid; /* see struct actors */
};

/* The truth of one loop. records has one more than cap, for dispatches that are not kept. */
struct truth {
	struct record *records;
	size_t cnt, cap, lost_cnt;
	uint64_t min_ns;
	uint64_t dispatch_cnt[SCENARIO_CNT];
	int schedstat_fd;
	pid_t tid;
	const struct actors *cast;
};

/* Facts for the whole file. */
struct truth_info {
	const char *loop;
	const char *const *forms; /* NULL: it has only one */
	uint64_t start_ns, end_ns;
	const struct options *opt;
};

/* Called by the thread that it describes. Returns 0 or -errno. */
int truth__open(struct truth *truth, size_t cap, uint64_t min_ns);

/* The whole process was stopped. */
void truth__add_stop(uint64_t begin_ns, uint64_t end_ns);

/* Writes JSON Lines to the path or "-". Returns 0 or -errno. */
int truth__write(const char *path, const struct truth_info *info, struct truth *const *truths,
		 size_t cnt);

/* The nanoseconds that the calling thread has waited for a CPU. */
static inline uint64_t truth__run_delay_ns(const struct truth *truth)
{
	char text[96];
	ssize_t len = pread(truth->schedstat_fd, text, sizeof(text) - 1, 0);
	const char *at = text;
	uint64_t ns = 0;

	text[len > 0 ? len : 0] = 0;
	while (*at && *at != ' ')
		at++;
	for (at += *at == ' '; *at >= '0' && *at <= '9'; at++)
		ns = ns * 10 + (uint64_t)(*at - '0');
	return ns;
}

/* Immediately after the wait. */
static inline void truth__begin(struct truth *truth)
{
	struct record *record = &truth->records[truth->cnt];

	record->begin_ns = clock__mono_ns();
	record->cpu_ns = clock__ns(CLOCK_THREAD_CPUTIME_ID);
	record->run_delay_ns = truth__run_delay_ns(truth);
	record->wanted_ns = 0;
	record->scenario = SCENARIO_none;
	record->form = 0;
}

/* Immediately before the next wait: after its last read of the clock, next to nothing is done. */
static inline void truth__end(struct truth *truth)
{
	struct record *record = &truth->records[truth->cnt];

	truth->dispatch_cnt[record->scenario]++;
	record->run_delay_ns = truth__run_delay_ns(truth) - record->run_delay_ns;
	record->cpu_ns = clock__ns(CLOCK_THREAD_CPUTIME_ID) - record->cpu_ns;
	record->end_ns = clock__mono_ns();
	if (record->end_ns - record->begin_ns <= truth->min_ns)
		return;
	if (truth->cnt < truth->cap)
		truth->cnt++;
	else
		truth->lost_cnt++;
}

#ifdef __cplusplus
}
#endif
#endif
