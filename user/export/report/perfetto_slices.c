/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of a block: its dispatch as a slice of its thread, the time off the CPU as slices in
 * it, ticks as samples, wake-ups as flows between threads, the chain on tracks of its threads.
 */
#include "export/report/perfetto.h"

#include <stdlib.h>

#include "export/values.h"

#define BEGIN	       PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN
#define INSTANT	       PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT
#define STACK_TEXT_MAX 16 /* frames of a stack as text */

/* The block under work. Times are on the block's own clock. */
struct dispatch {
	struct perfetto *p;
	const Jankbpf__Block *block;
	Jankbpf__Task task;
	uint64_t track;
	uint64_t at_ns, end_ns; /* end of the last slice, and of the dispatch */
};

static void write_at(const struct dispatch *d, struct perfetto_event *e, uint64_t t_ns)
{
	event__write(d->p, e, perfetto__time(d->p, d->block, t_ns));
}

static void end_at(const struct dispatch *d, uint64_t track, uint64_t t_ns)
{
	event__end(d->p, track, perfetto__time(d->p, d->block, t_ns));
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* --- the machine */

static void write_counters(const struct dispatch *d)
{
	const Jankbpf__Cpu *cpu = d->block->cpu;
	const Jankbpf__Psi *psi = cpu ? cpu->psi : NULL;

	if (!cpu)
		return;
	if (cpu->has_total_pct)
		track__count(d->p, d->block, "CPU total %", cpu->total_pct);
	if (cpu->has_user_pct)
		track__count(d->p, d->block, "CPU user %", cpu->user_pct);
	if (cpu->has_system_pct)
		track__count(d->p, d->block, "CPU system %", cpu->system_pct);
	if (cpu->has_iowait_pct)
		track__count(d->p, d->block, "CPU iowait %", cpu->iowait_pct);
	if (cpu->has_steal_pct)
		track__count(d->p, d->block, "CPU steal %", cpu->steal_pct);
	if (psi && psi->has_cpu)
		track__count(d->p, d->block, "PSI cpu %", psi->cpu);
	if (psi && psi->has_memory)
		track__count(d->p, d->block, "PSI memory %", psi->memory);
	if (psi && psi->has_io)
		track__count(d->p, d->block, "PSI io %", psi->io);
}

/* --- notes */

static void note_stack(struct perfetto *p, struct perfetto_event *e, Jankbpf__Frame *const *stack,
		       size_t cnt, struct strbuf *text)
{
	for (size_t i = 0; i < cnt && i < STACK_TEXT_MAX; i++) {
		strbuf__adds(text, i ? " ← " : "");
		frame__add_place(text, stack[i], false);
	}
	strbuf__adds(text, cnt > STACK_TEXT_MAX ? " ← …" : "");
	event__note_text(p, e, "stack", strbuf__str(text));
	e->event.callstack_iid = stacks__get(p, stack, cnt);
	e->event.has_callstack_iid = e->event.callstack_iid;
}

static void note_cause(struct perfetto *p, struct perfetto_event *e, const Jankbpf__Cause *cause)
{
	if (!cause)
		return;
	event__note_text(p, e, "sentence", cause->summary);
	event__note_text(p, e, "kind", cause->kind);
	event__note_text(p, e, "what", cause->what);
	event__note_text(p, e, "signature", cause->signature);
}

static void begin_dispatch(const struct dispatch *d)
{
	const Jankbpf__Block *block = d->block;
	struct strbuf name = STRBUF_INIT, message = STRBUF_INIT;
	struct perfetto_event e;

	label__add_cause(&name, block->cause);
	message__add_phrase(&message, block->message);
	event__init(d->p, &e, BEGIN, d->track, strbuf__str(&name));
	event__set_category(&e, value__is_hang(block) ? "hang" : "jank");
	note_cause(d->p, &e, block->cause);
	event__note_text(d->p, &e, "message", strbuf__str(&message));
	event__note_text(d->p, &e, "loop", block->loop);
	event__note_text(d->p, &e, "id", block->id);
	event__note_number(&e, "duration_ns", block->duration_ns);
	event__note_number(&e, "start_delay_ns", block->start_delay_ns);
	event__note_number(&e, "dropped_frames", block->dropped_frames);
	write_at(d, &e, block->start_ns);
	strbuf__free(&name);
	strbuf__free(&message);
}

static void write_late_start(const struct dispatch *d)
{
	struct perfetto_event e;

	if (!d->block->start_delay_ns || d->block->start_delay_ns > d->block->start_ns)
		return;
	event__init(d->p, &e, BEGIN, d->track, "late start");
	event__set_category(&e, "late");
	write_at(d, &e, value__due(d->block));
	end_at(d, d->track, d->block->start_ns);
}

/* --- samples */

static void write_tick(const struct dispatch *d, const Jankbpf__Sample *sample)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__PerfSample tick = PERFETTO__PROTOS__PERF_SAMPLE__INIT;

	tick.callstack_iid = stacks__get(d->p, sample->stack, sample->n_stack);
	if (!tick.callstack_iid)
		return;
	tick.has_callstack_iid = tick.has_pid = tick.has_tid = true;
	tick.pid = d->block->pid;
	tick.tid = d->block->tid;
	tick.has_cpu = true; /* readers group samples by it */
	tick.cpu = sample->cpu;
	packet.has_timestamp = true;
	packet.timestamp = perfetto__time(d->p, d->block, sample->t_ns);
	packet.perf_sample = &tick;
	perfetto__write(d->p, &packet);
}

/* The waker's event comes first: the first event of a flow is its begin. */
static void write_wake(const struct dispatch *d, const Jankbpf__Waker *waker, uint64_t t_ns)
{
	struct strbuf stack = STRBUF_INIT, name = STRBUF_INIT;
	struct perfetto_event e;
	Jankbpf__Task task = JANKBPF__TASK__INIT;
	uint64_t flow = ++d->p->flow_cnt;

	task.pid = waker->pid;
	task.tid = waker->tid;
	task.comm = waker->comm;
	strbuf__addf(&name, "wakes %s", value__name(d->block->thread));
	event__init(d->p, &e, INSTANT, track__thread(d->p, d->block, &task, NULL),
		    strbuf__str(&name));
	event__set_category(&e, waker->softirq ? "softirq" : "wake");
	note_stack(d->p, &e, waker->stack, waker->n_stack, &stack);
	e.flows[0] = flow;
	e.event.flow_ids = e.flows;
	e.event.n_flow_ids = 1;
	write_at(d, &e, t_ns);
	strbuf__reset(&name);
	strbuf__addf(&name, "woken by %s", value__name(waker->comm));
	event__init(d->p, &e, INSTANT, d->track, strbuf__str(&name));
	event__set_category(&e, waker->softirq ? "softirq" : "wake");
	e.flows[0] = flow;
	e.event.terminating_flow_ids = e.flows;
	e.event.n_terminating_flow_ids = 1;
	write_at(d, &e, t_ns);
	strbuf__free(&name);
	strbuf__free(&stack);
}

/* A slice in the dispatch; none if it has no length. */
static void write_state(const struct dispatch *d, const Jankbpf__Sample *sample, const char *state,
			uint64_t begin_ns, uint64_t end_ns)
{
	struct strbuf waited = STRBUF_INIT, stack = STRBUF_INIT;
	struct perfetto_event e;

	if (begin_ns >= end_ns)
		return;
	event__init(d->p, &e, BEGIN, d->track, state);
	event__set_category(&e, "state");
	wait__add_phrase(&waited, sample->waited_for, 0, sample->syscall, true);
	event__note_text(d->p, &e, "waited", strbuf__str(&waited));
	event__note_text(d->p, &e, "syscall", sample->syscall);
	note_stack(d->p, &e, sample->stack, sample->n_stack, &stack);
	write_at(d, &e, begin_ns);
	end_at(d, d->track, end_ns);
	strbuf__free(&waited);
	strbuf__free(&stack);
}

/* Slices must nest: a span that overlaps the one before, or the dispatch's ends, is cut. */
static void write_span(struct dispatch *d, const Jankbpf__Sample *sample)
{
	uint32_t state = value__state(sample->state);
	uint64_t begin = sample->t_ns > d->at_ns ? sample->t_ns : d->at_ns;
	uint64_t end = sum(sample->t_ns, sample->ns), late, wake;

	end = end < d->end_ns ? end : d->end_ns;
	if (begin >= end)
		return;
	late = state == JANK_STATE_RUNNABLE ? end - begin : sample->runnable_ns;
	wake = late < end - begin ? end - late : begin;
	write_state(d, sample, value__state_word(state), begin, wake);
	if (sample->waker && sample->waker->tid && !sample->open)
		write_wake(d, sample->waker, wake);
	write_state(d, sample, value__state_word(JANK_STATE_RUNNABLE), wake, end);
	d->at_ns = end;
}

/* --- the chain */

/* The end of the last slice of a chain's track. NULL: unknown, as the table is full. */
static uint64_t *chain_end(struct perfetto *p, uint32_t nr)
{
	uint32_t cap = p->chain_cap ? p->chain_cap : 64;
	uint64_t *ends;

	if (!nr)
		return NULL;
	while (cap < nr)
		cap *= 2;
	if (cap != p->chain_cap) {
		ends = reallocarray(p->chain_end_ns, cap, sizeof(*ends));
		if (!ends)
			return NULL;
		for (uint32_t i = p->chain_cap; i < cap; i++)
			ends[i] = 0;
		p->chain_end_ns = ends;
		p->chain_cap = cap;
	}
	return &p->chain_end_ns[nr - 1];
}

static void write_link_slice(const struct dispatch *d, const Jankbpf__Link *link, uint64_t track,
			     uint64_t begin, uint64_t end)
{
	struct strbuf waited = STRBUF_INIT, stack = STRBUF_INIT;
	struct perfetto_event e;

	event__init(d->p, &e, BEGIN, track, link->state ?: "unknown");
	event__set_category(&e, "chain");
	event__note_text(d->p, &e, "role", link->role);
	event__note_text(d->p, &e, "block", d->block->id);
	event__note_text(d->p, &e, "syscall", link->syscall);
	wait__add_phrase(&waited, link->waited_for, 0, link->syscall, true);
	event__note_text(d->p, &e, "waited", strbuf__str(&waited));
	note_stack(d->p, &e, link->stack, link->n_stack, &stack);
	event__write(d->p, &e, begin);
	event__end(d->p, track, end);
	strbuf__free(&waited);
	strbuf__free(&stack);
}

/* Several blocks may have waited for one thread at the same time: the first one has the slice. */
static void write_link(const struct dispatch *d, const Jankbpf__Link *link)
{
	Jankbpf__Task task = JANKBPF__TASK__INIT;
	uint64_t track, begin, end, *last;
	uint32_t nr;

	if (!link->ns || !link->tid)
		return;
	task.pid = link->pid;
	task.tid = link->tid;
	task.comm = link->comm;
	track = track__chain(d->p, d->block, &task, link->process, &nr);
	last = chain_end(d->p, nr);
	begin = perfetto__time(d->p, d->block, link->t_ns);
	end = perfetto__time(d->p, d->block, sum(link->t_ns, link->ns));
	if (last && begin < *last)
		begin = *last;
	if (begin >= end)
		return;
	write_link_slice(d, link, track, begin, end);
	if (last)
		*last = end;
}

void slices__write(struct perfetto *p, const Jankbpf__Block *block)
{
	struct dispatch d = { .p = p, .block = block, .task = JANKBPF__TASK__INIT };

	d.task.pid = block->pid;
	d.task.tid = block->tid;
	d.task.comm = block->thread;
	d.track = track__thread(p, block, &d.task, block->process);
	d.at_ns = block->start_ns;
	d.end_ns = sum(block->start_ns, block->duration_ns);
	write_counters(&d);
	write_late_start(&d);
	if (block->duration_ns) {
		begin_dispatch(&d);
		for (size_t i = 0; i < block->n_samples; i++) {
			if (value__is_tick(block->samples[i]))
				write_tick(&d, block->samples[i]);
			else
				write_span(&d, block->samples[i]);
		}
		end_at(&d, d.track, d.end_ns);
	}
	for (size_t i = 0; i < block->n_chain; i++)
		write_link(&d, block->chain[i]);
}
