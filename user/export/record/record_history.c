/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Converts a history into a message of columns. Its entries are many: the arrays are taken from the
 * arena at their full size, since the columns of a CPU have as many elements as it has entries.
 */
#include <string.h>

#include "export/record/record.h"
#include "export/report/report.h"

/* TASK_* of linux/sched.h */
#define STATE_REPORTED	 0x7f
#define STATE_DEAD	 0x80 /* of the task's state; exit_state, which says more, is not read */
#define STATE_IDLE	 0x402
#define REPORT_IDLE	 0x80
#define REPORT_DEAD	 0x10
#define REPORT_PREEMPTED 0x100

/* A thread under one name, without padding: a key. */
struct thread_key {
	uint32_t tgid, tid;
	char comm[JANK_COMM_SZ];
};

struct columns {
	struct record *r;
	Jankbpf__HistoryCpu *cpu;
	uint64_t begin_ns, switch_ns, wake_ns, tick_ns; /* times of the last ones */
	struct intern *threads;				/* of all CPUs, from number 1 on */
};

static uint32_t place_of(struct columns *c, const struct jank_history_entry *entry)
{
	struct thread_key key = { entry->tgid, entry->tid, {} };
	uint32_t nr;
	bool is_new;

	memcpy(key.comm, entry->comm, strnlen(entry->comm, JANK_COMM_SZ - 1));
	nr = intern__get(c->threads, &key, sizeof(key), &is_new);
	if (!nr)
		longjmp(c->r->arena.out_of_memory, 1);
	return nr - 1;
}

/* As __trace_sched_switch_state of include/trace/events/sched.h: the highest bit. */
static uint32_t reported_state(const struct jank_history_entry *entry)
{
	uint32_t state = entry->state;

	if (entry->kind & JANK_HISTORY_PREEMPTED)
		return REPORT_PREEMPTED;
	if ((state & STATE_IDLE) == STATE_IDLE)
		return REPORT_IDLE;
	if (state & STATE_DEAD)
		return REPORT_DEAD;
	state &= STATE_REPORTED;
	return state ? 1u << (31 - __builtin_clz(state)) : 0;
}

static uint32_t priority_of(const struct jank_history_entry *entry)
{
	return entry->prio ? entry->prio - 1 : 0;
}

/* The time since the last event of this kind. An entry before the window is at its begin. */
static uint64_t since(uint64_t *last_ns, uint64_t t_ns)
{
	uint64_t ret = t_ns > *last_ns ? t_ns - *last_ns : 0;

	*last_ns += ret;
	return ret;
}

static void add_switch(struct columns *c, const struct jank_history_entry *entry)
{
	Jankbpf__HistoryCpu *cpu = c->cpu;

	cpu->switch_ns[cpu->n_switch_ns++] = since(&c->switch_ns, entry->t_ns);
	cpu->switch_thread[cpu->n_switch_thread++] = place_of(c, entry);
	cpu->switch_state[cpu->n_switch_state++] = reported_state(entry);
	cpu->switch_priority[cpu->n_switch_priority++] = priority_of(entry);
}

static void add_wake(struct columns *c, const struct jank_history_entry *entry)
{
	Jankbpf__HistoryCpu *cpu = c->cpu;
	bool knows_cpu = entry->state != JANK_HISTORY_CPU_UNKNOWN;

	cpu->wake_ns[cpu->n_wake_ns++] = since(&c->wake_ns, entry->t_ns);
	cpu->wake_thread[cpu->n_wake_thread++] = place_of(c, entry);
	cpu->wake_priority[cpu->n_wake_priority++] = priority_of(entry);
	cpu->wake_cpu[cpu->n_wake_cpu++] = knows_cpu ? entry->state : cpu->cpu;
	cpu->wake_irq[cpu->n_wake_irq++] = !!(entry->kind & JANK_HISTORY_IRQ);
}

static void add_tick(struct columns *c, const struct jank_history_entry *entry)
{
	Jankbpf__HistoryCpu *cpu = c->cpu;

	cpu->tick_ns[cpu->n_tick_ns++] = since(&c->tick_ns, entry->t_ns);
	cpu->tick_thread[cpu->n_tick_thread++] = place_of(c, entry);
	cpu->tick_state[cpu->n_tick_state++] = entry->state;
}

static unsigned kind_of(const struct jank_history_entry *entry)
{
	return entry->kind & JANK_HISTORY_KIND;
}

/* Of the entries before the window only the last switch counts: it tells what runs at the begin. */
static bool is_wanted(const struct columns *c, const struct jank_history_entry *entry)
{
	return entry->t_ns >= c->begin_ns || kind_of(entry) == JANK_HISTORY_SWITCH;
}

static void take_columns(struct columns *c, const struct history_cpu *cpu)
{
	size_t cnt[JANK_HISTORY_TICK + 1] = {};
	Jankbpf__HistoryCpu *ret = c->cpu;

	for (size_t i = 0; i < cpu->cnt; i++)
		if (kind_of(&cpu->entries[i]) <= JANK_HISTORY_TICK)
			cnt[kind_of(&cpu->entries[i])]++;
#define TAKE(field, kind) ((ret)->field = record__take(c->r, cnt[kind] * sizeof(*(ret)->field) + 1))
	TAKE(switch_ns, JANK_HISTORY_SWITCH);
	TAKE(switch_thread, JANK_HISTORY_SWITCH);
	TAKE(switch_state, JANK_HISTORY_SWITCH);
	TAKE(switch_priority, JANK_HISTORY_SWITCH);
	TAKE(wake_ns, JANK_HISTORY_WAKE);
	TAKE(wake_thread, JANK_HISTORY_WAKE);
	TAKE(wake_priority, JANK_HISTORY_WAKE);
	TAKE(wake_cpu, JANK_HISTORY_WAKE);
	TAKE(wake_irq, JANK_HISTORY_WAKE);
	TAKE(tick_ns, JANK_HISTORY_TICK);
	TAKE(tick_thread, JANK_HISTORY_TICK);
	TAKE(tick_state, JANK_HISTORY_TICK);
#undef TAKE
}

static void set_gaps(struct columns *c, const struct history_cpu *cpu)
{
	c->cpu->gaps = record__array(c->r, cpu->gap_cnt, &c->cpu->n_gaps);
	for (size_t i = 0; i < cpu->gap_cnt; i++) {
		Jankbpf__HistoryGap *gap = c->cpu->gaps[i] = NEW(c->r, history_gap);

		SET(gap, at_ns, cpu->gaps[i].begin_ns - c->begin_ns);
		SET(gap, ns, cpu->gaps[i].end_ns - cpu->gaps[i].begin_ns);
	}
}

static void fill_cpu(struct columns *c, const struct history_cpu *cpu)
{
	SET(c->cpu, cpu, cpu->cpu);
	c->switch_ns = c->wake_ns = c->tick_ns = c->begin_ns;
	take_columns(c, cpu);
	for (size_t i = 0; i < cpu->cnt; i++) {
		const struct jank_history_entry *entry = &cpu->entries[i];

		if (!is_wanted(c, entry))
			continue;
		if (kind_of(entry) == JANK_HISTORY_SWITCH)
			add_switch(c, entry);
		else if (kind_of(entry) == JANK_HISTORY_WAKE)
			add_wake(c, entry);
		else if (kind_of(entry) == JANK_HISTORY_TICK)
			add_tick(c, entry);
	}
	set_gaps(c, cpu);
}

static Jankbpf__HistoryThread *thread_of(struct record *r, struct intern *threads, uint32_t nr)
{
	Jankbpf__HistoryThread *ret = NEW(r, history_thread);
	struct thread_key key;
	size_t len;

	memcpy(&key, intern__key(threads, nr, &len), sizeof(key));
	SET(ret, pid, key.tgid);
	SET(ret, tid, key.tid);
	strbuf__adds(record__words(r), key.comm);
	ret->name = record__str(r, record__take_words(r));
	return ret;
}

Jankbpf__History *record__history(struct record *r, const struct history *history,
				  struct intern *threads)
{
	Jankbpf__History *ret = NEW(r, history);
	uint64_t begin_ns = history->window.begin_ns;

	SET(ret, start_ns, begin_ns);
	SET(ret, boot_ns, begin_ns + (uint64_t)history->boot_offset_ns);
	SET(ret, elapsed_ns, history->window.end_ns - begin_ns);
	ret->cpus = record__array(r, history->cpu_cnt, &ret->n_cpus);
	for (size_t i = 0; i < history->cpu_cnt; i++) {
		struct columns columns = { .r = r, .begin_ns = begin_ns, .threads = threads };

		columns.cpu = ret->cpus[i] = NEW(r, history_cpu);
		fill_cpu(&columns, &history->cpus[i]);
	}
	ret->threads = record__array(r, intern__cnt(threads), &ret->n_threads);
	for (size_t i = 0; i < ret->n_threads; i++)
		ret->threads[i] = thread_of(r, threads, i + 1);
	return ret;
}
