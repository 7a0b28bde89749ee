/* SPDX-License-Identifier: GPL-2.0 */
/* The intake: each record is decoded, gathered, judged, and a block handed to the sink thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/session_parts.h"
#include "base/clock.h"
#include "base/log.h"
#include "intake/decode.h"

#define RAW_MAX		 (64 * 1024)
#define MACHINE_FRESH_NS (5 * NS_PER_MS) /* a reading this new need not be repeated */

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
	if (now_ns - s->machine_ns < MACHINE_FRESH_NS)
		return;
	s->machine_ns = now_ns;
	machine__read(s->machine, now_ns);
}

static void set_load(struct session *s, const struct jank_rec_block *rec, struct machine_load *ret)
{
	session__read_machine(s, clock__mono_ns());
	machine__load(s->machine, rec->hdr.tgid, rec->start_ns, rec->start_ns + rec->duration_ns,
		      ret);
	machine__memory(&s->host.mem_total_kb, &s->host.mem_free_kb, &s->host.mem_available_kb);
}

static void count_block(struct session *s, const struct block *block)
{
	if (block->type == BLOCK_HANG) {
		s->hang_cnt++;
		return;
	}
	s->block_cnt++;
	if (s->opts->count && s->block_cnt >= s->opts->count) {
		s->stop = true;
		s->own_end = true;
	}
}

static void on_dispatch(struct session *s, struct dispatch *dispatch)
{
	const struct traced *traced = session__traced(s, dispatch->rec.hdr.tgid);
	struct item item = { .kind = ITEM_BLOCK };
	struct machine_load load = {};
	struct block *block;
	int res;

	if (s->opts->count && s->block_cnt >= s->opts->count)
		return;
	set_load(s, &dispatch->rec, &load);
	s->judge.real_offset_ns = clock__real_offset_ns();
	res = judge__dispatch(&s->judge, dispatch, traced ? traced->process : NULL, &load, &block);
	if (res < 0)
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
	if (res <= 0)
		return;
	count_block(s, block);
	session__flush_raw(s); /* the journal has the evidence before the names */
	item.data = block;
	item.size = block__bytes(block);
	if (!queue__put(s->queue, &item)) {
		losses__add(&s->losses, LOSS_QUEUE_FULL, 1);
		block__free(block);
	}
}

static void on_event(struct session *s, const struct event *event)
{
	struct dispatch *dispatch = NULL;

	if (event->kind == JANK_REC_LOOP)
		session__on_new_loop(s, event->hdr.tgid);
	if (event->kind == JANK_REC_EXEC)
		session__on_exec(s, &event->hdr);
	if (loops__event(s->loops, event, &dispatch))
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
	if (dispatch) {
		on_dispatch(s, dispatch);
		dispatch__free(dispatch);
	}
}

void session__on_record(void *ctx, const void *data, size_t len)
{
	struct session *s = ctx;
	struct event event;
	int res;

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
