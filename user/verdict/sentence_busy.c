/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clauses for time on the CPU, and for time waiting for a CPU. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "model/stack.h"
#include "verdict/analysis.h"
#include "verdict/blame.h"
#include "verdict/sentence.h"

#define TICKS_FOR_PCT 5 /* with fewer ticks, name the place without a percentage */
#define MOST	      0.5
#define NOTABLE	      0.25
#define STEAL_PCT     20 /* threshold for a high steal time */
#define SLOW	      0.7
#define CAPACITY_MAX  1024.0

static size_t ticks_of(const struct clause *c)
{
	size_t ret = 0;

	for (size_t i = 0; i < c->block->sample_cnt; i++)
		ret += c->block->samples[i].state == JANK_STATE_RUNNING &&
		       analysis__weight(c->analysis, i, c->nr);
	return ret;
}

/* A place without a name says little: adds " ← lua_pcall", its nearest caller that has one. */
static void add_caller(struct clause *c, const struct frame *nameless)
{
	const struct stack *stack = &c->sample->stack;
	size_t i = 0;

	while (i < stack->frame_cnt && !stack__same_code(&stack->frames[i], nameless))
		i++;
	for (; i < stack->frame_cnt; i++) {
		const struct frame *frame = &stack->frames[i];

		if (!frame->app || !frame->function || frame->dispatcher)
			continue;
		strbuf__adds(c->sb, " ← ");
		words__add_function(c->sb, frame);
		return;
	}
}

/*
 * Adds ", 80 % of it in f (x)". If f has less than half, the common caller of most of the time
 * comes first.
 */
static void add_functions(struct clause *c, const char *in, const char *few_in)
{
	double self = 0, total = 0;
	const struct frame *culprit = c->part->frame, *common;
	const char *activity;
	bool few = ticks_of(c) < TICKS_FOR_PCT;

	culprit__frame(c->analysis, c->nr, &self);
	common = culprit__common(c->analysis, c->nr, &total);
	if (!culprit || (!culprit->function && !culprit->module))
		return;
	if (!few && !common && self < NOTABLE)
		return; /* few stacks have a name, most have none */
	if (few) {
		strbuf__addf(c->sb, ", %s", few_in);
	} else if (self < MOST && common && !stack__same_code(common, culprit)) {
		strbuf__adds(c->sb, ", ");
		words__add_pct(c->sb, total);
		strbuf__adds(c->sb, " of it below ");
		words__add_function(c->sb, common);
		strbuf__adds(c->sb, ", ");
		words__add_pct(c->sb, self);
		strbuf__addf(c->sb, " %s", in);
	} else {
		strbuf__adds(c->sb, ", ");
		words__add_pct(c->sb, self);
		strbuf__addf(c->sb, " of it %s", in);
	}
	activity = culprit__activity(c->analysis, c->nr, culprit);
	if (activity)
		strbuf__addf(c->sb, "%s ← ", activity);
	clause__add_frame(c, culprit);
	if (!culprit->function && c->sample)
		add_caller(c, culprit);
	clause__add_handler(c, culprit);
}

/* Adds ", mostly in clear_page_erms, for munmap": the kernel function */
static void add_kernel(struct clause *c)
{
	const char *syscall = culprit__syscall(c->analysis, c->nr);
	double part = 0;
	const struct frame *frame = culprit__kernel_frame(c->analysis, c->nr, &part);

	if (frame && part >= MOST) {
		strbuf__adds(c->sb, ", mostly in ");
		words__add_function(c->sb, frame);
	}
	if (syscall)
		strbuf__addf(c->sb, ", for %s", syscall);
}

static void add_time(struct clause *c)
{
	uint64_t delay_ns = block__delay(c->block);

	if (c->ns < delay_ns && delay_ns - c->ns >= NS_PER_MS) {
		strbuf__adds(c->sb, " of ");
		clock__add_duration(c->sb, delay_ns);
	}
}

static void add_collector(struct clause *c)
{
	struct activity activity;

	if (!c->sample)
		return;
	activity = activity__of_sample(c->sample);
	sentence__add_collector(c->sb, c->block, &activity);
}

/* Adds the CPU's speed if it was low at the end of the dispatch, or if it is a small core. */
static void add_speed(struct clause *c)
{
	const Jankbpf__Scheduling *live = c->block->live->scheduling;

	if (!c->block->facts.known)
		return;
	if (live->cpu_capacity && live->cpu_capacity < SLOW * CAPACITY_MAX) {
		strbuf__adds(c->sb, ", on a small core, with ");
		words__add_pct(c->sb, (double)live->cpu_capacity / CAPACITY_MAX);
		strbuf__adds(c->sb, " of the largest one's capacity");
	}
	if (live->thermal_throttled)
		strbuf__adds(c->sb, ", on a CPU that was throttled for heat");
	if (live->cpu_khz && live->cpu_khz < SLOW * live->cpu_max_khz)
		strbuf__addf(c->sb, ", its CPU at %.2f of %.2f GHz at the end", live->cpu_khz / 1e6,
			     live->cpu_max_khz / 1e6);
}

void clause__add_busy(struct clause *c)
{
	bool kernel = !strcmp(c->part->kind, "kernel");
	const char *words = words__of_reason(c->part->what);

	if (words) {
		strbuf__addf(c->sb, c->open ? " has spent " : " spent ");
		clock__add_duration(c->sb, c->ns);
		add_time(c);
		strbuf__addf(c->sb, " %s", words);
	} else {
		clause__add_verb(c, "was busy", "busy");
		add_time(c);
		strbuf__adds(c->sb, kernel ? " in the kernel" : " on the CPU");
		if (kernel)
			add_kernel(c);
	}
	if (c->part->what && !strcmp(c->part->what, "gc"))
		add_collector(c);
	else
		add_functions(c, kernel || words ? "called by " : "in ",
			      kernel || words ? "called by " : "seen in ");
	add_speed(c);
}

/* Adds the cgroup with the quota, if known: the process itself may be in a child of it. */
static void add_quota(struct clause *c)
{
	const Jankbpf__Scheduling *live = c->block->live->scheduling;

	strbuf__adds(c->sb, ": its cgroup ");
	if (live->quota_cgroup) {
		words__add_path(c->sb, live->quota_cgroup);
		strbuf__adds(c->sb, " ");
	}
	strbuf__adds(c->sb, "had used up its CPU quota");
	if (!live->quota_ns)
		return;
	strbuf__adds(c->sb, " of ");
	clock__add_duration(c->sb, live->quota_ns);
	strbuf__adds(c->sb, " in ");
	clock__add_duration(c->sb, live->quota_period_ns);
}

/*
 * Adds the reason, for example the CPU quota. True if it is complete; if not, the caller adds the
 * task that ran.
 */
static bool add_reason(struct clause *c)
{
	const char *reason = c->part->what;

	if (!reason)
		return false;
	if (!strcmp(reason, "throttled")) {
		add_quota(c);
		return true;
	}
	if (!strcmp(reason, "stolen")) {
		strbuf__adds(c->sb, ": the hypervisor had taken it");
		return true;
	}
	if (!strcmp(reason, "wakeup_latency"))
		strbuf__adds(c->sb, " after it was woken");
	return false;
}

/*
 * True if the hypervisor took much CPU time and known preemptors explain less than half of the
 * wait. While the hypervisor has the CPU, no task of the guest runs on it.
 */
static bool is_stolen(const struct clause *c)
{
	const struct block *block = c->block;
	uint64_t known = 0;

	for (size_t i = 0; i < block->preemptor_cnt; i++)
		known += block->preemptors[i].ns;
	return block->live->cpu->steal_pct >= STEAL_PCT && known < block__runnable(block) / 2;
}

/* Adds ": 2 CPUs, 97 % busy, 24 other tasks ran": what is known if no task had most of the time. */
static void add_load(struct clause *c, bool affinity)
{
	const struct block *block = c->block;
	const char *sep = affinity ? ", " : ": ";

	if (!affinity && block->host.cpus && block->live->cpu->has_total_pct) {
		strbuf__addf(c->sb, "%s%" PRIu32 " CPU%s, %.0f %% busy", sep, block->host.cpus,
			     block->host.cpus == 1 ? "" : "s", block->live->cpu->total_pct);
		sep = ", ";
	}
	if (block->preemptor_cnt)
		strbuf__addf(c->sb, "%s%zu other task%s ran", sep, block->preemptor_cnt,
			     block->preemptor_cnt == 1 ? "" : "s");
}

static void add_runner(struct clause *c)
{
	const struct block *block = c->block;
	bool affinity = c->part->what && !strcmp(c->part->what, "affinity");
	bool priority = c->part->what && !strcmp(c->part->what, "priority");
	struct runners runners = runners__of(block->preemptors, block->preemptor_cnt, block->pid,
					     priority ? block->facts.prio : 0);

	if (affinity)
		strbuf__addf(c->sb, ": it is bound to %" PRIu32 " of %" PRIu32 " CPUs",
			     c->block->facts.cpus_allowed, c->block->host.cpus);
	if (is_stolen(c)) {
		strbuf__addf(c->sb, "%s a hypervisor took %.0f %% of the CPUs meanwhile",
			     affinity ? ", and" : ":", c->block->live->cpu->steal_pct);
		return;
	}
	if (!runners__explain(&runners, c->ns)) {
		add_load(c, affinity);
		return;
	}
	strbuf__adds(c->sb, affinity ? ", where " : ": ");
	words__add_runners(c->sb, &runners, c->block->facts.prio);
	strbuf__adds(c->sb, affinity ? " ran" : " ran instead");
	if (runners.ns >= c->ns / 10 * 9)
		return;
	strbuf__adds(c->sb, " for ");
	clock__add_duration(c->sb, runners.ns);
	strbuf__adds(c->sb, " of it");
	if (runners.other_cnt)
		strbuf__addf(c->sb, ", and %zu other%s", runners.other_cnt,
			     runners.other_cnt > 1 ? "s" : "");
}

/* True if most of it was between the wake-up and the start of the dispatch. */
static bool is_late_start(const struct clause *c)
{
	return c->block->start_delay_ns > c->ns / 2;
}

/* The event may have come at any time of the freeze. */
static void add_frozen_start(struct clause *c)
{
	strbuf__adds(c->sb, " started up to ");
	clock__add_duration(c->sb, c->ns);
	strbuf__adds(c->sb, " late: it was frozen with its cgroup");
	words__add_thawer(c->sb, &c->block->thawer);
}

void clause__add_runnable(struct clause *c)
{
	if (words__is(c->part->what, "frozen")) {
		add_frozen_start(c);
		return;
	}
	if (is_late_start(c) && !c->open) {
		strbuf__adds(c->sb, " started ");
		clock__add_duration(c->sb, c->ns);
		strbuf__adds(c->sb, " late, for want of a CPU");
		if (!add_reason(c))
			add_runner(c);
		return;
	}
	clause__add_verb(c, "waited", "waiting");
	strbuf__adds(c->sb, " for a CPU");
	if (is_late_start(c))
		strbuf__adds(c->sb, " since it was woken");
	if (c->part->frame && (c->part->frame->function || c->part->frame->owner == CODE_OWN) &&
	    culprit__stands(c->analysis, c->nr, c->part->frame)) {
		strbuf__adds(c->sb, " in ");
		clause__add_frame(c, c->part->frame);
		clause__add_handler(c, c->part->frame);
	}
	if (!add_reason(c))
		add_runner(c);
}
