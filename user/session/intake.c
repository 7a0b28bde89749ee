/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Intake: decodes each record, collects dispatches, judges them, and passes blocks, stack copies
 * and mappings to the sink thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/proto.h"
#include "catalogue/wait_note.h"
#include "enrich/block_facts.h"
#include "intake/records.h"
#include "session/session_parts.h"

#define RAW_MAX		 (64 * 1024)
#define MACHINE_FRESH_NS (5 * NS_PER_MS) /* reuse a reading of this age */

/*
 * Reading takes longer with many CPUs or processes; then it is done less often: at most one part in
 * this many of our CPU time.
 */
#define MACHINE_TIMER_SHARE  500	       /* for the timer */
#define MACHINE_ALWAYS_SHARE 2000	       /* the same, of an agent */
#define MACHINE_BLOCK_SHARE  100	       /* for blocks */
#define MACHINE_NS	     (100 * NS_PER_MS) /* periods of the timer */
#define MACHINE_ALWAYS_NS    (250 * NS_PER_MS) /* of an agent, which is to cost nearly nothing */
#define MACHINE_REST_NS	     NS_PER_SEC	       /* of an agent after so long without a block: */
#define MACHINE_QUIET_NS     (10 * NS_PER_SEC)

void session__flush_raw(struct session *s)
{
	struct item item = { .kind = ITEM_RAW,
			     .data = s->intake.raw.data,
			     .size = s->intake.raw.len };

	if (!s->intake.raw.len)
		return;
	if (s->intake.raw.failed || queue__put(s->queue, &item) != QUEUE_ROOM) {
		losses__add(&s->losses, LOSS_JOURNAL, 1);
		strbuf__free(&s->intake.raw);
	}
	s->intake.raw = (struct strbuf)STRBUF_INIT;
}

/* --- what the machine did meanwhile */

void machine_readings__read(struct machine_readings *readings, uint64_t now_ns)
{
	uint64_t cpu_ns = clock__thread_ns();

	if (now_ns - readings->read_ns < MACHINE_FRESH_NS ||
	    now_ns - readings->read_ns < readings->cost_ns * MACHINE_BLOCK_SHARE)
		return;
	readings->read_ns = now_ns;
	machine__read(readings->machine, now_ns);
	readings->cost_ns = clock__thread_ns() - cpu_ns;
}

void machine_readings__due(struct machine_readings *readings)
{
	unsigned share = readings->always_on ? MACHINE_ALWAYS_SHARE : MACHINE_TIMER_SHARE;
	uint64_t now_ns = clock__mono_ns();

	if (now_ns - readings->read_ns >= readings->cost_ns * share)
		machine_readings__read(readings, now_ns);
	if (!readings->always_on)
		readings->period_ns = MACHINE_NS;
	else
		readings->period_ns = now_ns - readings->block_ns > MACHINE_QUIET_NS
					      ? MACHINE_REST_NS
					      : MACHINE_ALWAYS_NS;
}

/* At the end of a dispatch. */
static void read_machine(struct machine_readings *readings, struct host_info *host)
{
	readings->block_ns = clock__mono_ns();
	machine_readings__read(readings, readings->block_ns);
	machine__memory(&host->mem_total_kb, &host->mem_free_kb, &host->mem_available_kb);
}

/* The display's history must reach back to the block. */
static void set_frames(const struct loader *loader, struct block *block)
{
	struct jank_vblanks vblanks;

	for (uint32_t crtc = 0; loader__vblanks(loader, crtc, &vblanks); crtc++)
		if (vblanks.cnt &&
		    (block->live->frames =
			     block->live->frames ?: proto__new(&jankbpf__display__descriptor)))
			display_frames__add(block->live->frames, crtc, &vblanks, block__due(block),
					    block->start_ns + block->duration_ns);
}

static void set_throttled(const struct machine *machine, struct block *block)
{
	Jankbpf__Scheduling *facts = block->live->scheduling;
	uint32_t cpu;

	if (block_facts__cpu(block, &cpu))
		facts->has_thermal_throttled = facts->thermal_throttled = machine__throttled(
			machine, cpu, block->start_ns, block->start_ns + block->duration_ns);
}

/* --- dispatches and blocks */

/* See loader_opts.in_parts. */
static void tell_early(struct intake *intake, const struct jank_rec_block *rec)
{
	if (intake->early_told || !rec->shed_cnt ||
	    rec->start_ns + rec->duration_ns > intake->attached_ns)
		return;
	intake->early_told = true;
	log__info("blocks of the first %llu ms lack stacks: probes came later",
		  (intake->attached_ns - rec->start_ns) / NS_PER_MS + 1);
}

static void withhold(struct session *s, struct block *block, enum not_shown_reason reason)
{
	if (!block->trial)
		not_shown__add_block(&s->intake.judge.not_shown, reason, block);
	block__free(block);
}

static void on_dispatch(struct session *s, struct dispatch *dispatch)
{
	struct process_entry *process = process_table__find(&s->processes, dispatch->rec.hdr.tgid);
	struct judge judge = s->intake.judge;
	struct item item = { .kind = ITEM_BLOCK };
	struct block *block;
	int res;

	read_machine(&s->machine, &s->host);
	s->intake.judge.real_offset_ns = judge.real_offset_ns = clock__real_offset_ns();
	if (process && process->limit_ns)
		judge.threshold_ns = process->limit_ns;
	else if (session__options(s)->override_cnt)
		judge.threshold_ns = override__least_of_all(session__options(s));
	res = judge__dispatch(&judge, dispatch, process ? process->identity : NULL, &block);
	s->intake.judge.not_shown = judge.not_shown;
	if (res < 0)
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
	if (res > 0 && s->pause.on) /* a hang, or on its way when the pause began */
		withhold(s, block, NOT_SHOWN_PAUSED);
	if (res <= 0 || s->pause.on)
		return;
	tell_early(&s->intake, &dispatch->rec);
	block->reduced = governor__word(&s->govern.gov);
	machine__load(s->machine.machine, (pid_t)block->pid, block__due(block),
		      block->start_ns + block->duration_ns, block->live->cpu);
	set_frames(s->loader, block);
	set_throttled(s->machine.machine, block);
	if (process)
		mark_duty__slow(&process->duty);
	session__flush_raw(s); /* the journal gets the evidence before the names */
	item.data = block;
	item.pid = block->pid;
	item.size = block__bytes(block);
	if (!process_table__queue(&s->processes, &item, LOSS_QUEUE_FULL, JANK_SHARE_RECORD))
		withhold(s, block, NOT_SHOWN_QUEUE);
}

static void queue_wait(struct session *s, const struct jank_rec_wait *rec)
{
	const struct process_entry *process = process_table__find(&s->processes, rec->hdr.tgid);
	struct item item = { .kind = ITEM_WAIT, .pid = rec->hdr.tgid };
	struct jank_rec_copy *copy = wait_copies__take(&s->intake.wait_copies, rec);
	const char *exe = process && process->identity ? process->identity->exe : NULL;
	struct jank_rec_script *script = wait_copies__take_script(&s->intake.wait_copies, rec);
	struct wait_note *note = wait_note__new(rec, exe, copy);

	if (!note) {
		free(script);
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
		return;
	}
	note->script = script;
	item.data = note;
	item.size = wait_note__bytes(note);
	if (!process_table__queue(&s->processes, &item, LOSS_QUEUE_FULL, JANK_SHARE_RECORD))
		wait_note__free(note);
}

static void on_wait(struct session *s, const struct jank_rec_wait *rec)
{
	struct process_entry *process = process_table__find(&s->processes, rec->hdr.tgid);

	if (rec->loop == JANK_LOOP_POLL && !rec->turn_cnt)
		loader__update_poller(s->loader, rec->hdr.tgid);
	else if (!parks__asks(rec) || session__on_asking(s, rec))
		queue_wait(s, rec);
	else
		free(wait_copies__take(&s->intake.wait_copies, rec));
	if (rec->turn_cnt && process)
		formerly__on_wait(process, s->selection.catalogue, rec, s->counts.start_ns,
				  &s->losses);
}

static void on_event(struct session *s, const struct event *event)
{
	struct dispatch *dispatch = NULL;

	session__on_process(s, event);
	if (event->kind == JANK_REC_LOOP || event->kind == JANK_REC_THREAD)
		process_table__saw(&s->processes, &event->hdr);
	if (event->kind == JANK_REC_LOOP) {
		session__on_new_loop(s, event->hdr.tgid);
		openings__on_loop(&s->openings, &event->loop);
	}
	if (event->kind == JANK_REC_WAIT)
		on_wait(s, &event->wait);
	if (event->kind == JANK_REC_MARKS)
		session__on_busy_marks(s, &event->marks);
	if (event->kind == JANK_REC_EXEC)
		session__on_exec(s, &event->exec);
	loops__set_waiting(s->intake.loops, queue__bytes(s->queue));
	if (loops__event(s->intake.loops, event, &dispatch))
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
	if (dispatch) {
		on_dispatch(s, dispatch);
		dispatch__free(dispatch);
	}
}

/*
 * Passes a stack copy to the sink thread, which unwinds it. Copies are large: a journal gets the
 * result instead (answers_writer__callers).
 */
static void on_copy(struct session *s, const void *data, size_t len)
{
	struct item item = { .kind = ITEM_COPY, .data = malloc(len), .size = len };

	if (!item.data) {
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
		return;
	}
	memcpy(item.data, data, len);
	item.pid = ((const struct jank_rec *)data)->tgid;
	mapping_events__until(&s->mappings, ((const struct jank_rec *)data)->ts_ns);
	if (!process_table__queue(&s->processes, &item, JANK_LOST_COPY, JANK_SHARE_STACK))
		free(item.data);
}

static bool is_copy(const void *data, size_t len)
{
	const struct jank_rec *hdr = data;

	return len >= sizeof(*hdr) && (hdr->kind == JANK_REC_COPY || hdr->kind == JANK_REC_SCRIPT);
}

/* No probe sends an invalid record: -v says which one it was, so that its cause can be found. */
static void lose_record(struct session *s, const void *data, size_t len, int res)
{
	struct jank_rec hdr = {};

	if (res == -ENOMEM) {
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
		return;
	}
	memcpy(&hdr, data, len < sizeof(hdr) ? len : sizeof(hdr));
	losses__add(&s->losses, res == -ENOTSUP ? LOSS_UNKNOWN_RECORD : LOSS_BAD_RECORD, 1);
	log__verbose("a record (%s, flags 0x%x, %zu bytes) of thread %u is not valid",
		     record__name(hdr.kind), hdr.flags, len, hdr.tid);
}

void session__on_record(void *ctx, const void *data, size_t len)
{
	struct session *s = ctx;
	struct event event;
	int res;

	if (is_copy(data, len)) {
		res = wait_copies__put(&s->intake.wait_copies, data, len);
		if (res < 0)
			lose_record(s, data, len, res);
		if (!res)
			on_copy(s, data, len);
		return;
	}
	if (s->sink.journal) {
		strbuf__add(&s->intake.raw, data, len);
		if (s->intake.raw.len >= RAW_MAX)
			session__flush_raw(s);
	}
	res = decode__record(data, len, &event);
	if (res)
		lose_record(s, data, len, res);
	else
		on_event(s, &event);
}

/*
 * --- mappings. The sink thread gets them in order with the stack copies. Each copy is then unwound
 * with the libraries that were mapped when it was taken.
 */

static void put_mapping(struct mapping_events *events, struct item *item)
{
	if (!process_table__queue(events->processes, item, LOSS_QUEUE_FULL, JANK_SHARE_RECORD))
		free(item->data);
}

static bool wants_mapping(void *ctx, const char *name)
{
	return true;
}

static void on_map(void *ctx, const struct mmaps_map *map)
{
	struct mapping_events *events = ctx;
	size_t len = strlen(map->path) + 1;
	struct item item = { .kind = ITEM_MAP, .pid = map->pid };
	struct mapping *mapping;

	if (!process_table__find(events->processes, map->pid))
		return;
	mapping = malloc(sizeof(*mapping) + len);
	if (!mapping) {
		losses__add(events->losses, LOSS_NO_MEMORY, 1);
		return;
	}
	*mapping = (struct mapping){ .start = map->start,
				     .end = map->start + map->len,
				     .offset = map->file_offset,
				     .dev = map->dev,
				     .inode = map->inode,
				     .t_ns = map->t_ns,
				     .path = memcpy(mapping + 1, map->path, len) };
	item.data = mapping;
	item.size = sizeof(*mapping) + len;
	put_mapping(events, &item);
}

/* It is not known which mappings were lost: read all again. */
static void on_lost(void *ctx, uint64_t cnt)
{
	struct mapping_events *events = ctx;
	const struct process_entry *process;

	for (process = events->processes->entries; process; process = process->hh.next)
		if (!process->ended)
			put_mapping(events,
				    &(struct item){ .kind = ITEM_MAP, .pid = process->pid });
}

static void on_readable(void *ctx, uint64_t arg)
{
	(void)arg;
	mapping_events__until(ctx, clock__mono_ns());
}

void mapping_events__open(struct mapping_events *events, struct event_loop *loop)
{
	const struct mmaps_ops ops = { .wants = wants_mapping,
				       .on_map = on_map,
				       .on_lost = on_lost,
				       .ctx = events,
				       .lazy = true };
	struct err err = {};

	if (mmaps__new(&ops, &events->mmaps, &err))
		log__verbose("libraries that are loaded and unloaded within a block may have no "
			     "names: %s",
			     err.msg);
	else
		event_loop__add(loop, mmaps__fd(events->mmaps), on_readable, events, 0);
}

void mapping_events__until(struct mapping_events *events, uint64_t t_ns)
{
	if (events->mmaps)
		mmaps__consume_until(events->mmaps, t_ns);
}

void mapping_events__close(struct mapping_events *events)
{
	mmaps__free(events->mmaps);
}
