/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internals of the Perfetto report: packets of one sequence, its tracks, and its interned stacks.
 * Errors of the output are kept in report_out; the report looks at them after each record.
 */
#ifndef JANK_EXPORT_REPORT_PERFETTO_H
#define JANK_EXPORT_REPORT_PERFETTO_H

#include "export/report/report.h"
#include "schema/perfetto.pb-c.h"

#define PERFETTO_NOTES_MAX 16 /* annotations of an event */

/* Numbers of one table of InternedData. They go on after the table was cleared. */
struct perfetto_ids {
	struct intern *keys;
	uint64_t base;
};

struct perfetto_stacks {
	struct perfetto_ids functions, frames, callstacks, build_ids, paths, sources, mappings;
	uint64_t *frame_ids; /* of the current stack */
	size_t frame_cap;
};

struct perfetto {
	struct report report;
	struct perfetto_stacks stacks;
	struct intern *tracks;	/* uuids that have a descriptor */
	uint64_t *chain_end_ns; /* of the track number n: end of its last slice, in [n - 1] */
	uint32_t chain_cap;
	bool begun;		/* the first packet was written */
	char boot[40];		/* boot id of the first block, whose clock is the trace's */
	int64_t real_offset_ns; /* of that clock: CLOCK_REALTIME minus CLOCK_MONOTONIC */
	bool has_boottime;	/* of a history: its events are on CLOCK_BOOTTIME */
	int64_t boot_offset_ns; /* CLOCK_BOOTTIME minus CLOCK_MONOTONIC */
	uint64_t flow_cnt;
	char **pool; /* cleaned texts of the current record */
	size_t pool_cnt;
};

/* --- perfetto_packets.c */

/* Writes a packet of the sequence; its timestamp is set. */
void perfetto__write(struct perfetto *p, Perfetto__Protos__TracePacket *packet);
/* Writes the first packet: clocks, defaults. block may be NULL. */
void perfetto__begin(struct perfetto *p, const Jankbpf__Block *block);
/* Adds the defaults to a packet, which clears the sequence's interned data, and writes it. */
void perfetto__write_defaults(struct perfetto *p, Perfetto__Protos__TracePacket *packet);
/* str by the rule of text__add_clean, until the end of the record. NULL for NULL. */
char *perfetto__text(struct perfetto *p, const char *str);
void perfetto__free_pool(struct perfetto *p);

/* A time of the block on the trace's clock. Another boot's times are placed by wall time. */
uint64_t perfetto__time(const struct perfetto *p, const Jankbpf__Block *block, uint64_t t_ns);

/* An event under construction. */
struct perfetto_event {
	Perfetto__Protos__TrackEvent event;
	Perfetto__Protos__DebugAnnotation notes[PERFETTO_NOTES_MAX], *list[PERFETTO_NOTES_MAX];
	char *categories[1];
	uint64_t flows[1];
};

/* name may be NULL at the end of a slice. */
void event__init(struct perfetto *p, struct perfetto_event *e,
		 Perfetto__Protos__TrackEvent__Type type, uint64_t track, const char *name);
void event__set_category(struct perfetto_event *e, const char *category); /* borrowed */
/* Texts are borrowed. NULL, and notes without room, are left out. */
void event__note_text(struct perfetto *p, struct perfetto_event *e, const char *name,
		      const char *text);
void event__note_number(struct perfetto_event *e, const char *name, uint64_t number);
void event__write(struct perfetto *p, struct perfetto_event *e, uint64_t t_ns);
/* Ends a slice. */
void event__end(struct perfetto *p, uint64_t track, uint64_t t_ns);

/* --- perfetto_tracks.c: each makes the track's descriptor if it is new, and returns its uuid */

/* process: name, or NULL if unknown. */
uint64_t track__thread(struct perfetto *p, const Jankbpf__Block *block, const Jankbpf__Task *task,
		       const char *process);
/* What other threads waited for, below the thread. *ret_nr: the number of the track, or 0. */
uint64_t track__chain(struct perfetto *p, const Jankbpf__Block *block, const Jankbpf__Task *task,
		      const char *process, uint32_t *ret_nr);
/* A track of its own. */
uint64_t track__named(struct perfetto *p, const Jankbpf__Block *block, const char *name);
/* A value of the machine, with its time. */
void track__count(struct perfetto *p, const Jankbpf__Block *block, const char *name, double value);

/* --- perfetto_stacks.c */

int stacks__init(struct perfetto_stacks *stacks);
void stacks__free(struct perfetto_stacks *stacks);
/* The number of a callstack, whose entries are written if they are new. 0: an empty stack. */
uint64_t stacks__get(struct perfetto *p, Jankbpf__Frame *const *stack, size_t cnt);

/* --- perfetto_slices.c: the events of a block */

void slices__write(struct perfetto *p, const Jankbpf__Block *block);

/* --- perfetto_switches.c: switches and wake-ups of each CPU. 0 or -ENOMEM. */

int switches__write(struct perfetto *p, const Jankbpf__History *history);

#endif
