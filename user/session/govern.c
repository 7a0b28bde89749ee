/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Budget of an agent: measures what it costs each second, and does the governor's steps.
 *
 * Time in the probes: the kernel's statistics are on for 100 ms of each 4 s (16 s while all costs
 * less than a quarter of the budget), since they cost some 50 ns a run and the kernel patches its
 * code for them. In between, the share of the last such time is scaled by the number of dispatches.
 * Near the budget, where a step depends on it, they are on for 400 ms, and averaged: a hypervisor
 * that takes the CPU for a millisecond adds 1 % of a core to 100 ms.
 */
#include <bpf/bpf.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/proto.h"
#include "session/session_parts.h"

#define PERIOD_NS	NS_PER_SEC
#define PROBE_NS	(100 * NS_PER_MS)
#define PROBE_LONG_NS	(400 * NS_PER_MS)
#define PROBE_EVERY	4   /* periods */
#define PROBE_SELDOM	16  /* the same, while it costs less than a quarter of the budget */
#define PROBE_RATIO_MAX 16  /* between two measurements the load changes no more */
#define SHARES_MAX	3   /* so many measurements are averaged */
#define SHARE_JUMP	1.5 /* one that differs so much is of another load */
#define DISPATCH_NS	150 /* without statistics: time in the probes for a dispatch */

/* --- cost */

/* Dispatches of the run, paused or not. */
static uint64_t dispatches(const struct session *s)
{
	return hists__totals(loops__ended(s->intake.loops)).dispatch_cnt +
	       hists__totals(s->counts.live).dispatch_cnt;
}

static void take(struct session *s);

/* If what is watched again costs too much, the agent is blind again at once. */
static void try_sight(struct session *s, uint64_t probed_ns)
{
	struct govern *g = &s->govern;

	g->tries = false;
	if (!g->gov.budget_ns || g->bpf_share * NS_PER_SEC + g->blind_cost_ns <= g->gov.budget_ns)
		return;
	g->bpf_ns += probed_ns;
	g->last_ns = (uint64_t)(g->bpf_share * NS_PER_SEC) + g->blind_cost_ns;
	take(s);
}

/* Of this load to that of the last measurement. */
static double load_ratio(const struct govern *g)
{
	double ratio = g->probe_rate > 0 ? g->rate / g->probe_rate : 1;

	return ratio < PROBE_RATIO_MAX ? ratio : PROBE_RATIO_MAX;
}

static void add_share(struct govern *g, double share)
{
	double before = g->bpf_share * load_ratio(g);

	if (before > share * SHARE_JUMP || share > before * SHARE_JUMP)
		g->share_cnt = 0;
	if (g->share_cnt < SHARES_MAX)
		g->share_cnt++;
	g->bpf_share = before + (share - before) / g->share_cnt;
	g->probe_rate = g->rate;
}

static void end_probe(void *ctx, uint64_t arg)
{
	struct session *s = ctx;
	struct govern *g = &s->govern;
	uint64_t ns = g->probe_ns, runs, now = clock__mono_ns();

	(void)arg;
	event_loop__remove(s->event_loop, g->probe_fd);
	if (g->stats_fd < 0)
		return;
	if (loader__cost(s->loader, &ns, &runs) && now > g->probe_start_ns) {
		add_share(g, (double)(ns - g->probe_ns) / (double)(now - g->probe_start_ns));
		s->cost_meter.windows_ns += now - g->probe_start_ns;
	}
	close(g->stats_fd);
	g->stats_fd = -1;
	if (g->tries)
		try_sight(s, ns - g->probe_ns);
}

static uint64_t probe_time(const struct govern *g)
{
	bool near = g->last_ns * 4 > g->gov.budget_ns * 3 && g->last_ns < g->gov.budget_ns * 2;

	return near && !g->tries ? PROBE_LONG_NS : PROBE_NS;
}

static void begin_probe(struct session *s)
{
	struct govern *g = &s->govern;
	uint64_t runs;

	if (g->stats_fd >= 0 || !features__has(&s->features, FEATURE_BPF_STATS))
		return;
	g->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	g->probe_start_ns = clock__mono_ns();
	if (g->stats_fd < 0)
		return;
	g->probe_fd = event_loop__timer(s->event_loop, probe_time(g), 0, end_probe, s);
	loader__cost(s->loader, &g->probe_ns, &runs); /* 0 until statistics were on */
	if (g->probe_fd < 0) {
		close(g->stats_fd);
		g->stats_fd = -1;
	}
}

static uint64_t probes_ns(const struct session *s, uint64_t elapsed_ns)
{
	const struct govern *g = &s->govern;
	if (g->gov.blind)
		return 0;
	if (!features__has(&s->features, FEATURE_BPF_STATS))
		return (uint64_t)(g->rate * DISPATCH_NS * (double)elapsed_ns / NS_PER_SEC);
	return (uint64_t)(g->bpf_share * load_ratio(g) * (double)elapsed_ns);
}

/* --- steps */

static struct process_entry *busiest(struct session *s)
{
	struct process_entry *process, *ret = NULL;

	for (process = s->processes.entries; process; process = process->hh.next) {
		bool off = process->over_budget || process->limit_ns == UINT64_MAX;

		if (!off && !process->ended && process->identity && process->rate_cnt &&
		    (!ret || process->rate_cnt > ret->rate_cnt))
			ret = process;
	}
	return ret;
}

/* Those of this level; their threads get a state again at their next wait. */
static void watch_again(struct session *s, unsigned level)
{
	struct process_entry *process;

	for (process = s->processes.entries; process; process = process->hh.next)
		if (process->over_budget == level)
			process->over_budget = 0;
	session__limit_all(s);
}

static bool is_used(void *ctx, unsigned level)
{
	const struct session *s = ctx;
	const struct process_entry *process;

	for (process = s->processes.entries; process; process = process->hh.next)
		if (process->over_budget == level && !process->ended)
			return true;
	return false;
}

/* An exec while nothing was watched was not seen. */
static void read_again(struct session *s)
{
	struct process_entry *process;
	struct err err = {};

	for (process = s->processes.entries; process; process = process->hh.next)
		if (process->pidfd >= 0 && !process_entry__has_ended(process) &&
		    process_table__read(&s->processes, process, clock__mono_ns(), &err))
			log__verbose("%s", err.msg);
}

static void set_blind(struct session *s, bool blind)
{
	struct err err = {};

	if (blind) {
		loader__reduce(s->loader, JANK_REDUCE_ALL | JANK_REDUCE_COPIES | JANK_REDUCE_POOLS);
		session__look(s, NULL); /* marks each thread */
		s->govern.blind_since_ns = clock__mono_ns();
	}
	if (loader__see(s->loader, !blind, &err))
		log__error("%s", err.msg);
	if (blind)
		return;
	s->compat_watch.attached = false; /* loader__see detached its probes */
	s->compat_watch.some = true;	  /* one may have started */
	read_again(s);
}

/* What the levels up to this one take away; the rest is given back. */
static void apply(struct session *s)
{
	unsigned level = s->govern.gov.level;
	uint32_t bits = (level >= GOVERNOR_NO_COPIES ? JANK_REDUCE_COPIES : 0) |
			(level >= GOVERNOR_NO_POOLS ? JANK_REDUCE_POOLS : 0);
	struct err err = {};

	loader__reduce(s->loader, bits);
	if (loader__sample(s->loader, level < GOVERNOR_NO_SAMPLES, &err))
		log__warn("%s", err.msg);
	session__pace_marks(s);
	if (loader__files(s->loader))
		uprobe_files__rest(loader__files(s->loader), level >= GOVERNOR_NO_MARKS);
}

static void report(const struct session *s, const char *what)
{
	const struct governor *gov = &s->govern.gov;
	const char *word = governor__word(gov);

	log__warn("budget: %s %.2f %% of a core, of %.2f %%: level %u, %s%s", what,
		  (double)s->govern.last_ns / 1e7, (double)gov->budget_ns / 1e7, gov->level,
		  word ?: "everything is watched", gov->blind ? ": nothing is watched" : "");
}

static void take(struct session *s)
{
	struct governor *gov = &s->govern.gov;
	bool whole = gov->level + 1 >= GOVERNOR_PROCESSES;
	struct process_entry *process = whole ? busiest(s) : NULL;

	s->govern.share_cnt = 0;
	governor__took(gov, whole && !process);
	if (process) {
		process->over_budget = gov->level;
		session__limit_all(s);
		log__warn("budget: process %u (%s) is not watched: it has most dispatches",
			  process->pid, process->identity->name ?: "?");
	}
	if (gov->blind)
		set_blind(s, true);
	else
		apply(s);
	if (!gov->blind)
		begin_probe(s);
	s->govern.step_cnt++;
	report(s, "over it:");
}

static void give(struct session *s)
{
	struct governor *gov = &s->govern.gov;
	bool was_blind = gov->blind;
	unsigned level = gov->level;
	uint64_t cost_ns = governor__cost(gov);

	s->govern.share_cnt = 0;
	governor__gave(gov);
	if (was_blind) {
		s->govern.blind_ns += clock__mono_ns() - s->govern.blind_since_ns;
		set_blind(s, false);
	} else if (level >= GOVERNOR_PROCESSES) {
		watch_again(s, level);
	}
	apply(s);
	if (was_blind) {
		s->govern.blind_cost_ns = cost_ns;
		s->govern.tries = true;
		begin_probe(s);
	}
	s->govern.step_cnt++;
	report(s, "there is room:");
}

/* --- each second */

static void add_dispatches(void *ctx, uint32_t pid, uint64_t dispatch_cnt)
{
	struct process_entry *process = process_table__find(ctx, pid);

	if (process)
		process->now_cnt += dispatch_cnt;
}

static void rate_processes(struct session *s)
{
	struct process_entry *process;

	for (process = s->processes.entries; process; process = process->hh.next) {
		process->rate_cnt = process->now_cnt;
		process->now_cnt = 0;
	}
	hists__each(s->counts.live, add_dispatches, &s->processes);
	for (process = s->processes.entries; process; process = process->hh.next)
		process->rate_cnt = process->now_cnt > process->rate_cnt
					    ? process->now_cnt - process->rate_cnt
					    : 0;
}

static void on_period(void *ctx, uint64_t arg)
{
	struct session *s = ctx;
	struct govern *g = &s->govern;
	uint64_t now = clock__mono_ns(), elapsed_ns = now - g->period_ns;
	uint64_t cpu_ns, cnt, bpf_ns;
	enum governor_step step;
	unsigned every;

	(void)arg;
	if (!g->gov.blind && now - s->counts.look_ns >= PERIOD_NS / 2)
		session__look(s, NULL);
	cpu_ns = session__own_cpu_ns(s);
	cnt = dispatches(s);
	g->rate = cnt > g->dispatch_cnt
			  ? (double)(cnt - g->dispatch_cnt) * NS_PER_SEC / (double)elapsed_ns
			  : 0;
	rate_processes(s);
	bpf_ns = probes_ns(s, elapsed_ns);
	g->bpf_ns += bpf_ns;
	g->last_ns = (cpu_ns > g->cpu_ns ? cpu_ns - g->cpu_ns : 0) + bpf_ns;
	g->cpu_ns = cpu_ns;
	g->dispatch_cnt = cnt;
	g->period_ns = now;
	if (!g->gov.blind && governor__skip(&g->gov, is_used, s))
		report(s, "the processes of a level ended:");
	step = governor__judge(&g->gov, elapsed_ns, g->last_ns);
	if (step == GOVERNOR_TAKE)
		take(s);
	else if (step == GOVERNOR_GIVE)
		give(s);
	every = g->last_ns * 4 < g->gov.budget_ns && g->share_cnt ? PROBE_SELDOM : PROBE_EVERY;
	if (!(g->period_cnt++ % every) && !g->gov.blind)
		begin_probe(s);
}

int session__use_budget(struct session *s)
{
	const struct options *opts = session__options(s);
	struct govern *g = &s->govern;
	int res;

	g->gov.budget_ns = (uint64_t)opts->cpu_ppm * (NS_PER_SEC / 1000000);
	g->gov.recover_ns = opts->cpu_recover_ns;
	if (g->runs || !g->gov.budget_ns || s->opts->command != CMD_AGENT)
		return 0;
	g->gov.since_back_ns = UINT64_MAX;
	g->period_ns = clock__mono_ns();
	g->cpu_ns = session__own_cpu_ns(s);
	res = event_loop__pulse(s->event_loop, PERIOD_NS, on_period, s);
	g->runs = res >= 0;
	return res < 0 ? res : 0;
}

/* The parts of the run that have not been told yet. */
void session__take_govern(struct session *s, struct interval *ret)
{
	struct govern *g = &s->govern;
	uint64_t now = clock__mono_ns();

	if (g->gov.blind) {
		g->blind_ns += now - g->blind_since_ns;
		g->blind_since_ns = now;
	}
	if (g->gov.budget_ns) {
		SET(&ret->facts, governor_level, g->gov.level + g->gov.blind);
		SET(&ret->cost, bpf_ns, g->bpf_ns - g->told.bpf_ns);
	}
	ret->facts.reduced = (char *)governor__word(&g->gov);
	SET_KNOWN(&ret->facts, governor_steps, g->step_cnt - g->told.step_cnt);
	SET_KNOWN(&ret->facts, blind_ns, g->blind_ns - g->told.blind_ns);
	g->told.step_cnt = g->step_cnt;
	g->told.blind_ns = g->blind_ns;
	g->told.bpf_ns = g->bpf_ns;
}
