/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Intake: decodes each record, collects dispatches, judges them, and passes blocks to the sink
 * thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "catalogue/wait_note.h"
#include "enrich/block_facts.h"
#include "intake/records.h"
#include "session/session_parts.h"

#define RAW_MAX		 (64 * 1024)
#define MACHINE_FRESH_NS (5 * NS_PER_MS) /* reuse a reading of this age */

/*
 * Reading takes longer with many CPUs or processes; then read less often: at most one part in this
 * many of our CPU time.
 */
#define MACHINE_SHARE	    500 /* for the timer */
#define MACHINE_BLOCK_SHARE 100 /* for blocks */

void session__flush_raw(struct session *s)
{
	struct item item = { .kind = ITEM_RAW, .data = s->raw.data, .size = s->raw.len };

	if (!s->raw.len)
		return;
	if (s->raw.failed || !queue__put(s->queue, &item)) {
		losses__add(&s->losses, LOSS_JOURNAL, 1);
		strbuf__free(&s->raw);
	}
	s->raw = (struct strbuf)STRBUF_INIT;
}

void session__read_machine(struct session *s, uint64_t now_ns)
{
	uint64_t cpu_ns = clock__thread_ns();

	if (now_ns - s->machine_ns < MACHINE_FRESH_NS ||
	    now_ns - s->machine_ns < s->machine_cost_ns * MACHINE_BLOCK_SHARE)
		return;
	s->machine_ns = now_ns;
	machine__read(s->machine, now_ns);
	s->machine_cost_ns = clock__thread_ns() - cpu_ns;
}

void session__machine_due(struct session *s)
{
	uint64_t now = clock__mono_ns();

	if (now - s->machine_ns >= s->machine_cost_ns * MACHINE_SHARE)
		session__read_machine(s, now);
}

static void set_load(struct session *s, const struct jank_rec_block *rec, struct machine_load *ret)
{
	session__read_machine(s, clock__mono_ns());
	machine__load(s->machine, rec->hdr.tgid, rec->start_ns - dispatch__start_delay(rec),
		      rec->start_ns + rec->duration_ns, ret);
	machine__memory(&s->host.mem_total_kb, &s->host.mem_free_kb, &s->host.mem_available_kb);
}

/* The display's history must reach back to the block. */
static void set_frames(const struct session *s, struct block *block)
{
	struct jank_vblanks vblanks;

	for (uint32_t crtc = 0; loader__vblanks(s->loader, crtc, &vblanks); crtc++)
		if (vblanks.cnt)
			display_frames__add(&block->frames, crtc, &vblanks, block__due(block),
					    block->start_ns + block->duration_ns);
}

static void set_throttled(const struct session *s, struct block *block)
{
	uint32_t cpu;

	if (block_facts__cpu(block, &cpu))
		block->facts.live.has_thermal_throttled = block->facts.live.thermal_throttled =
			machine__throttled(s->machine, cpu, block->start_ns,
					   block->start_ns + block->duration_ns);
}

static void count_block(struct session *s, const struct block *block)
{
	if (block->type == BLOCK_HANG) {
		s->hang_cnt++;
		return;
	}
	s->block_cnt++;
}

static void on_dispatch(struct session *s, struct dispatch *dispatch)
{
	struct traced *traced = session__traced(s, dispatch->rec.hdr.tgid);
	struct item item = { .kind = ITEM_BLOCK };
	struct machine_load load = {};
	struct block *block;
	int res;

	set_load(s, &dispatch->rec, &load);
	s->judge.real_offset_ns = clock__real_offset_ns();
	res = judge__dispatch(&s->judge, dispatch, traced ? traced->process : NULL, &load, &block);
	if (res < 0)
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
	if (res <= 0)
		return;
	set_frames(s, block);
	set_throttled(s, block);
	if (traced)
		mark_duty__slow(&traced->duty);
	count_block(s, block);
	session__flush_raw(s); /* the journal gets the evidence before the names */
	item.data = block;
	item.pid = block->pid;
	item.size = block__bytes(block);
	if (!queue__put(s->queue, &item)) {
		losses__add(&s->losses, LOSS_QUEUE_FULL, 1);
		block__free(block);
	}
}

static void note_wait(struct session *s, const struct jank_rec_wait *rec)
{
	const struct traced *traced = session__traced(s, rec->hdr.tgid);
	struct item item = { .kind = ITEM_WAIT, .pid = rec->hdr.tgid };
	struct jank_rec_copy *copy = wait_copies__take(&s->wait_copies, rec);
	const char *exe = traced && traced->process ? traced->process->exe : NULL;
	struct jank_rec_script *script = wait_copies__take_script(&s->wait_copies, rec);
	struct wait_note *note = wait_note__new(rec, exe, copy);

	if (!note) {
		free(script);
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
		return;
	}
	note->script = script;
	item.data = note;
	item.size = wait_note__bytes(note);
	if (!queue__put(s->queue, &item)) {
		losses__add(&s->losses, LOSS_QUEUE_FULL, 1);
		wait_note__free(note);
	}
}

static void on_wait(struct session *s, const struct jank_rec_wait *rec)
{
	if (rec->loop == JANK_LOOP_POLL && !rec->turn_cnt)
		loader__update_poller(s->loader, rec->hdr.tgid);
	else if (!parks__asks(rec) || session__meet_asking(s, rec))
		note_wait(s, rec);
	else
		free(wait_copies__take(&s->wait_copies, rec));
	session__saw_turns(s, rec);
}

static void on_event(struct session *s, const struct event *event)
{
	struct dispatch *dispatch = NULL;

	session__on_process(s, event);
	if (event->kind == JANK_REC_LOOP || event->kind == JANK_REC_THREAD)
		session__saw(s, &event->hdr);
	if (event->kind == JANK_REC_LOOP)
		session__on_new_loop(s, event->hdr.tgid);
	if (event->kind == JANK_REC_WAIT)
		on_wait(s, &event->wait);
	if (event->kind == JANK_REC_EXEC)
		session__on_exec(s, &event->exec);
	loops__set_waiting(s->loops, queue__bytes(s->queue));
	if (loops__event(s->loops, event, &dispatch))
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
	session__maps_until(s, ((const struct jank_rec *)data)->ts_ns);
	if (!queue__put(s->queue, &item)) {
		losses__add(&s->losses, JANK_LOST_COPY, 1);
		free(item.data);
	}
}

static bool is_copy(const void *data, size_t len)
{
	const struct jank_rec *hdr = data;

	return len >= sizeof(*hdr) && (hdr->kind == JANK_REC_COPY || hdr->kind == JANK_REC_SCRIPT);
}

void session__on_record(void *ctx, const void *data, size_t len)
{
	struct session *s = ctx;
	struct event event;
	int res;

	if (is_copy(data, len)) {
		res = wait_copies__put(&s->wait_copies, data, len);
		if (res < 0)
			losses__add(&s->losses, res == -ENOMEM ? LOSS_NO_MEMORY : LOSS_BAD_RECORD,
				    1);
		if (!res)
			on_copy(s, data, len);
		return;
	}
	if (s->journal) {
		strbuf__add(&s->raw, data, len);
		if (s->raw.len >= RAW_MAX)
			session__flush_raw(s);
	}
	res = decode__record(data, len, &event);
	if (res)
		losses__add(&s->losses, res == -ENOTSUP ? LOSS_UNKNOWN_RECORD : LOSS_BAD_RECORD, 1);
	else
		on_event(s, &event);
}

/*
 * --- mappings of the traced processes
 *
 * The sink thread gets them in order with the stack copies. Each copy is then unwound with the
 * libraries that were mapped when it was taken.
 */

static void put(struct session *s, const struct item *item)
{
	if (!queue__put(s->queue, item)) {
		losses__add(&s->losses, LOSS_QUEUE_FULL, 1);
		free(item->data);
	}
}

static bool wants(void *ctx, const char *name)
{
	return true;
}

static void on_map(void *ctx, const struct mmaps_map *map)
{
	struct session *s = ctx;
	size_t len = strlen(map->path) + 1;
	struct item item = { .kind = ITEM_MAP, .pid = map->pid };
	struct mapping *mapping;

	if (!session__traced(s, map->pid))
		return;
	mapping = malloc(sizeof(*mapping) + len);
	if (!mapping) {
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
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
	put(s, &item);
}

/* It is not known which mappings were lost: read all again. */
static void on_lost(void *ctx, uint64_t cnt)
{
	struct session *s = ctx;
	const struct traced *traced;

	for (traced = s->traced; traced; traced = traced->hh.next)
		if (!traced->ended)
			put(s, &(struct item){ .kind = ITEM_MAP, .pid = traced->pid });
}

static void on_maps(void *ctx, uint64_t arg)
{
	struct session *s = ctx;

	(void)arg;
	session__maps_until(s, clock__mono_ns());
}

void session__open_maps(struct session *s)
{
	const struct mmaps_ops ops = {
		.wants = wants, .on_map = on_map, .on_lost = on_lost, .ctx = s, .lazy = true
	};
	struct err err = {};

	if (mmaps__new(&ops, &s->maps, &err))
		log__verbose("libraries that are loaded and unloaded within a block may have no "
			     "names: %s",
			     err.msg);
	else
		event_loop__add(s->watch, mmaps__fd(s->maps), on_maps, s, 0);
}

void session__maps_until(struct session *s, uint64_t t_ns)
{
	if (s->maps)
		mmaps__consume_until(s->maps, t_ns);
}
