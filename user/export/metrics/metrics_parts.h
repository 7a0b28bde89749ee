/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What metrics.c counts and metrics_text.c writes. */
#ifndef JANK_EXPORT_METRICS_METRICS_PARTS_H
#define JANK_EXPORT_METRICS_METRICS_PARTS_H

#include "export/metrics/metrics.h"
#include "export/metrics/series.h"
#include <stdint.h>

struct metrics {
	struct groups loops;   /* process, loop, unit: durations and delays */
	struct groups blocks;  /* unit, process, loop, kind: cnt */
	struct groups kinds;   /* kind: seconds */
	struct groups faults;  /* signature, function: cnt */
	struct groups open;    /* process, loop, unit: seconds of the longest one, now */
	struct groups lost;    /* reason: cnt */
	struct groups limited; /* limit: cnt */
	uint64_t hang_cnt, interval_cnt, interval_ns, own_cpu_ns, own_bytes;
	bool unwatched_known;
	uint64_t unwatched_cnt;
	bool has_spool;
	struct spool_state spool;
	uint64_t paused_ns;
	bool is_paused;
	bool governed; /* there is a budget: then also */
	bool is_blind;
	uint32_t level;
	uint64_t step_cnt, blind_ns, bpf_ns;
};

/* metrics_spool.c: adds the families of the spool. */
void metrics__write_spool(const struct metrics *metrics, enum metrics_format format,
			  struct strbuf *sb);

#endif
