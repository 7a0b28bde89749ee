/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets of a Perfetto trace, all on one sequence, and events in them. */
#include "export/arena.h"
#include "export/report/perfetto.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "export/values.h"

#define SEQUENCE_ID  1
#define BOOT_ID_LEN  36
#define NEEDS_STATE  PERFETTO__PROTOS__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE
#define CLEARS_STATE PERFETTO__PROTOS__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_INCREMENTAL_STATE_CLEARED

/* A trace is one message: traces after each other are one, too. */
void perfetto__write(struct perfetto *p, Perfetto__Protos__TracePacket *packet)
{
	struct report_out *out = p->report.out;
	Perfetto__Protos__Trace trace = PERFETTO__PROTOS__TRACE__INIT;

	packet->has_trusted_packet_sequence_id = true;
	packet->trusted_packet_sequence_id = SEQUENCE_ID;
	packet->has_sequence_flags = true;
	packet->sequence_flags |= NEEDS_STATE;
	trace.packet = &packet;
	trace.n_packet = 1;
	strbuf__add_message(&out->bytes, &trace.base);
	report_out__added(out);
}

void perfetto__write_defaults(struct perfetto *p, Perfetto__Protos__TracePacket *packet)
{
	Perfetto__Protos__TracePacketDefaults defaults =
		PERFETTO__PROTOS__TRACE_PACKET_DEFAULTS__INIT;

	defaults.has_timestamp_clock_id = true;
	defaults.timestamp_clock_id = PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC;
	packet->trace_packet_defaults = &defaults;
	packet->sequence_flags = CLEARS_STATE;
	perfetto__write(p, packet);
}

static void write_clocks(struct perfetto *p, uint64_t mono_ns)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__ClockSnapshot snapshot = PERFETTO__PROTOS__CLOCK_SNAPSHOT__INIT;
	Perfetto__Protos__ClockSnapshot__Clock clocks[3],
		*list[3] = { &clocks[0], &clocks[1], &clocks[2] };

	for (int i = 0; i < 3; i++) {
		perfetto__protos__clock_snapshot__clock__init(&clocks[i]);
		clocks[i].has_clock_id = clocks[i].has_timestamp = true;
	}
	clocks[0].clock_id = PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC;
	clocks[0].timestamp = mono_ns;
	clocks[1].clock_id = PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_REALTIME;
	clocks[1].timestamp = mono_ns + (uint64_t)p->real_offset_ns;
	clocks[2].clock_id = PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_BOOTTIME;
	clocks[2].timestamp = mono_ns + (uint64_t)p->boot_offset_ns;
	snapshot.clocks = list;
	snapshot.n_clocks = p->has_boottime ? 3 : 2;
	snapshot.has_primary_trace_clock = true;
	snapshot.primary_trace_clock = PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC;
	packet.clock_snapshot = &snapshot;
	packet.has_first_packet_on_sequence = packet.first_packet_on_sequence = true;
	perfetto__write_defaults(p, &packet);
}

static int64_t real_offset(const Jankbpf__Block *block)
{
	return (int64_t)(value__real_ns(block, block->start_ns) - block->start_ns);
}

/* A block's id begins with the boot id. */
static void set_boot(char ret[BOOT_ID_LEN + 1], const Jankbpf__Block *block)
{
	size_t len = block->id ? strnlen(block->id, BOOT_ID_LEN) : 0;

	memcpy(ret, block->id ?: "", len);
	ret[len] = '\0';
}

void perfetto__begin(struct perfetto *p, const Jankbpf__Block *block)
{
	if (p->begun)
		return;
	p->begun = true;
	if (block) {
		set_boot(p->boot, block);
		p->real_offset_ns = real_offset(block);
	}
	write_clocks(p, block ? block->start_ns : 0);
}

uint64_t perfetto__time(const struct perfetto *p, const Jankbpf__Block *block, uint64_t t_ns)
{
	char boot[BOOT_ID_LEN + 1];

	set_boot(boot, block);
	if (!strcmp(boot, p->boot))
		return t_ns;
	return t_ns + (uint64_t)(real_offset(block) - p->real_offset_ns);
}

/* --- texts */

char *perfetto__text(struct perfetto *p, const char *str)
{
	struct strbuf clean = STRBUF_INIT;
	char **pool;

	if (!str || text__is_clean(str))
		return (char *)str;
	text__add_clean(&clean, str);
	pool = reallocarray(p->pool, p->pool_cnt + 1, sizeof(*pool));
	if (pool)
		p->pool = pool;
	if (!pool || clean.failed) {
		strbuf__free(&clean);
		return NULL;
	}
	return p->pool[p->pool_cnt++] = clean.data;
}

void perfetto__free_pool(struct perfetto *p)
{
	while (p->pool_cnt)
		free(p->pool[--p->pool_cnt]);
	free(p->pool);
	p->pool = NULL;
}

/* --- events */

void event__init(struct perfetto *p, struct perfetto_event *e,
		 Perfetto__Protos__TrackEvent__Type type, uint64_t track, const char *name)
{
	perfetto__protos__track_event__init(&e->event);
	e->event.has_type = e->event.has_track_uuid = true;
	e->event.type = type;
	e->event.track_uuid = track;
	e->event.name = perfetto__text(p, name);
	e->event.debug_annotations = e->list;
}

void event__set_category(struct perfetto_event *e, const char *category)
{
	e->categories[0] = (char *)category;
	e->event.categories = e->categories;
	e->event.n_categories = 1;
}

static Perfetto__Protos__DebugAnnotation *add_note(struct perfetto_event *e, const char *name)
{
	Perfetto__Protos__DebugAnnotation *note;

	if (e->event.n_debug_annotations == PERFETTO_NOTES_MAX)
		return NULL;
	note = &e->notes[e->event.n_debug_annotations];
	e->list[e->event.n_debug_annotations++] = note;
	perfetto__protos__debug_annotation__init(note);
	note->name = (char *)name;
	return note;
}

void event__note_text(struct perfetto *p, struct perfetto_event *e, const char *name,
		      const char *text)
{
	Perfetto__Protos__DebugAnnotation *note = text && *text ? add_note(e, name) : NULL;

	if (note)
		note->string_value = perfetto__text(p, text);
}

void event__note_number(struct perfetto_event *e, const char *name, uint64_t number)
{
	Perfetto__Protos__DebugAnnotation *note = add_note(e, name);

	if (!note)
		return;
	note->has_uint_value = true;
	note->uint_value = number;
}

void event__write(struct perfetto *p, struct perfetto_event *e, uint64_t t_ns)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	packet.has_timestamp = true;
	packet.timestamp = t_ns;
	packet.track_event = &e->event;
	perfetto__write(p, &packet);
}

void event__end(struct perfetto *p, uint64_t track, uint64_t t_ns)
{
	struct perfetto_event e;

	event__init(p, &e, PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END, track, NULL);
	event__write(p, &e, t_ns);
}
