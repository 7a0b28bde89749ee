/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the intake thread takes in: records of the probes, mappings, readings of the machine. */
#ifndef JANK_SESSION_INTAKE_H
#define JANK_SESSION_INTAKE_H

#include "base/strbuf.h"
#include "catalogue/wait_note.h"
#include "enrich/machine.h"
#include "intake/records.h"
#include "model/loop.h"
#include "session/event_loop.h"
#include "session/process_table.h"
#include "uprobes/mmaps.h"
#include <stdbool.h>
#include <stdint.h>

struct session;

/* --- record → event → dispatch → block → queue */

struct intake {
	struct judge judge;
	struct loops *loops;
	struct wait_copies wait_copies;
	struct strbuf raw;    /* records on their way to the journal */
	uint64_t attached_ns; /* when all probes were attached (CLOCK_MONOTONIC) */
	bool early_told;      /* that blocks before that may lack stacks */
};

void session__on_record(void *session, const void *data, size_t len);
void session__flush_raw(struct session *s);

/* --- mappings of the traced processes, in order with the stack copies */

struct mapping_events {
	struct process_table *processes; /* borrowed, as is losses */
	struct losses *losses;
	struct mmaps *mmaps; /* NULL: the kernel gives no events */
};

void mapping_events__open(struct mapping_events *events, struct event_loop *loop);
void mapping_events__until(struct mapping_events *events,
			   uint64_t t_ns); /* passes on earlier ones */
void mapping_events__close(struct mapping_events *events);

/* --- what the machine did meanwhile, at a limited cost */

struct machine_readings {
	struct machine *machine;
	uint64_t read_ns, cost_ns; /* time of the last reading; CPU time that it cost us */
	uint64_t block_ns;	   /* time of the last block */
	bool always_on;		   /* the run has no end: the timer reads less often */
	int timer_fd;
	uint64_t period_ns; /* of the timer */
};

void machine_readings__read(struct machine_readings *readings, uint64_t now_ns);
/* The same, called by a timer. Sets period_ns: without blocks an agent reads once a second. */
void machine_readings__due(struct machine_readings *readings);

#endif
