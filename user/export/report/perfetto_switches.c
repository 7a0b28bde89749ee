/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Switches and wake-ups of a history as the events of ftrace, in bundles of columns: readers show
 * them as a row of each CPU and as the states of each thread. A history may come from a damaged or
 * hostile file: columns may differ in length, and places may be wrong.
 */
#include <errno.h>
#include <stdlib.h>

#include "export/report/perfetto.h"

#define EVENTS_MAX	4096 /* of a bundle */
#define FLAG_HARDIRQ	0x08 /* TRACE_FLAG_HARDIRQ of linux/trace_events.h */
#define PRIORITY_OFFSET 1    /* of the message */

typedef Perfetto__Protos__FtraceEventBundle__CompactSched compact_sched;

/* The columns of a bundle, for switches or for wake-ups. */
struct columns {
	uint64_t t_ns[EVENTS_MAX];
	int32_t tid[EVENTS_MAX];
	int32_t priority[EVENTS_MAX];
	uint32_t name[EVENTS_MAX];
	int64_t state[EVENTS_MAX];
	int32_t cpu[EVENTS_MAX];
	uint32_t flags[EVENTS_MAX];
	char *names[EVENTS_MAX];
};

/* Of a thread in the bundle number `bundle`. */
struct name_place {
	uint32_t bundle, place;
};

struct bundle {
	struct perfetto *p;
	const Jankbpf__History *history;
	uint32_t cpu;
	struct columns *columns;
	struct name_place *places; /* by thread */
	uint32_t nr;
	size_t cnt, name_cnt;
	uint64_t last_ns; /* of the last event */
	bool lost;	  /* something is missing before it */
};

static void begin_bundle(struct bundle *b, bool lost)
{
	b->nr++;
	b->cnt = b->name_cnt = 0;
	b->last_ns = 0;
	b->lost = lost;
}

static void set_switches(const struct bundle *b, compact_sched *sched)
{
	struct columns *c = b->columns;

	sched->switch_timestamp = c->t_ns;
	sched->switch_prev_state = c->state;
	sched->switch_next_pid = c->tid;
	sched->switch_next_prio = c->priority;
	sched->switch_next_comm_index = c->name;
	sched->n_switch_timestamp = sched->n_switch_prev_state = sched->n_switch_next_pid =
		sched->n_switch_next_prio = sched->n_switch_next_comm_index = b->cnt;
}

static void set_wakes(const struct bundle *b, compact_sched *sched)
{
	struct columns *c = b->columns;

	sched->waking_timestamp = c->t_ns;
	sched->waking_pid = c->tid;
	sched->waking_target_cpu = c->cpu;
	sched->waking_prio = c->priority;
	sched->waking_comm_index = c->name;
	sched->waking_common_flags = c->flags;
	sched->n_waking_timestamp = sched->n_waking_pid = sched->n_waking_target_cpu =
		sched->n_waking_prio = sched->n_waking_comm_index = sched->n_waking_common_flags =
			b->cnt;
}

static void end_bundle(const struct bundle *b,
		       void (*set)(const struct bundle *b, compact_sched *sched))
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__FtraceEventBundle bundle = PERFETTO__PROTOS__FTRACE_EVENT_BUNDLE__INIT;
	compact_sched sched = PERFETTO__PROTOS__FTRACE_EVENT_BUNDLE__COMPACT_SCHED__INIT;

	if (!b->cnt)
		return;
	set(b, &sched);
	sched.intern_table = b->columns->names;
	sched.n_intern_table = b->name_cnt;
	bundle.has_cpu = true;
	bundle.cpu = b->cpu;
	bundle.has_lost_events = bundle.lost_events = b->lost;
	bundle.compact_sched = &sched;
	packet.ftrace_events = &bundle;
	perfetto__write(b->p, &packet);
}

/* The place of a thread's name in the bundle's table. A bundle has as many names as events. */
static uint32_t name_of(struct bundle *b, uint32_t thread)
{
	struct name_place *at = &b->places[thread];

	if (at->bundle == b->nr)
		return at->place;
	*at = (struct name_place){ b->nr, (uint32_t)b->name_cnt };
	b->columns->names[b->name_cnt++] =
		perfetto__text(b->p, b->history->threads[thread]->name) ?: (char *)"";
	return at->place;
}

/* Adds the common columns of an event. Returns its place. */
static size_t add(struct bundle *b, uint64_t t_ns, uint32_t thread, uint32_t priority)
{
	struct columns *c = b->columns;
	size_t at = b->cnt++;

	c->t_ns[at] = t_ns - b->last_ns;
	b->last_ns = t_ns;
	c->tid[at] = (int32_t)b->history->threads[thread]->tid;
	c->priority[at] = (int32_t)priority - PRIORITY_OFFSET;
	c->name[at] = name_of(b, thread);
	return at;
}

static bool is_after_gap(const Jankbpf__HistoryCpu *cpu, size_t *gap, uint64_t at_ns)
{
	bool ret = false;

	while (*gap < cpu->n_gaps && cpu->gaps[*gap]->at_ns + cpu->gaps[*gap]->ns <= at_ns) {
		ret = true;
		++*gap;
	}
	return ret;
}

/*
 * The reader takes the thread that leaves from the event before, and drops the first event of a CPU
 * for lack of one: so it comes twice.
 */
static void write_switches(struct bundle *b, const Jankbpf__HistoryCpu *cpu)
{
	uint64_t at_ns = 0, boot_ns = b->history->boot_ns;
	size_t gap = 0;

	begin_bundle(b, false);
	for (size_t i = 0; i < cpu->n_switch_ns; i++) {
		uint32_t thread = cpu->switch_thread[i];
		bool lost;

		at_ns += cpu->switch_ns[i];
		lost = is_after_gap(cpu, &gap, at_ns);
		if (thread >= b->history->n_threads)
			continue;
		if (lost || b->cnt + 2 > EVENTS_MAX) {
			end_bundle(b, set_switches);
			begin_bundle(b, lost);
		}
		if (!i)
			b->columns
				->state[add(b, boot_ns + at_ns, thread, cpu->switch_priority[i])] =
				0;
		b->columns->state[add(b, boot_ns + at_ns, thread, cpu->switch_priority[i])] =
			cpu->switch_state[i];
	}
	end_bundle(b, set_switches);
}

static void write_wakes(struct bundle *b, const Jankbpf__HistoryCpu *cpu)
{
	uint64_t at_ns = b->history->boot_ns;

	begin_bundle(b, false);
	for (size_t i = 0; i < cpu->n_wake_ns; i++) {
		uint32_t thread = cpu->wake_thread[i];
		size_t place;

		at_ns += cpu->wake_ns[i];
		if (thread >= b->history->n_threads)
			continue;
		if (b->cnt == EVENTS_MAX) {
			end_bundle(b, set_wakes);
			begin_bundle(b, false);
		}
		place = add(b, at_ns, thread, cpu->wake_priority[i]);
		b->columns->cpu[place] = (int32_t)cpu->wake_cpu[i];
		b->columns->flags[place] = cpu->wake_irq[i] ? FLAG_HARDIRQ : 0;
	}
	end_bundle(b, set_wakes);
}

static bool is_whole(const Jankbpf__HistoryCpu *cpu)
{
	return cpu->n_switch_thread == cpu->n_switch_ns &&
	       cpu->n_switch_state == cpu->n_switch_ns &&
	       cpu->n_switch_priority == cpu->n_switch_ns && cpu->n_wake_thread == cpu->n_wake_ns &&
	       cpu->n_wake_priority == cpu->n_wake_ns && cpu->n_wake_cpu == cpu->n_wake_ns &&
	       cpu->n_wake_irq == cpu->n_wake_ns;
}

int switches__write(struct perfetto *p, const Jankbpf__History *history)
{
	struct bundle b = { .p = p, .history = history };
	int res = -ENOMEM;

	b.columns = calloc(1, sizeof(*b.columns));
	b.places = calloc(history->n_threads + 1, sizeof(*b.places));
	if (b.columns && b.places) {
		res = 0;
		for (size_t i = 0; i < history->n_cpus; i++) {
			if (!is_whole(history->cpus[i]))
				continue;
			b.cpu = history->cpus[i]->cpu;
			write_switches(&b, history->cpus[i]);
			write_wakes(&b, history->cpus[i]);
		}
	}
	free(b.columns);
	free(b.places);
	return res;
}
