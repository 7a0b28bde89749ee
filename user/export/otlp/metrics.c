/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts of intervals, and blocks by kind, as metrics. An interval gives one data point for each
 * resource, program, kind of loop and kind of cause, whatever the number of processes: no attribute
 * is a process id. Blocks count in the interval that follows them; those after the last interval of
 * the batch up to the end of the last of them.
 */
#include "export/otlp/metrics.h"

#include <string.h>

#include "base/clock.h"
#include "export/facts.h"
#include "export/report/report.h"
#include "export/values.h"

/* What one interval counts of a program's loops. */
struct tally {
	struct group *group;
	const char *process, *loop, *kind; /* borrowed of the batch */
	struct metrics_hist durations, delays;
	uint64_t max_duration_ns, max_delay_ns;
	uint64_t block_cnt, blocked_ns;
};

struct counter {
	struct otlp *o;
	struct list tallies; /* since the last interval */
	const Jankbpf__Host *host;
	struct span span; /* of the last interval, then of the blocks after it */
};

enum { TALLIES, KINDS }; /* tables of struct otlp */

static void clear(struct counter *c, size_t table)
{
	if (c->o->tables[table])
		intern__reset(c->o->tables[table]);
}

static void add_key_text(struct strbuf *key, const char *text)
{
	strbuf__adds(key, text ?: "");
	strbuf__addc(key, '\0');
}

static struct tally *get_tally(struct counter *c, const struct origin *origin, const char *loop,
			       const char *kind)
{
	struct group *group = otlp__group(c->o, origin);
	struct strbuf *key = arena__words(&c->o->arena);
	struct tally *tally;
	bool is_new;
	uint32_t nr;

	strbuf__add(key, &group->nr, sizeof(group->nr));
	add_key_text(key, origin->process);
	add_key_text(key, loop);
	add_key_text(key, kind);
	if (key->failed)
		longjmp(c->o->arena.out_of_memory, 1);
	nr = otlp__number(c->o, TALLIES, key->data, key->len, &is_new);
	if (!is_new)
		return c->tallies.at[nr - 1];
	tally = arena__take(&c->o->arena, sizeof(*tally));
	tally->group = group;
	tally->process = origin->process;
	tally->loop = loop;
	tally->kind = kind;
	list__add(c->o, &c->tallies, tally);
	return tally;
}

static void write_tally(struct counter *c, const struct tally *tally)
{
	struct otlp *o = c->o;
	struct place place = { .group = tally->group, .span = c->span };

	attr__text(o, &place.attributes, "process.executable.name", tally->process);
	attr__text(o, &place.attributes, "jankbpf.loop", tally->loop);
	attr__text(o, &place.attributes, "jankbpf.cause.kind", tally->kind);
	point__hist(o, &place, METRIC_DURATION, &tally->durations, tally->max_duration_ns);
	point__hist(o, &place, METRIC_START_DELAY, &tally->delays, tally->max_delay_ns);
	point__count(o, &place, METRIC_BLOCKS, tally->block_cnt);
	point__seconds(o, &place, METRIC_BLOCKED_TIME, tally->blocked_ns);
}

static void write_tallies(struct counter *c)
{
	for (size_t i = 0; i < c->tallies.cnt; i++)
		write_tally(c, c->tallies.at[i]);
	c->tallies = (struct list){};
	clear(c, TALLIES);
}

/* --- blocks */

static void note_end(struct counter *c, const Jankbpf__Block *block)
{
	uint64_t start_ns, end_ns;

	if (!block->start || !clock__read_rfc3339(block->start, &start_ns) ||
	    __builtin_add_overflow(start_ns, block->duration_ns, &end_ns))
		return;
	if (!c->span.end_ns)
		c->span.start_ns = c->span.end_ns = start_ns;
	if (end_ns > c->span.end_ns)
		c->span.end_ns = end_ns;
}

static void take_block(struct counter *c, const Jankbpf__Block *block)
{
	struct origin origin = origin__of_block(block);
	struct tally *tally;

	origin.block = NULL;
	tally = get_tally(c, &origin, block->loop,
			  block->cause ? value__name(block->cause->kind) : "?");
	tally->block_cnt++;
	if (__builtin_add_overflow(tally->blocked_ns, value__delay(block), &tally->blocked_ns))
		tally->blocked_ns = UINT64_MAX;
	note_end(c, block);
}

static bool is_same(const char *a, const char *b)
{
	return !strcmp(a ?: "", b ?: "");
}

/*
 * The loops of the interval say more of their process than LeftOut does: service, version,
 * container. Where several fit, the one with the most blocks. NULL: none.
 */
static const Jankbpf__Loop *loop_of(const Jankbpf__Interval *interval, const Jankbpf__LeftOut *left)
{
	const Jankbpf__Loop *ret = NULL;

	for (size_t i = 0; i < interval->n_loops; i++) {
		const Jankbpf__Loop *loop = interval->loops[i];

		if (is_same(loop->process, left->process) && is_same(loop->unit, left->unit) &&
		    is_same(loop->loop, left->loop) && (!ret || loop->blocks > ret->blocks))
			ret = loop;
	}
	return ret;
}

static void take_left_out(struct counter *c, const Jankbpf__Interval *interval,
			  const Jankbpf__LeftOut *left)
{
	const Jankbpf__Loop *loop = loop_of(interval, left);
	const struct origin origin = loop ? origin__of_loop(c->host, loop)
					  : (struct origin){ .host = c->host,
							     .process = left->process,
							     .unit = left->unit };
	struct tally *tally = get_tally(c, &origin, left->loop, value__name(left->kind));

	tally->block_cnt += left->blocks;
	if (__builtin_add_overflow(tally->blocked_ns, left->total_ns, &tally->blocked_ns))
		tally->blocked_ns = UINT64_MAX;
}

/* --- intervals */

static void take_max(uint64_t *max, uint64_t ns)
{
	if (ns > *max)
		*max = ns;
}

static void take_loop(struct counter *c, const Jankbpf__Loop *loop)
{
	const struct origin origin = origin__of_loop(c->host, loop);
	const Jankbpf__StartDelays *starts = loop->start_delays;
	struct tally *tally = get_tally(c, &origin, loop->loop, NULL);

	metrics_hist__add_buckets(&tally->durations, loop->buckets, loop->n_buckets, loop->max_ns);
	take_max(&tally->max_duration_ns, loop->max_ns);
	if (!starts)
		return;
	metrics_hist__add_buckets(&tally->delays, starts->buckets, starts->n_buckets,
				  starts->max_ns);
	take_max(&tally->max_delay_ns, starts->max_ns);
}

static struct place agent_place(struct counter *c, const char *key, const char *value)
{
	const struct origin agent = { .host = c->host, .process = "jankbpf" };
	struct place ret = { .group = otlp__group(c->o, &agent), .span = c->span };

	if (key)
		attr__text(c->o, &ret.attributes, key, value);
	return ret;
}

/* Open dispatches of one kind of loop. */
struct open_kind {
	const char *loop; /* borrowed */
	uint64_t cnt, longest_ns;
};

static void count_open(struct counter *c, struct list *kinds, const Jankbpf__OpenDispatch *open)
{
	const char *loop = value__name(open->loop);
	bool is_new;
	uint32_t nr = otlp__number(c->o, KINDS, loop, strlen(loop), &is_new);
	struct open_kind *kind;

	if (is_new) {
		kind = arena__take(&c->o->arena, sizeof(*kind));
		kind->loop = loop;
		list__add(c->o, kinds, kind);
	}
	kind = kinds->at[nr - 1];
	kind->cnt++;
	take_max(&kind->longest_ns, open->duration_ns + open->start_delay_ns);
}

static void write_open(struct counter *c, Jankbpf__OpenDispatch *const *open, size_t cnt)
{
	struct list kinds = {};

	for (size_t i = 0; i < cnt; i++)
		count_open(c, &kinds, open[i]);
	for (size_t i = 0; i < kinds.cnt; i++) {
		const struct open_kind *kind = kinds.at[i];
		struct place place = agent_place(c, "jankbpf.loop", kind->loop);

		point__count(c->o, &place, METRIC_OPEN, kind->cnt);
		point__seconds(c->o, &place, METRIC_OPEN_LONGEST, kind->longest_ns);
	}
	clear(c, KINDS);
}

static void write_losses(struct counter *c, const Jankbpf__Interval *interval)
{
	unsigned pos = 0;
	struct loss_count loss;

	while (value__next_loss(interval->lost, &pos, &loss)) {
		struct place place = agent_place(c, "jankbpf.lost.reason", loss.reason);

		point__count(c->o, &place, METRIC_LOST, loss.cnt);
	}
	if (interval->limited) {
		struct place signature = agent_place(c, "jankbpf.limit", "signature");
		struct place second = agent_place(c, "jankbpf.limit", "second");

		point__count(c->o, &signature, METRIC_LIMITED, interval->limited->per_signature);
		point__count(c->o, &second, METRIC_LIMITED, interval->limited->per_second);
	}
}

static void write_facts(struct counter *c, const Jankbpf__Interval *interval)
{
	const struct place place = agent_place(c, NULL, NULL);

	for (size_t i = 0; i < facts__otlp_cnt; i++) {
		const struct fact *fact = &facts__otlps[i];
		const struct fact_value value = fact__value(fact, interval);
		enum metric metric = METRIC_FACTS + i;

		if (!value.known && !fact->is_sum)
			continue;
		if (fact->form == FACT_NS)
			point__seconds(c->o, &place, metric, value.number);
		else
			point__count(c->o, &place, metric, fact__number(fact, value.number));
	}
}

/* Without a time, an interval is no data point. */
static void take_interval(struct counter *c, const Jankbpf__Interval *interval)
{
	struct span span;

	if (!interval->start || !clock__read_rfc3339(interval->start, &span.start_ns) ||
	    __builtin_add_overflow(span.start_ns, interval->elapsed_ns, &span.end_ns))
		return;
	c->span = span;
	c->host = interval->host;
	for (size_t i = 0; i < interval->n_loops; i++)
		take_loop(c, interval->loops[i]);
	for (size_t i = 0; i < interval->n_left_out; i++)
		take_left_out(c, interval, interval->left_out[i]);
	write_tallies(c);
	write_open(c, interval->open, interval->n_open);
	write_losses(c, interval);
	write_facts(c, interval);
	/* What follows is later, even if its blocks ended before. */
	c->span = (struct span){ span.end_ns, span.end_ns + 1 };
}

static ProtobufCMessage *make(struct otlp *o)
{
	Otlp__ExportMetricsServiceRequest *ret = OTLP_NEW(o, export_metrics_service_request);
	struct counter c = { .o = o };
	struct list list = {};

	for (size_t i = 0; i < o->batch->record_cnt; i++) {
		const Jankbpf__Record *record = o->batch->records[i];

		if (record->type_case == JANKBPF__RECORD__TYPE_BLOCK && record->block)
			take_block(&c, record->block);
		else if (record->type_case == JANKBPF__RECORD__TYPE_INTERVAL && record->interval)
			take_interval(&c, record->interval);
	}
	if (c.span.end_ns)
		write_tallies(&c);
	for (size_t i = 0; i < o->groups.cnt; i++) {
		Otlp__ResourceMetrics *metrics = otlp__resource_metrics(o, o->groups.at[i]);

		if (metrics->scope_metrics[0]->n_metrics)
			list__add(o, &list, metrics);
	}
	ret->resource_metrics = (Otlp__ResourceMetrics **)list.at;
	ret->n_resource_metrics = list.cnt;
	return list.cnt ? &ret->base : NULL;
}

int otlp__metrics(const struct batch *batch, struct strbuf *ret)
{
	return otlp__encode(batch, make, ret);
}
