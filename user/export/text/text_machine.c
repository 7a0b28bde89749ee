/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the machine did meanwhile, in one line; then unusual treatment of the thread. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "export/text/text.h"
#include "export/values.h"

#define INDENT	     "   "
#define PREEMPTORS   3
#define MORE_COLUMNS 12 /* " · ", ", 12 more" */
#define PRESSURE_PCT 5
#define CAPACITY_MAX 1024
#define SLOW_PART    0.7 /* of the highest frequency */

/* --- the preemptors by process */

/* Most time first; of equals the smaller pid. */
static int by_time(const void *a, const void *b)
{
	const Jankbpf__Preemptor *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static Jankbpf__Preemptor *find_process(Jankbpf__Preemptor *tasks, size_t cnt, uint32_t pid)
{
	for (size_t i = 0; i < cnt; i++)
		if (tasks[i].pid == pid)
			return &tasks[i];
	return NULL;
}

Jankbpf__Preemptor *preemptors__by_process(const Jankbpf__Block *block, size_t *ret_cnt)
{
	Jankbpf__Preemptor *ret = calloc(block->n_preemptors + 1, sizeof(*ret));
	size_t cnt = 0;

	for (size_t i = 0; ret && i < block->n_preemptors; i++) {
		const Jankbpf__Preemptor *task = block->preemptors[i];
		Jankbpf__Preemptor *known = task->pid ? find_process(ret, cnt, task->pid) : NULL;

		if (known)
			known->ns += task->ns;
		else
			ret[cnt++] = *task;
	}
	if (cnt)
		qsort(ret, cnt, sizeof(*ret), by_time);
	*ret_cnt = cnt;
	return ret;
}

static void put_cgroups(struct text *t, const Jankbpf__Block *block)
{
	size_t cnt;
	Jankbpf__Preemptor *tasks = preemptors__by_process(block, &cnt);

	for (size_t i = 0; tasks && i < cnt && i < PREEMPTORS; i++) {
		const Jankbpf__Preemptor *task = &tasks[i];

		if (!task->cgroup)
			continue;
		text__putf(t, STYLE_NONE, INDENT "%s (%" PRIu32 ") is in cgroup ",
			   value__name(task->comm), task->pid);
		text__put(t, STYLE_NONE, task->cgroup);
		text__nl(t);
	}
	t->out.failed |= !tasks;
	free(tasks);
}

/* True for a priority that is shown: known, and not the default. */
static bool is_unusual(const char *priority)
{
	return priority && strcmp(priority, "nice 0");
}

void text__add_priority(struct strbuf *sb, const char *priority)
{
	if (is_unusual(priority))
		strbuf__addf(sb, ", %s", priority);
}

static void add_preemptor(struct strbuf *sb, const Jankbpf__Preemptor *task)
{
	strbuf__addf(sb, "%s (%" PRIu32, value__name(task->comm), task->pid);
	text__add_priority(sb, task->priority);
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
static void put_preemptors(struct text *t, const Jankbpf__Block *block)
{
	struct strbuf words = STRBUF_INIT;
	size_t cnt, i;
	Jankbpf__Preemptor *tasks = preemptors__by_process(block, &cnt);

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

static void put_load(struct text *t, const Jankbpf__Cpu *cpu)
{
	static const Jankbpf__Psi unknown = JANKBPF__PSI__INIT;
	const Jankbpf__Psi *psi = cpu->psi ? cpu->psi : &unknown;

	if (cpu->has_total_pct)
		text__putf(t, STYLE_NONE, ": CPUs %.0f%% used", cpu->total_pct);
	else if (!cpu->busy)
		text__put(t, STYLE_NONE, ": not busy");
	if (cpu->has_process_pct)
		text__putf(t, STYLE_NONE, ", this process %.0f%%", cpu->process_pct);
	if (cpu->has_iowait_pct && cpu->iowait_pct >= 0.5)
		text__putf(t, STYLE_NONE, ", I/O wait %.0f%%", cpu->iowait_pct);
	if (cpu->has_steal_pct && cpu->steal_pct >= 0.5)
		text__putf(t, STYLE_NONE, ", stolen %.0f%%", cpu->steal_pct);
	if (psi->has_memory && psi->memory >= PRESSURE_PCT)
		text__putf(t, STYLE_NONE, ", short of memory %.0f%%", psi->memory);
	if (psi->has_io && psi->io >= PRESSURE_PCT)
		text__putf(t, STYLE_NONE, ", short of I/O %.0f%%", psi->io);
}

static void put_memory(struct text *t, const Jankbpf__Host *host)
{
	if (t->verbosity > 0 && host && host->mem_total_kb)
		text__putf(t, STYLE_NONE, ", memory %.1f of %.1f GiB available",
			   (double)host->mem_available_kb / (1 << 20),
			   (double)host->mem_total_kb / (1 << 20));
}

void text__add_machine(struct text *t, const Jankbpf__Block *block)
{
	static const Jankbpf__Cpu unknown = JANKBPF__CPU__INIT;
	const Jankbpf__Cpu *cpu = block->cpu ? block->cpu : &unknown;

	text__put(t, STYLE_NONE, INDENT);
	if (cpu->busy)
		text__put(t, STYLE_WARN, "machine busy");
	else
		text__put(t, STYLE_NONE, "machine");
	put_load(t, cpu);
	put_memory(t, block->host);
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

static void add_faults(struct strbuf *sb, const struct text *t, const Jankbpf__Faults *faults)
{
	const char *sep = sb->len ? " · " : "";

	if (faults->major)
		strbuf__addf(sb, "%s%s page fault%s from storage", sep,
			     text__grouped(faults->major).str, faults->major == 1 ? "" : "s");
	if (faults->minor && text__shows_all(t))
		strbuf__addf(sb, "%s%s page fault%s without storage", sb->len ? " · " : "",
			     text__grouped(faults->minor).str, faults->minor == 1 ? "" : "s");
}

/* Adds what made this CPU slower than others. */
static void add_cpu(struct strbuf *sb, const struct text *t, const Jankbpf__Scheduling *facts)
{
	double share = facts->cpu_max_khz ? (double)facts->cpu_khz / facts->cpu_max_khz : 1;

	if (facts->cpu_capacity && facts->cpu_capacity < CAPACITY_MAX)
		strbuf__addf(sb, "%ssmall CPU (%.0f%%)", sb->len ? " · " : "",
			     100.0 * facts->cpu_capacity / CAPACITY_MAX);
	if (facts->thermal_throttled)
		strbuf__addf(sb, "%sCPU throttled for heat", sb->len ? " · " : "");
	if (facts->cpu_khz && facts->cpu_max_khz && (share < SLOW_PART || text__shows_all(t)))
		strbuf__addf(sb, "%sat %.2f of %.2f GHz", sb->len ? " · " : "",
			     facts->cpu_khz / 1e6, facts->cpu_max_khz / 1e6);
}

static void add_scheduling(struct strbuf *sb, const struct text *t,
			   const Jankbpf__Scheduling *facts)
{
	if (is_unusual(facts->priority))
		strbuf__addf(sb, "%s%s", sb->len ? " · " : "", facts->priority);
	if (facts->cpus_allowed && text__shows_all(t))
		strbuf__addf(sb, "%smay run on %" PRIu32 " CPU%s", sb->len ? " · " : "",
			     facts->cpus_allowed, facts->cpus_allowed == 1 ? "" : "s");
	if (facts->has_numa_node && text__shows_all(t))
		strbuf__addf(sb, "%smostly on NUMA node %" PRIu32, sb->len ? " · " : "",
			     facts->numa_node);
}

void text__add_facts(struct text *t, const Jankbpf__Block *block)
{
	static const Jankbpf__Scheduling unknown = JANKBPF__SCHEDULING__INIT;
	const Jankbpf__Scheduling *facts = block->scheduling ? block->scheduling : &unknown;
	struct strbuf words = STRBUF_INIT;

	add_time(&words, "throttled", facts->throttled_ns);
	add_time(&words, "stolen", facts->stolen_ns);
	if (block->faults)
		add_faults(&words, t, block->faults);
	add_cpu(&words, t, facts);
	add_scheduling(&words, t, facts);
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
