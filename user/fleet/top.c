/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `fleet top`: faults, units, versions or hosts by the time that clients waited. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "export/diff/statistics.h"
#include "export/json/json.h"
#include "fleet/fleet.h"

#define NAME_COLUMNS	 60
#define SENTENCE_COLUMNS 200
#define PAIRS_MAX	 10000

static const char *const columns[] = { "signature", "unit", "version", "host" };

struct top_row {
	char *key;
	uint64_t blocks, client_ns, max_ns;
	uint64_t dispatches, hosts, first_s, last_s; /* 0: not known */
	char *process, *loop, *function, *sentence;  /* of a signature; NULL: not known */
};

/* A process and loop in which a signature occurs. */
struct top_pair {
	size_t row_nr;
	uint64_t loop_key;
};

struct top {
	struct top_row *rows;
	size_t row_cnt;
	struct top_pair *pairs;
	unsigned pair_cnt;
};

static void free_top(struct top *top)
{
	for (size_t i = 0; i < top->row_cnt; i++) {
		free(top->rows[i].key);
		free(top->rows[i].process);
		free(top->rows[i].loop);
		free(top->rows[i].function);
		free(top->rows[i].sentence);
	}
	free(top->rows);
	free(top->pairs);
}

static int no_memory(struct err *err)
{
	return err__set(err, ENOMEM, "out of memory");
}

/* --- answers */

static int take_top(void *ctx, const json_t *row, struct err *err)
{
	struct top *top = ctx;
	struct top_row *to = reallocarray(top->rows, top->row_cnt + 1, sizeof(*to));

	if (!to)
		return no_memory(err);
	top->rows = to;
	to += top->row_cnt++;
	*to = (struct top_row){
		.key = strdup(row__str(row, "key")),
		.blocks = row__u64(row, "blocks"),
		.client_ns = row__u64(row, "client_ns"),
		.max_ns = row__u64(row, "max_ns"),
	};
	return to->key ? 0 : no_memory(err);
}

static struct top_row *find_row(struct top *top, const json_t *row)
{
	for (size_t i = 0; i < top->row_cnt; i++)
		if (!strcmp(top->rows[i].key, row__str(row, "key")))
			return &top->rows[i];
	return NULL;
}

static int add_pair(struct top *top, const struct top_row *of, uint64_t loop_key, struct err *err)
{
	struct top_pair *pairs;

	if (top->pair_cnt == PAIRS_MAX)
		return fleet__too_many(err, PAIRS_MAX, "pairs of a signature and a process");
	pairs = reallocarray(top->pairs, top->pair_cnt + 1, sizeof(*pairs));
	if (!pairs)
		return no_memory(err);
	top->pairs = pairs;
	pairs[top->pair_cnt++] = (struct top_pair){ (size_t)(of - top->rows), loop_key };
	return 0;
}

/* One for each process and loop of a signature, that with the most blocks first. */
static int take_fault(void *ctx, const json_t *row, struct err *err)
{
	struct top_row *to = find_row(ctx, row);
	int res = to ? add_pair(ctx, to, row__u64(row, "loop_key"), err) : 0;

	if (!to || res)
		return res;
	if (row__u64(row, "hosts") > to->hosts)
		to->hosts = row__u64(row, "hosts");
	if (to->process)
		return 0;
	to->process = strdup(row__str(row, "process"));
	to->loop = strdup(row__str(row, "loop"));
	to->function = strdup(row__str(row, "function"));
	to->sentence = strdup(row__str(row, "sentence"));
	return to->process && to->loop && to->function && to->sentence ? 0 : no_memory(err);
}

static int take_denominator(void *ctx, const json_t *row, struct err *err)
{
	struct top *top = ctx;
	uint64_t loop_key = row__u64(row, "loop_key");

	(void)err;
	for (unsigned i = 0; i < top->pair_cnt; i++)
		if (top->pairs[i].loop_key == loop_key)
			top->rows[top->pairs[i].row_nr].dispatches += row__u64(row, "dispatches");
	return 0;
}

static int take_dispatches(void *ctx, const json_t *row, struct err *err)
{
	struct top_row *to = find_row(ctx, row);

	if (to) {
		to->dispatches = row__u64(row, "dispatches");
		to->hosts = row__u64(row, "hosts");
	}
	return 0;
}

static int take_seen(void *ctx, const json_t *row, struct err *err)
{
	struct top_row *to = find_row(ctx, row);

	if (to) {
		to->first_s = row__u64(row, "first");
		to->last_s = row__u64(row, "last");
	}
	return 0;
}

/* --- questions */

static int ask_denominators(struct fleet *fleet, const struct fleet_filter *filter, struct top *top,
			    struct err *err)
{
	struct strbuf keys = STRBUF_INIT;
	int res = 0;

	for (unsigned i = 0; i < top->pair_cnt; i++)
		strbuf__addf(&keys, "%s%llu", i ? ", " : "",
			     (unsigned long long)top->pairs[i].loop_key);
	if (keys.failed) {
		res = no_memory(err);
	} else if (keys.len) {
		const struct fleet_value values[] = {
			FLEET_VALUES(filter), { .name = "keys", .raw = strbuf__str(&keys) }
		};

		res = fleet__ask(fleet, "dispatches", values, sizeof(values) / sizeof(*values),
				 take_denominator, top, err);
	}
	strbuf__free(&keys);
	return res;
}

static int ask_signatures(struct fleet *fleet, const struct fleet_filter *filter, const char *keys,
			  struct top *top, struct err *err)
{
	const struct fleet_value values[] = { FLEET_VALUES(filter),
					      { .name = "keys", .raw = keys },
					      { .name = "rows", .number = PAIRS_MAX + 1 } };
	size_t cnt = sizeof(values) / sizeof(*values);
	int res = fleet__ask(fleet, "faults", values, cnt, take_fault, top, err);

	if (!res)
		res = ask_denominators(fleet, filter, top, err);
	if (!res)
		res = fleet__ask(fleet, "seen", values, cnt, take_seen, top, err);
	return res;
}

static int ask_details(struct fleet *fleet, const struct fleet_filter *filter, enum fleet_by by,
		       struct top *top, struct err *err)
{
	struct strbuf keys = STRBUF_INIT;
	int res;

	for (size_t i = 0; i < top->row_cnt; i++)
		literal__add_to_list(&keys, top->rows[i].key);
	if (keys.failed) {
		res = no_memory(err);
	} else if (by == FLEET_BY_SIGNATURE) {
		res = ask_signatures(fleet, filter, strbuf__str(&keys), top, err);
	} else {
		const struct fleet_value values[] = {
			FLEET_VALUES(filter),
			{ .name = "by", .raw = columns[by] },
			{ .name = "keys", .raw = strbuf__str(&keys) },
		};

		res = fleet__ask(fleet, "dispatches_by", values, sizeof(values) / sizeof(*values),
				 take_dispatches, top, err);
	}
	strbuf__free(&keys);
	return res;
}

/* --- text */

void fleet__add_time(struct strbuf *sb, uint64_t seconds)
{
	if (seconds)
		clock__add_local(sb, "%Y-%m-%d %H:%M", seconds * NS_PER_SEC);
	else
		strbuf__addc(sb, '?');
}

void fleet__add_count(struct strbuf *sb, uint64_t cnt, const char *noun)
{
	strbuf__addf(sb, "%llu %s%s", (unsigned long long)cnt, noun, cnt == 1 ? "" : "s");
}

void fleet__add_name(struct strbuf *sb, const char *text)
{
	cells__add(sb, text, NAME_COLUMNS);
}

void fleet__add_cell(struct strbuf *sb, const char *text, unsigned width)
{
	unsigned used = cells__add(sb, text, width);

	while (used++ < width + 2)
		strbuf__addc(sb, ' ');
}

/* "28.9 (28.8 to 29.0)" blocks for a million dispatches, exact by Clopper and Pearson. */
static bool rate_of(const struct top_row *row, double ret[3])
{
	double low, high;

	if (!row->dispatches || row->blocks > row->dispatches)
		return false;
	binomial_bounds((double)row->blocks, (double)row->dispatches, &low, &high);
	ret[0] = (double)row->blocks * 1e6 / (double)row->dispatches;
	ret[1] = low * 1e6;
	ret[2] = high * 1e6;
	return true;
}

static void add_rates(struct strbuf *sb, const double rate[3])
{
	static const char *const before[] = { "", " (", " to " };

	for (int i = 0; i < 3; i++) {
		strbuf__adds(sb, before[i]);
		strbuf__addf(sb, rate[i] < 100 ? "%.3g" : "%.0f", rate[i]);
	}
	strbuf__addc(sb, ')');
}

static void add_numbers(struct strbuf *sb, const struct top_row *row)
{
	struct strbuf cell = STRBUF_INIT;
	double rate[3];

	clock__add_duration(&cell, row->client_ns);
	fleet__add_cell(sb, strbuf__str(&cell), 13);
	strbuf__reset(&cell);
	strbuf__addf(&cell, "%llu", (unsigned long long)row->blocks);
	fleet__add_cell(sb, strbuf__str(&cell), 10);
	strbuf__reset(&cell);
	if (rate_of(row, rate))
		add_rates(&cell, rate);
	else
		strbuf__addc(&cell, '?');
	fleet__add_cell(sb, strbuf__str(&cell), 24);
	strbuf__reset(&cell);
	strbuf__addf(&cell, "%llu", (unsigned long long)row->hosts);
	fleet__add_cell(sb, strbuf__str(&cell), 6);
	strbuf__reset(&cell);
	clock__add_duration(&cell, row->max_ns);
	fleet__add_cell(sb, strbuf__str(&cell), 8);
	sb->failed |= cell.failed;
	strbuf__free(&cell);
}

static void add_row(struct strbuf *sb, const struct top_row *row, enum fleet_by by)
{
	bool is_fault = by == FLEET_BY_SIGNATURE;

	fleet__add_cell(sb, *row->key ? row->key : "-", is_fault ? 16 : 28);
	add_numbers(sb, row);
	if (!is_fault) {
		strbuf__addc(sb, '\n');
		return;
	}
	fleet__add_time(sb, row->first_s);
	strbuf__addc(sb, '\n');
	if (!row->process)
		return;
	strbuf__adds(sb, "    ");
	fleet__add_name(sb, row->process);
	strbuf__adds(sb, " · ");
	fleet__add_name(sb, row->loop);
	if (*row->function) {
		strbuf__adds(sb, " · ");
		fleet__add_name(sb, row->function);
	}
	strbuf__adds(sb, "\n    ");
	cells__add(sb, row->sentence, SENTENCE_COLUMNS);
	strbuf__addc(sb, '\n');
}

static void add_text(struct strbuf *sb, const struct top *top, enum fleet_by by)
{
	bool is_fault = by == FLEET_BY_SIGNATURE;

	fleet__add_cell(sb, columns[by], is_fault ? 16 : 28);
	fleet__add_cell(sb, "clients wait", 13);
	fleet__add_cell(sb, "blocks", 10);
	fleet__add_cell(sb, "per 10⁶ dispatches", 24);
	fleet__add_cell(sb, "hosts", 6);
	fleet__add_cell(sb, "longest", 8);
	strbuf__adds(sb, is_fault ? "first seen\n" : "\n");
	for (size_t i = 0; i < top->row_cnt; i++)
		add_row(sb, &top->rows[i], by);
	if (!top->row_cnt)
		strbuf__adds(sb, "no block in this time: give another one by --since, or look "
				 "whether agents send\n");
}

/* --- JSON */

static void add_object(struct jsonw *w, const struct top_row *row, enum fleet_by by)
{
	double rate[3];

	jsonw__object(w);
	jsonw__kstr(w, columns[by], row->key);
	jsonw__ku64(w, "client_ns", row->client_ns);
	jsonw__ku64(w, "blocks", row->blocks);
	jsonw__ku64(w, "dispatches", row->dispatches);
	if (rate_of(row, rate)) {
		static const char *const keys[] = { "per_million", "per_million_low",
						    "per_million_high" };

		for (int i = 0; i < 3; i++) {
			jsonw__key(w, keys[i]);
			jsonw__fixed(w, rate[i], 6);
		}
	}
	jsonw__ku64(w, "hosts", row->hosts);
	jsonw__ku64(w, "max_ns", row->max_ns);
	if (row->first_s)
		jsonw__ku64(w, "first_s", row->first_s);
	if (row->last_s)
		jsonw__ku64(w, "last_s", row->last_s);
	jsonw__kstr_known(w, "process", row->process);
	jsonw__kstr_known(w, "loop", row->loop);
	jsonw__kstr_known(w, "function", row->function);
	jsonw__kstr_known(w, "sentence", row->sentence);
	jsonw__object_end(w);
}

static void add_json(struct strbuf *sb, const struct top *top, enum fleet_by by)
{
	struct jsonw w;

	jsonw__init(&w, sb);
	jsonw__array(&w);
	for (size_t i = 0; i < top->row_cnt; i++)
		add_object(&w, &top->rows[i], by);
	jsonw__array_end(&w);
	strbuf__addc(sb, '\n');
}

int fleet__top(struct fleet *fleet, const struct fleet_filter *filter, enum fleet_by by,
	       unsigned limit, bool json, struct strbuf *ret, struct err *err)
{
	const struct fleet_value values[] = {
		FLEET_VALUES(filter),
		{ .name = "by", .raw = columns[by] },
		{ .name = "limit", .number = limit ?: FLEET_ROWS_MAX },
	};
	struct top top = {};
	int res = fleet__ask(fleet, "top", values, sizeof(values) / sizeof(*values), take_top, &top,
			     err);

	if (!res && top.row_cnt)
		res = ask_details(fleet, filter, by, &top, err);
	if (!res && json)
		add_json(ret, &top, by);
	else if (!res)
		add_text(ret, &top, by);
	free_top(&top);
	return !res && ret->failed ? no_memory(err) : res;
}
