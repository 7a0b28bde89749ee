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
	uint64_t interval_cnt, interval_ns;
	bool has_spool;
	struct spool_state spool;
	struct metric_value {
		uint64_t number; /* in the unit of the record */
		bool is_shown;
	} values[]; /* of facts__metrics */
};

/* metrics_spool.c: adds the families of the spool. */
void metrics__write_spool(const struct metrics *metrics, enum metrics_format format,
			  struct strbuf *sb);

#endif
