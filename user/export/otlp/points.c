/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data points, and the metrics that they belong to. Sums and histograms are deltas: an interval has
 * what happened in it. Their times are those of the interval.
 */
#include "export/otlp/metrics.h"

#include "base/clock.h"
#include "export/facts.h"

enum kind { HISTOGRAM, SUM, GAUGE };

static const struct metric_type {
	const char *name, *unit, *description;
	enum kind kind;
} metric_types[METRIC_FACTS] = {
	[METRIC_DURATION] = { "jankbpf.dispatch.duration", "s", "Durations of dispatches.",
			      HISTOGRAM },
	[METRIC_START_DELAY] = { "jankbpf.dispatch.start_delay", "s",
				 "How late dispatches began whose loop slept before.", HISTOGRAM },
	[METRIC_BLOCKS] = { "jankbpf.blocks", "{block}",
			    "Dispatches whose delay exceeded the threshold.", SUM },
	[METRIC_BLOCKED_TIME] = { "jankbpf.blocked.time", "s", "Delays of blocks.", SUM },
	[METRIC_LOST] = { "jankbpf.lost", "{loss}", "What the counts and records miss, by reason.",
			  SUM },
	[METRIC_LIMITED] = { "jankbpf.limited", "{block}",
			     "Blocks that are no records, because of a limit.", SUM },
	[METRIC_OPEN] = { "jankbpf.open_dispatch.count", "{dispatch}",
			  "Dispatches that had not ended, longer than a tenth of the threshold.",
			  GAUGE },
	[METRIC_OPEN_LONGEST] = { "jankbpf.open_dispatch.duration", "s",
				  "The longest dispatch that had not ended.", GAUGE },
};

size_t otlp__list_cnt(void)
{
	return METRIC_FACTS + facts__otlp_cnt;
}

static struct metric_type type_of(enum metric metric)
{
	const struct fact *fact = &facts__otlps[metric - METRIC_FACTS];

	if (metric < METRIC_FACTS)
		return metric_types[metric];
	return (struct metric_type){ fact->name, fact->unit, fact->text,
				     fact->is_sum ? SUM : GAUGE };
}

static Otlp__NumberDataPoint *add_point(struct otlp *o, const struct place *place,
					enum metric metric)
{
	Otlp__NumberDataPoint *ret = OTLP_NEW(o, number_data_point);

	ret->attributes = (Otlp__KeyValue **)place->attributes.at;
	ret->n_attributes = place->attributes.cnt;
	if (type_of(metric).kind == SUM)
		ret->start_time_unix_nano = place->span.start_ns;
	ret->time_unix_nano = place->span.end_ns;
	list__add(o, &place->group->lists[metric], ret);
	return ret;
}

void point__count(struct otlp *o, const struct place *place, enum metric metric, uint64_t cnt)
{
	Otlp__NumberDataPoint *point;

	if (!cnt && type_of(metric).kind == SUM)
		return;
	point = add_point(o, place, metric);
	point->value_case = OTLP__NUMBER_DATA_POINT__VALUE_AS_INT;
	point->as_int = otlp__int(cnt);
}

void point__seconds(struct otlp *o, const struct place *place, enum metric metric, uint64_t ns)
{
	Otlp__NumberDataPoint *point;

	if (!ns && type_of(metric).kind == SUM)
		return;
	point = add_point(o, place, metric);
	point->value_case = OTLP__NUMBER_DATA_POINT__VALUE_AS_DOUBLE;
	point->as_double = (double)ns / NS_PER_SEC;
}

static double *edges(struct otlp *o)
{
	double *ret = arena__take(&o->arena, METRICS_EDGES * sizeof(*ret));

	for (size_t i = 0; i < METRICS_EDGES; i++)
		ret[i] = (double)metrics_edges_ns[i] / NS_PER_SEC;
	return ret;
}

void point__hist(struct otlp *o, const struct place *place, enum metric metric,
		 const struct metrics_hist *hist, uint64_t max_ns)
{
	Otlp__HistogramDataPoint *point = OTLP_NEW(o, histogram_data_point);

	for (size_t i = 0; i <= METRICS_EDGES; i++)
		point->count += hist->cnt[i];
	if (!point->count)
		return;
	point->attributes = (Otlp__KeyValue **)place->attributes.at;
	point->n_attributes = place->attributes.cnt;
	point->start_time_unix_nano = place->span.start_ns;
	point->time_unix_nano = place->span.end_ns;
	point->known_sum_case = OTLP__HISTOGRAM_DATA_POINT__KNOWN_SUM_SUM;
	point->sum = hist->sum_s;
	if (max_ns) {
		point->known_max_case = OTLP__HISTOGRAM_DATA_POINT__KNOWN_MAX_MAX;
		point->max = (double)max_ns / NS_PER_SEC;
	}
	point->n_bucket_counts = METRICS_EDGES + 1;
	point->bucket_counts = arena__take(&o->arena, sizeof(hist->cnt));
	for (size_t i = 0; i <= METRICS_EDGES; i++)
		point->bucket_counts[i] = hist->cnt[i];
	point->n_explicit_bounds = METRICS_EDGES;
	point->explicit_bounds = edges(o);
	list__add(o, &place->group->lists[metric], point);
}

static void set_histogram(struct otlp *o, Otlp__Metric *metric, const struct list *points)
{
	metric->data_case = OTLP__METRIC__DATA_HISTOGRAM;
	metric->histogram = OTLP_NEW(o, histogram);
	metric->histogram->aggregation_temporality =
		OTLP__AGGREGATION_TEMPORALITY__AGGREGATION_TEMPORALITY_DELTA;
	metric->histogram->data_points = (Otlp__HistogramDataPoint **)points->at;
	metric->histogram->n_data_points = points->cnt;
}

static void set_sum(struct otlp *o, Otlp__Metric *metric, const struct list *points)
{
	metric->data_case = OTLP__METRIC__DATA_SUM;
	metric->sum = OTLP_NEW(o, sum);
	metric->sum->aggregation_temporality =
		OTLP__AGGREGATION_TEMPORALITY__AGGREGATION_TEMPORALITY_DELTA;
	metric->sum->is_monotonic = true;
	metric->sum->data_points = (Otlp__NumberDataPoint **)points->at;
	metric->sum->n_data_points = points->cnt;
}

static void set_gauge(struct otlp *o, Otlp__Metric *metric, const struct list *points)
{
	metric->data_case = OTLP__METRIC__DATA_GAUGE;
	metric->gauge = OTLP_NEW(o, gauge);
	metric->gauge->data_points = (Otlp__NumberDataPoint **)points->at;
	metric->gauge->n_data_points = points->cnt;
}

static Otlp__Metric *metric_of(struct otlp *o, struct metric_type type, const struct list *points)
{
	Otlp__Metric *ret = OTLP_NEW(o, metric);

	ret->name = (char *)type.name;
	ret->unit = (char *)type.unit;
	ret->description = (char *)type.description;
	if (type.kind == HISTOGRAM)
		set_histogram(o, ret, points);
	else if (type.kind == SUM)
		set_sum(o, ret, points);
	else
		set_gauge(o, ret, points);
	return ret;
}

Otlp__ResourceMetrics *otlp__resource_metrics(struct otlp *o, const struct group *group)
{
	Otlp__ResourceMetrics *ret = OTLP_NEW(o, resource_metrics);
	Otlp__ScopeMetrics *scope = OTLP_NEW(o, scope_metrics);
	struct list metrics = {};

	for (size_t i = 0; i < otlp__list_cnt(); i++)
		if (group->lists[i].cnt)
			list__add(o, &metrics, metric_of(o, type_of(i), &group->lists[i]));
	scope->scope = otlp__scope(o);
	scope->metrics = (Otlp__Metric **)metrics.at;
	scope->n_metrics = metrics.cnt;
	ret->resource = group->resource;
	ret->scope_metrics = arena__take(&o->arena, sizeof(scope));
	ret->scope_metrics[0] = scope;
	ret->n_scope_metrics = 1;
	return ret;
}
