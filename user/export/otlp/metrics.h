/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metrics of OTLP: metrics.c counts records, points.c makes data points. */
#ifndef JANK_EXPORT_OTLP_METRICS_H
#define JANK_EXPORT_OTLP_METRICS_H

#include "export/metrics/series.h"
#include "export/otlp/otlp.h"

enum metric {
	METRIC_DURATION,
	METRIC_START_DELAY,
	METRIC_BLOCKS,
	METRIC_BLOCKED_TIME,
	METRIC_LOST,
	METRIC_LIMITED,
	METRIC_OPEN,
	METRIC_OPEN_LONGEST,
	METRIC_FACTS /* those of facts__otlps from here on */
};

/* Wall time in ns. */
struct span {
	uint64_t start_ns, end_ns;
};

/* Where a data point belongs. */
struct place {
	struct group *group;
	struct span span;
	struct list attributes; /* borrowed by its points */
};

/* Each adds a data point. A sum of 0 and an empty histogram add none. */
void point__count(struct otlp *o, const struct place *place, enum metric metric, uint64_t cnt);
void point__seconds(struct otlp *o, const struct place *place, enum metric metric, uint64_t ns);
/* max_ns: the longest one; 0: not known. */
void point__hist(struct otlp *o, const struct place *place, enum metric metric,
		 const struct metrics_hist *hist, uint64_t max_ns);

/* The metrics of a group that have points. */
Otlp__ResourceMetrics *otlp__resource_metrics(struct otlp *o, const struct group *group);

#endif
