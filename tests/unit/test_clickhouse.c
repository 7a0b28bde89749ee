/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The encoder of ClickHouse: rows have the columns of the schema, are bounded, and repeat exactly.
 */
#include <errno.h>
#include <jansson.h>

#include "base/clock.h"
#include "export/backend.h"
#include "export/clickhouse/rows.h"
#include "model/durations.h"
#include "tests/unit/export_run.h"

#define AGENT "0123456789abcdef0123456789abcdef"

static struct strbuf schema = STRBUF_INIT;

static const struct backend_part *part_named(const char *name)
{
	for (size_t i = 0; i < clickhouse_backend.part_cnt; i++)
		if (!strcmp(clickhouse_backend.parts[i].name, name))
			return &clickhouse_backend.parts[i];
	abort();
}

/* True if schema.sql has the column in the table NAME_local. */
static bool has_column(const char *table, const char *column)
{
	char head[100], line[100];
	const char *begin, *end, *at;

	snprintf(head, sizeof(head), "CREATE TABLE IF NOT EXISTS jankbpf.%s_local", table);
	snprintf(line, sizeof(line), "\n    %s ", column);
	begin = strstr(strbuf__str(&schema), head);
	end = begin ? strstr(begin, "\n)") : NULL;
	at = begin ? strstr(begin, line) : NULL;
	return at && at < end;
}

static unsigned check_columns(const char *table, json_t *row)
{
	const char *key;
	json_t *value;
	unsigned bad = 0;

	json_object_foreach(row, key, value) if (!has_column(table, key))
	{
		diag("%s has no column %s", table, key);
		bad++;
	}
	return bad;
}

/* The rows of a part, as an array; checks their form. The caller frees it. */
static json_t *rows_of(const struct batch *batch, const char *name)
{
	struct strbuf body = STRBUF_INIT, again = STRBUF_INIT;
	int res = part_named(name)->encode(batch, &body);
	json_t *ret = json_array();
	unsigned bad = 0;
	char *line, *rest;

	part_named(name)->encode(batch, &again);
	ok(res == (body.len ? 0 : -ENODATA), "%s: encoded, or nothing to encode", name);
	ok(body.len == again.len && (!body.len || !memcmp(body.data, again.data, body.len)),
	   "%s: the same bytes again", name);
	line = body.len ? strtok_r(body.data, "\n", &rest) : NULL;
	for (; line; line = strtok_r(NULL, "\n", &rest)) {
		json_t *row = json_loads(line, JSON_REJECT_DUPLICATES, NULL);

		bad += !row ||
		       (strcmp(name, "stacks") &&
			strcmp(json_string_value(json_object_get(row, "agent")) ?: "", AGENT));
		bad += row ? check_columns(name, row) : 0;
		json_array_append_new(ret, row ?: json_null());
	}
	is_uint(bad, 0, "%s: each line is a row of the table", name);
	strbuf__free(&body);
	strbuf__free(&again);
	return ret;
}

static const char *text_at(json_t *rows, size_t nr, const char *column)
{
	return json_string_value(json_object_get(json_array_get(rows, nr), column));
}

static uint64_t number_at(json_t *rows, size_t nr, const char *column)
{
	return (uint64_t)json_integer_value(json_object_get(json_array_get(rows, nr), column));
}

static void check_block(const struct block *block, const Jankbpf__Record *record)
{
	Jankbpf__Record *list[] = { (Jankbpf__Record *)record }, *read = NULL;
	const struct batch batch = { AGENT, 7, list, 1, 0 };
	json_t *rows = rows_of(&batch, "blocks"), *stacks = rows_of(&batch, "stacks");
	static const char *const states[] = { "running_ns",    "runnable_ns", "futex_ns",
					      "disk_ns",       "sleep_ns",    "poll_ns",
					      "socket_ns",     "pipe_ns",     "binder_ns",
					      "page_fault_ns", "stopped_ns",  "other_ns" };
	uint64_t sum = 0, unknown;
	const char *text;

	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
		sum += number_at(rows, 0, states[i]);
	ok(sum == block->duration_ns && sum == number_at(rows, 0, "duration_ns"),
	   "the states sum to the duration");
	ok(number_at(rows, 0, "batch") == 7 &&
		   number_at(rows, 0, "start_ns") / NS_PER_SEC == number_at(rows, 0, "time"),
	   "key and time");
	ok(json_array_size(json_object_get(json_array_get(rows, 0), "stacks")) ==
		   json_array_size(stacks),
	   "each of its stacks has a row");
	ok(number_at(stacks, 0, "time") ==
		   (json_array_size(stacks) ? number_at(rows, 0, "time") : 0),
	   "of the block's time");
	text = text_at(rows, 0, "record");
	ok(text && !json__read_record(text, strlen(text), &read, &unknown, NULL) && !unknown,
	   "the whole record can be read back");
	if (read) {
		struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;

		json__add_record(&a, record);
		json__add_record(&b, read);
		is_str(strbuf__str(&b), strbuf__str(&a), "and is the same");
		strbuf__free(&a);
		strbuf__free(&b);
		jankbpf__record__free_unpacked(read, NULL);
	}
	json_decref(rows);
	json_decref(stacks);
}

static void test_fixtures(void)
{
	for (size_t i = 0; i < FIXTURE_CNT; i++) {
		struct block *block = fixtures[i].make();

		diag("%s", fixtures[i].name);
		check_block(block, fixture__record(block));
		block__free(block);
	}
}

/* --- hostile texts */

static void check_hostile(const char *name)
{
	struct block *block = fixtures[0].make();
	Jankbpf__Record *record, *list[1];
	struct batch batch = { AGENT, INT64_MAX, list, 1, 0 };
	json_t *rows, *stacks;
	const char *text;

	free(block->process->name);
	block->process->name = strdup(name);
	if (block->sample_cnt && block->samples[0].stack.frame_cnt)
		block->samples[0].stack.frames[0].function = name;
	record = (Jankbpf__Record *)fixture__record(block);
	record->block->unit = (char *)name;
	record->block->id = (char *)name;
	record->block->start = (char *)name;
	list[0] = record;
	rows = rows_of(&batch, "blocks");
	stacks = rows_of(&batch, "stacks");
	text = text_at(rows, 0, "process");
	ok(text && strlen(text) <= 3 * (size_t)ROW_TEXT_MAX, "the name is bounded");
	text = text_at(rows, 0, "record");
	ok(!text || strlen(text) <= ROW_RECORD_MAX, "the record is bounded");
	is_uint(number_at(rows, 0, "start_ns"), 0, "no time");
	json_decref(rows);
	json_decref(stacks);
	block__free(block);
}

static void test_hostile(void)
{
	static const char *const names[] = { "a'b\"c\\d\t\n\r\b{}`$;--", "\xff\xfe\x80 \xc3",
					     "\x1b[31m\x7f\xc2\x9b", "\xe2\x80\xa8\xf0\x9f\x92\xa9",
					     "%s%n{name}" };
	size_t len = 1 << 20;
	char *large = malloc(len + 1);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		check_hostile(names[i]);
	for (unsigned step = 0; step < 3; step++) {
		memset(large, step == 0 ? 'x' : step == 1 ? '"' : 0xff, len);
		large[len] = '\0';
		check_hostile(large);
	}
	/* Two bytes a character, from an odd place: the limit falls into one. */
	for (size_t i = 0; i + 1 < len; i += 2)
		memcpy(large + 1 + i - (i + 2 > len - 1 ? 2 : 0), "\xc3\xa4", 2);
	large[0] = 'x';
	check_hostile(large);
	free(large);
}

/* --- other records */

static void check_loops(const struct batch *batch)
{
	json_t *rows = rows_of(batch, "loops");

	is_uint(json_array_size(rows), 3, "a row for each loop");
	ok(number_at(rows, 2, "item") == 2 && number_at(rows, 2, "nr") == 0, "with its own key");
	is_uint((uint64_t)json_integer_value(
			json_array_get(json_object_get(json_array_get(rows, 0), "counts"), 0)),
		100, "the histogram");
	is_uint((uint64_t)json_integer_value(
			json_array_get(json_object_get(json_array_get(rows, 0), "buckets"), 0)),
		42, "in the bucket of its end");
	json_decref(rows);
}

static void test_interval(void)
{
	Jankbpf__Record record = JANKBPF__RECORD__INIT, *list[] = { &record };
	Jankbpf__Interval interval = JANKBPF__INTERVAL__INIT;
	Jankbpf__Host host = JANKBPF__HOST__INIT;
	Jankbpf__Lost lost = JANKBPF__LOST__INIT;
	Jankbpf__Loop loops[3] = { JANKBPF__LOOP__INIT, JANKBPF__LOOP__INIT, JANKBPF__LOOP__INIT };
	Jankbpf__Loop *loop_list[] = { &loops[0], &loops[1], &loops[2] };
	Jankbpf__LeftOut lefts[2] = { JANKBPF__LEFT_OUT__INIT, JANKBPF__LEFT_OUT__INIT };
	Jankbpf__LeftOut *left_list[] = { &lefts[0], &lefts[1] };
	Jankbpf__Bucket bucket = JANKBPF__BUCKET__INIT, *buckets[] = { &bucket };
	const struct batch batch = { AGENT, 1, list, 1, 0 };
	json_t *rows;

	record.type_case = JANKBPF__RECORD__TYPE_INTERVAL;
	record.interval = &interval;
	interval.start = (char *)"2026-05-04T10:20:30.123456789+02:00";
	interval.elapsed_ns = 10 * NS_PER_SEC;
	interval.host = &host;
	host.name = (char *)"h";
	interval.lost = &lost;
	lost.has_ring_full = true;
	lost.ring_full = 4;
	interval.loops = loop_list;
	interval.n_loops = 3;
	interval.left_out = left_list;
	interval.n_left_out = 2;
	for (int i = 0; i < 3; i++) {
		loops[i].process = (char *)(i ? "b" : "a");
		loops[i].loop = (char *)"epoll";
		loops[i].version = (char *)(i == 2 ? "2" : "1");
		loops[i].dispatches = 100;
	}
	loops[0].buckets = buckets;
	loops[0].n_buckets = 1;
	loops[0].max_ns = durations__lower(42);
	bucket.count = 100;
	for (int i = 0; i < 2; i++) {
		lefts[i].process = (char *)(i ? "b" : "a");
		lefts[i].loop = (char *)"epoll";
		lefts[i].blocks = 5;
	}
	rows = rows_of(&batch, "intervals");
	ok(number_at(rows, 0, "start_ns") == 1777882830123456789ull, "the time, to the ns");
	is_str(json_string_value(
		       json_array_get(json_object_get(json_array_get(rows, 0), "lost_reason"), 0)),
	       "ring_full", "a loss");
	json_decref(rows);
	check_loops(&batch);
	rows = rows_of(&batch, "left_out");
	is_str(text_at(rows, 0, "version"), "1", "what was left out has its process' version");
	ok(!text_at(rows, 1, "version"), "or none, if there are two");
	json_decref(rows);
	rows = rows_of(&batch, "blocks");
	is_uint(json_array_size(rows), 0, "no block");
	json_decref(rows);
}

static void test_others(void)
{
	Jankbpf__Record record = JANKBPF__RECORD__INIT, *list[] = { &record };
	Jankbpf__Summary summary = JANKBPF__SUMMARY__INIT;
	Jankbpf__Loop loop = JANKBPF__LOOP__INIT, *loops[] = { &loop };
	const struct batch batch = { AGENT, 1, list, 1, 0 };
	struct strbuf body = STRBUF_INIT;

	summary.loops = loops;
	summary.n_loops = 1;
	record.type_case = JANKBPF__RECORD__TYPE_SUMMARY;
	record.summary = &summary;
	for (size_t i = 0; i < clickhouse_backend.part_cnt; i++) {
		const struct backend_part *part = &clickhouse_backend.parts[i];

		is_int(part->encode(&batch, &body), -ENODATA, "a summary has no %s", part->name);
	}
	record.type_case = JANKBPF__RECORD__TYPE__NOT_SET;
	is_int(part_named("blocks")->encode(&batch, &body), -ENODATA, "nor an empty record");
	strbuf__free(&body);
}

int main(void)
{
	slurp("deploy/clickhouse/schema.sql", &schema);
	test_fixtures();
	test_hostile();
	test_interval();
	test_others();
	strbuf__free(&schema);
	record__free(fixture_builder);
	return tap__done();
}
