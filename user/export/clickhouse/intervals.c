/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of intervals, their loops, and what limits left out. A summary has no rows: its counts are
 * the sums of its intervals.
 */
#include <errno.h>

#include "base/text.h"
#include "export/clickhouse/rows.h"
#include "export/facts.h"
#include "export/values.h"
#include "model/durations.h"

static void put_losses(struct row *row, const Jankbpf__Lost *lost)
{
	struct loss_count loss;

	jsonw__karray(&row->w, "lost_reason");
	for (unsigned i = 0; value__next_loss(lost, &i, &loss);)
		jsonw__str(&row->w, loss.reason);
	jsonw__array_end(&row->w);
	jsonw__karray(&row->w, "lost_count");
	for (unsigned i = 0; value__next_loss(lost, &i, &loss);)
		jsonw__u64(&row->w, loss.cnt);
	jsonw__array_end(&row->w);
}

/* Those of schema/fields.tbl. */
static void put_columns(struct row *row, const Jankbpf__Interval *interval)
{
	for (const struct fact *column = facts__columns; column->name; column++) {
		const struct fact_value value = fact__value(column, interval);

		if (value.text)
			row__text(row, column->name, value.text);
		else
			row__number(row, column->name, value.number);
	}
}

static void add_interval(struct strbuf *out, const struct batch *batch, size_t nr,
			 const Jankbpf__Interval *interval)
{
	struct row row;

	row__begin(&row, out, batch, nr, interval->start);
	put_columns(&row, interval);
	put_losses(&row, interval->lost);
	row__end(&row);
}

/* --- loops */

/* The buckets of bpf/jank_hist.h: those that a threshold splits are one again. */
static size_t sum_buckets(struct durations *durations, Jankbpf__Bucket *const *buckets, size_t cnt,
			  uint64_t max_ns)
{
	size_t ret = 0;

	value__add_buckets(durations, buckets, cnt, max_ns);
	for (size_t i = 0; i < JANK_HIST_BUCKETS; i++)
		ret += durations->cnt[i] > 0;
	return ret;
}

static void put_buckets(struct row *row, const char *places, const char *counts,
			Jankbpf__Bucket *const *buckets, size_t cnt, uint64_t max_ns)
{
	struct durations durations = {};

	if (!sum_buckets(&durations, buckets, cnt, max_ns))
		return;
	jsonw__karray(&row->w, places);
	for (size_t i = 0; i < JANK_HIST_BUCKETS; i++)
		if (durations.cnt[i])
			jsonw__u64(&row->w, i);
	jsonw__array_end(&row->w);
	jsonw__karray(&row->w, counts);
	for (size_t i = 0; i < JANK_HIST_BUCKETS; i++)
		if (durations.cnt[i])
			jsonw__u64(&row->w, durations.cnt[i]);
	jsonw__array_end(&row->w);
}

static void add_loop(struct strbuf *out, const struct batch *batch, size_t nr,
		     const Jankbpf__Interval *interval, size_t item)
{
	const Jankbpf__Loop *loop = interval->loops[item];
	const Jankbpf__StartDelays *delays = loop->start_delays;
	struct row row;

	row__begin(&row, out, batch, nr, interval->start);
	row__number(&row, "item", item);
	row__number(&row, "elapsed_ns", interval->elapsed_ns);
	row__text(&row, "host", interval->host ? interval->host->name : NULL);
	row__text(&row, "unit", loop->unit);
	row__text(&row, "container", loop->container);
	row__text(&row, "pod", loop->pod);
	row__text(&row, "process", loop->process);
	row__text(&row, "service", loop->service_name);
	row__text(&row, "environment", loop->deployment_environment);
	row__text(&row, "version", loop->version);
	row__text(&row, "loop", loop->loop);
	row__number(&row, "threshold_ns",
		    loop->has_threshold_ns ? loop->threshold_ns : interval->threshold_ns);
	row__number(&row, "dispatches", loop->dispatches);
	row__number(&row, "blocks", loop->blocks);
	row__number(&row, "max_ns", loop->max_ns);
	put_buckets(&row, "buckets", "counts", loop->buckets, loop->n_buckets, loop->max_ns);
	if (delays) {
		row__number(&row, "delayed", delays->dispatches);
		put_buckets(&row, "delay_buckets", "delay_counts", delays->buckets,
			    delays->n_buckets, delays->max_ns);
	}
	row__end(&row);
}

/* --- what limits left out */

/* The version of the process in this interval; NULL: not known, or more than one. */
static const char *version_of(const Jankbpf__Interval *interval, const Jankbpf__LeftOut *left)
{
	const char *version = NULL;

	for (size_t i = 0; i < interval->n_loops; i++) {
		const Jankbpf__Loop *loop = interval->loops[i];

		if (!text__same(loop->process, left->process) ||
		    !text__same(loop->loop, left->loop) || !text__same(loop->unit, left->unit))
			continue;
		if (version && !text__same(version, loop->version))
			return NULL;
		version = loop->version;
		if (!version)
			return NULL;
	}
	return version;
}

static void add_left_out(struct strbuf *out, const struct batch *batch, size_t nr,
			 const Jankbpf__Interval *interval, size_t item)
{
	const Jankbpf__LeftOut *left = interval->left_out[item];
	struct row row;

	row__begin(&row, out, batch, nr, interval->start);
	row__number(&row, "item", item);
	row__text(&row, "host", interval->host ? interval->host->name : NULL);
	row__text(&row, "unit", left->unit);
	row__text(&row, "process", left->process);
	row__text(&row, "version", version_of(interval, left));
	row__text(&row, "loop", left->loop);
	row__text(&row, "kind", left->kind);
	row__text(&row, "signature", left->signature);
	row__number(&row, "signature_version", value__signature_version(left->signature_version));
	row__text(&row, "function", left->function);
	row__number(&row, "blocks", left->blocks);
	row__number(&row, "total_ns", left->total_ns);
	row__number(&row, "max_ns", left->max_ns);
	row__end(&row);
}

/* --- parts */

enum part { PART_INTERVALS, PART_LOOPS, PART_LEFT_OUT };

static int encode(const struct batch *batch, enum part part, struct strbuf *ret)
{
	size_t before = ret->len;

	for (size_t i = 0; i < batch->record_cnt; i++) {
		const Jankbpf__Interval *interval = batch->records[i]->interval;

		if (batch->records[i]->type_case != JANKBPF__RECORD__TYPE_INTERVAL)
			continue;
		if (part == PART_INTERVALS)
			add_interval(ret, batch, i, interval);
		for (size_t k = 0; part == PART_LOOPS && k < interval->n_loops; k++)
			add_loop(ret, batch, i, interval, k);
		for (size_t k = 0; part == PART_LEFT_OUT && k < interval->n_left_out; k++)
			add_left_out(ret, batch, i, interval, k);
	}
	if (ret->failed)
		return -ENOMEM;
	return ret->len == before ? -ENODATA : 0;
}

int intervals__encode(const struct batch *batch, struct strbuf *ret)
{
	return encode(batch, PART_INTERVALS, ret);
}

int loops__encode(const struct batch *batch, struct strbuf *ret)
{
	return encode(batch, PART_LOOPS, ret);
}

int left_out__encode(const struct batch *batch, struct strbuf *ret)
{
	return encode(batch, PART_LEFT_OUT, ret);
}
