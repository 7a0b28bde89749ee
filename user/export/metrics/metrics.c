/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/metrics/metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "export/facts.h"
#include "export/metrics/metrics_parts.h"
#include "export/values.h"

#define WORDS_MAX 64 /* label sets of a closed list of words */

void metrics__set_interval(struct metrics *m, uint64_t ns)
{
	m->interval_ns = ns;
}

void metrics__free(struct metrics *m)
{
	if (!m)
		return;
	groups__free(&m->loops);
	groups__free(&m->blocks);
	groups__free(&m->kinds);
	groups__free(&m->faults);
	groups__free(&m->open);
	groups__free(&m->lost);
	groups__free(&m->limited);
	free(m);
}

static double seconds(uint64_t ns)
{
	return (double)ns / NS_PER_SEC;
}

static int add_count(struct groups *table, const char *id, const struct label *labels,
		     size_t label_cnt, uint64_t cnt)
{
	struct series *series = series__get(table, id, labels, label_cnt);

	if (!series)
		return -ENOMEM;
	series->cnt += cnt;
	return 0;
}

static int add_word(struct groups *table, const char *name, const char *word)
{
	const struct label label = { name, word };

	return add_count(table, NULL, &label, 1, 0);
}

/*
 * rate() and increase() miss the first value of a series, so each word of a closed list has its
 * series from the start, with 0.
 */
static int add_words(struct metrics *m)
{
	const ProtobufCMessageDescriptor *lost = &jankbpf__lost__descriptor;
	int res = 0;

	for (size_t nr = 0; value__kind_word(nr); nr++)
		res = res ?: add_word(&m->kinds, "kind", value__kind_word(nr));
	for (unsigned i = 0; i < lost->n_fields; i++)
		res = res ?: add_word(&m->lost, "reason", lost->fields[i].name);
	return res	       ?: add_word(&m->limited, "limit", "signature")
			       ?: add_word(&m->limited, "limit", "second");
}

struct metrics *metrics__new(size_t max_signatures)
{
	struct metrics *m = calloc(1, sizeof(*m) + facts__metric_cnt * sizeof(*m->values));

	if (!m)
		return NULL;
	series__init(&m->loops, METRICS_LOOPS_MAX);
	series__init(&m->open, METRICS_LOOPS_MAX);
	series__init(&m->blocks, METRICS_BLOCKS_MAX);
	series__init(&m->faults, max_signatures);
	series__init(&m->kinds, WORDS_MAX);
	series__init(&m->lost, WORDS_MAX);
	series__init(&m->limited, WORDS_MAX);
	for (size_t i = 0; i < facts__metric_cnt; i++)
		m->values[i].is_shown = facts__metrics[i].shown_if[0] < 0;
	if (!add_words(m))
		return m;
	metrics__free(m);
	return NULL;
}

/* --- blocks */

/* Blocks of one fault and process. */
struct some_blocks {
	const char *signature, *function, *process, *unit, *loop, *kind;
	uint64_t cnt, total_ns;
};

static int add_blocks(struct metrics *m, const struct some_blocks *some)
{
	const struct label of_block[] = { { "unit", some->unit },
					  { "process", some->process },
					  { "loop", some->loop },
					  { "kind", some->kind } };
	const struct label of_kind = { "kind", some->kind };
	const struct label of_fault[] = { { "signature", some->signature },
					  { "function", some->function } };
	struct series *kind = series__get(&m->kinds, NULL, &of_kind, 1);
	int res = add_count(&m->blocks, NULL, of_block, 4, some->cnt);

	if (kind)
		kind->seconds += seconds(some->total_ns);
	/* One counter for a signature, with the function of its first block. */
	return add_count(&m->faults, some->signature ?: "", of_fault, 2, some->cnt)
		       ?: res ?: kind ? 0 : -ENOMEM;
}

static int take_block(struct metrics *m, const Jankbpf__Block *block)
{
	const Jankbpf__Cause *cause = block->cause;
	const struct some_blocks some = {
		.signature = cause ? cause->signature : NULL,
		.function = cause && cause->frame ? cause->frame->function : NULL,
		.process = block->process,
		.unit = block->unit,
		.loop = block->loop,
		.kind = cause ? cause->kind : NULL,
		.cnt = 1,
		.total_ns = value__delay(block),
	};

	return add_blocks(m, &some);
}

static int take_left_out(struct metrics *m, const Jankbpf__LeftOut *left)
{
	const struct some_blocks some = {
		.signature = left->signature,
		.function = left->function,
		.process = left->process,
		.unit = left->unit,
		.loop = left->loop,
		.kind = left->kind,
		.cnt = left->blocks,
		.total_ns = left->total_ns,
	};

	return add_blocks(m, &some);
}

/* --- intervals */

static int take_loop(struct metrics *m, const Jankbpf__Loop *loop)
{
	const struct label labels[] = { { "process", loop->process },
					{ "loop", loop->loop },
					{ "unit", loop->unit } };
	const Jankbpf__StartDelays *starts = loop->start_delays;
	struct series *series = series__get(&m->loops, NULL, labels, 3);

	if (!series)
		return -ENOMEM;
	metrics_hist__add_buckets(&series->durations, loop->buckets, loop->n_buckets, loop->max_ns);
	if (starts)
		metrics_hist__add_buckets(&series->delays, starts->buckets, starts->n_buckets,
					  starts->max_ns);
	return 0;
}

static void clear_open(struct metrics *m)
{
	struct series *series;

	GROUPS_EACH(&m->open, series)
	series->seconds = 0;
}

/* The list is in falling order; loops that have none now go to 0. */
static int take_open(struct metrics *m, Jankbpf__OpenDispatch *const *open, size_t cnt)
{
	clear_open(m);
	for (size_t i = 0; i < cnt; i++) {
		const struct label labels[] = { { "process", open[i]->process },
						{ "loop", open[i]->loop },
						{ "unit", open[i]->unit } };
		struct series *series = series__get(&m->open, NULL, labels, 3);
		double so_far = seconds(open[i]->duration_ns + open[i]->start_delay_ns);

		if (!series)
			return -ENOMEM;
		if (so_far > series->seconds)
			series->seconds = so_far;
	}
	return 0;
}

/* All fields are counts, by their reason. */
static int take_lost(struct metrics *m, const Jankbpf__Lost *lost)
{
	const ProtobufCMessageDescriptor *descriptor = lost->base.descriptor;
	int res = 0;

	for (unsigned i = 0; i < descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
		const char *base = (const char *)lost;
		const struct label label = { "reason", field->name };
		uint64_t cnt;

		if (field->type != PROTOBUF_C_TYPE_UINT64 ||
		    !*(const protobuf_c_boolean *)(base + field->quantifier_offset))
			continue;
		memcpy(&cnt, base + field->offset, sizeof(cnt));
		res = add_count(&m->lost, NULL, &label, 1, cnt) ?: res;
	}
	return res;
}

static int take_limited(struct metrics *m, const Jankbpf__Limited *limited)
{
	const struct label signature = { "limit", "signature" }, second = { "limit", "second" };

	return add_count(&m->limited, NULL, &signature, 1, limited->per_signature)
		       ?: add_count(&m->limited, NULL, &second, 1, limited->per_second);
}

static void take_facts(struct metrics *m, const Jankbpf__Interval *interval)
{
	for (size_t i = 0; i < facts__metric_cnt; i++) {
		const struct fact *fact = &facts__metrics[i];
		uint64_t number = fact__value(fact, interval).number;

		m->values[i].number = number + (fact->is_sum ? m->values[i].number : 0);
		m->values[i].is_shown = fact__is_shown(fact, interval);
	}
}

static int take_interval(struct metrics *m, const Jankbpf__Interval *interval)
{
	int res = take_open(m, interval->open, interval->n_open);

	m->interval_cnt++;
	if (interval->elapsed_ns)
		m->interval_ns = interval->elapsed_ns;
	for (size_t i = 0; i < interval->n_loops; i++)
		res = take_loop(m, interval->loops[i]) ?: res;
	for (size_t i = 0; i < interval->n_left_out; i++)
		res = take_left_out(m, interval->left_out[i]) ?: res;
	if (interval->lost)
		res = take_lost(m, interval->lost) ?: res;
	if (interval->limited)
		res = take_limited(m, interval->limited) ?: res;
	take_facts(m, interval);
	return res;
}

int metrics__record(struct metrics *m, const Jankbpf__Record *record)
{
	if (record->type_case == JANKBPF__RECORD__TYPE_BLOCK)
		return take_block(m, record->block);
	if (record->type_case == JANKBPF__RECORD__TYPE_INTERVAL)
		return take_interval(m, record->interval);
	/* The textfile outlives the run, which watches none of them from now on. */
	if (record->type_case == JANKBPF__RECORD__TYPE_SUMMARY)
		clear_open(m);
	return 0;
}
