/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the machine did meanwhile, in one line; then unusual treatment of the thread. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "export/shared_words.h"
#include "export/text/text.h"
#include "verdict/blame.h"

#define INDENT	     "   "
#define PREEMPTORS   3
#define MORE_COLUMNS 12 /* " · ", ", 12 more" */
#define PRESSURE_PCT 5
#define CAPACITY_MAX 1024
#define SLOW_PART    0.7 /* of the highest frequency */

static void put_cgroups(struct text *t, const struct block *block)
{
	size_t cnt;
	struct other_task *tasks = runnable__by_process(block, &cnt);

	for (size_t i = 0; tasks && i < cnt && i < PREEMPTORS; i++) {
		const struct other_task *task = &tasks[i];

		if (!task->cgroup)
			continue;
		text__putf(t, STYLE_NONE, INDENT "%s (%" PRIu32 ") is in cgroup ", task->comm,
			   task->pid);
		text__put(t, STYLE_NONE, task->cgroup);
		text__nl(t);
	}
	t->out.failed |= !tasks;
	free(tasks);
}

void text__add_priority(struct strbuf *sb, uint16_t prio)
{
	struct strbuf words = STRBUF_INIT;

	priority__add(&words, prio);
	if (words.len && !priority__is_usual(prio))
		strbuf__addf(sb, ", %s", strbuf__str(&words));
	sb->failed |= words.failed;
	strbuf__free(&words);
}

static void add_preemptor(struct strbuf *sb, const struct other_task *task)
{
	strbuf__addf(sb, "%s (%" PRIu32, task->comm, task->pid);
	text__add_priority(sb, task->prio);
	strbuf__adds(sb, ") ");
	clock__add_duration(sb, task->ns);
}

static bool fits(const struct text *t, const struct strbuf *words)
{
	return cells__width(strbuf__str(words)) + MORE_COLUMNS <= text__left(t);
}

static void put_separator(struct text *t, bool fits)
{
	if (fits) {
		text__put(t, STYLE_NONE, " · ");
		return;
	}
	text__nl(t);
	text__put(t, STYLE_NONE, INDENT);
}

/* Puts as many whole preemptors as fit, after the machine's line or below it. */
static void put_preemptors(struct text *t, const struct block *block)
{
	struct strbuf words = STRBUF_INIT;
	size_t cnt, i;
	struct other_task *tasks = runnable__by_process(block, &cnt);

	for (i = 0; tasks && i < cnt && i < PREEMPTORS; i++) {
		strbuf__reset(&words);
		strbuf__adds(&words, i ? ", " : "ran instead: ");
		add_preemptor(&words, &tasks[i]);
		if (i && !fits(t, &words))
			break;
		if (!i)
			put_separator(t, fits(t, &words));
		text__put(t, STYLE_NONE, strbuf__str(&words));
	}
	if (i < cnt)
		text__putf(t, STYLE_NONE, ", %zu more", cnt - i);
	t->out.failed |= words.failed || !tasks;
	strbuf__free(&words);
	free(tasks);
}

static void put_load(struct text *t, const struct machine_load *load)
{
	if (load->total_pct >= 0)
		text__putf(t, STYLE_NONE, ": CPUs %.0f%% used", load->total_pct);
	else if (!load->busy)
		text__put(t, STYLE_NONE, ": not busy");
	if (load->process_pct >= 0)
		text__putf(t, STYLE_NONE, ", this process %.0f%%", load->process_pct);
	if (load->iowait_pct >= 0.5)
		text__putf(t, STYLE_NONE, ", I/O wait %.0f%%", load->iowait_pct);
	if (load->steal_pct >= 0.5)
		text__putf(t, STYLE_NONE, ", stolen %.0f%%", load->steal_pct);
	if (load->psi_memory_pct >= PRESSURE_PCT)
		text__putf(t, STYLE_NONE, ", short of memory %.0f%%", load->psi_memory_pct);
	if (load->psi_io_pct >= PRESSURE_PCT)
		text__putf(t, STYLE_NONE, ", short of I/O %.0f%%", load->psi_io_pct);
}

static void put_memory(struct text *t, const struct host_info *host)
{
	if (t->verbosity > 0 && host->mem_total_kb)
		text__putf(t, STYLE_NONE, ", memory %.1f of %.1f GiB available",
			   (double)host->mem_available_kb / (1 << 20),
			   (double)host->mem_total_kb / (1 << 20));
}

void text__add_machine(struct text *t, const struct block *block)
{
	text__put(t, STYLE_NONE, INDENT);
	if (block->load.busy)
		text__put(t, STYLE_WARN, "machine busy");
	else
		text__put(t, STYLE_NONE, "machine");
	put_load(t, &block->load);
	put_memory(t, &block->host);
	put_preemptors(t, block);
	text__nl(t);
}

static void add_time(struct strbuf *sb, const char *label, uint64_t ns)
{
	if (!ns)
		return;
	strbuf__addf(sb, "%s%s ", sb->len ? " · " : "", label);
	clock__add_duration(sb, ns);
}

static void add_faults(struct strbuf *sb, const struct text *t, const struct facts *facts)
{
	const char *sep = sb->len ? " · " : "";

	if (facts->maj_flt_cnt)
		strbuf__addf(sb, "%s%s page fault%s from storage", sep,
			     text__grouped(facts->maj_flt_cnt).str,
			     facts->maj_flt_cnt == 1 ? "" : "s");
	if (facts->min_flt_cnt && text__shows_all(t))
		strbuf__addf(sb, "%s%s page fault%s without storage", sb->len ? " · " : "",
			     text__grouped(facts->min_flt_cnt).str,
			     facts->min_flt_cnt == 1 ? "" : "s");
}

/* Adds what made this CPU slower than others. */
static void add_cpu(struct strbuf *sb, const struct text *t, const struct facts *facts)
{
	double share =
		facts->live.cpu_max_khz ? (double)facts->live.cpu_khz / facts->live.cpu_max_khz : 1;

	if (facts->live.cpu_capacity && facts->live.cpu_capacity < CAPACITY_MAX)
		strbuf__addf(sb, "%ssmall CPU (%.0f%%)", sb->len ? " · " : "",
			     100.0 * facts->live.cpu_capacity / CAPACITY_MAX);
	if (facts->live.thermal_throttled)
		strbuf__addf(sb, "%sCPU throttled for heat", sb->len ? " · " : "");
	if (facts->live.cpu_khz && facts->live.cpu_max_khz &&
	    (share < SLOW_PART || text__shows_all(t)))
		strbuf__addf(sb, "%sat %.2f of %.2f GHz", sb->len ? " · " : "",
			     facts->live.cpu_khz / 1e6, facts->live.cpu_max_khz / 1e6);
}

static void add_scheduling(struct strbuf *sb, const struct text *t, const struct facts *facts)
{
	if (facts->prio && !priority__is_usual(facts->prio)) {
		strbuf__adds(sb, sb->len ? " · " : "");
		priority__add(sb, facts->prio);
	}
	if (facts->cpus_allowed && text__shows_all(t))
		strbuf__addf(sb, "%smay run on %" PRIu32 " CPU%s", sb->len ? " · " : "",
			     facts->cpus_allowed, facts->cpus_allowed == 1 ? "" : "s");
	if (facts->live.has_numa_node && text__shows_all(t))
		strbuf__addf(sb, "%smostly on NUMA node %" PRIu32, sb->len ? " · " : "",
			     facts->live.numa_node);
}

void text__add_facts(struct text *t, const struct block *block)
{
	const struct facts *facts = &block->facts;
	struct strbuf words = STRBUF_INIT;

	if (facts->known) {
		add_time(&words, "throttled", facts->throttled_ns);
		add_time(&words, "stolen", facts->stolen_ns);
		add_faults(&words, t, facts);
		add_cpu(&words, t, facts);
		add_scheduling(&words, t, facts);
	}
	if (words.len) {
		text__put(t, STYLE_NONE, INDENT "thread:");
		text__wrap(t, STYLE_NONE, INDENT INDENT, strbuf__str(&words));
		text__nl(t);
	}
	t->out.failed |= words.failed;
	strbuf__free(&words);
	if (text__shows_all(t))
		put_cgroups(t, block);
}
