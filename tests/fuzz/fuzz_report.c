/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Damaged streams of records as `report` reads them, through every format: what is written is whole
 * and decodes.
 */
#include <fcntl.h>
#include <jansson.h>

#include "export/json/json.h"
#include "export/report/report.h"
#include "export/sink.h"
#include "schema/perfetto.pb-c.h"
#include "tests/fuzz/corpus.h"
#include "tests/fuzz/message.h"
#include "tests/fuzz/records.h"

#define FORMAT_CNT 6

static const struct report_ops *const formats[FORMAT_CNT] = { &report_folded,	&report_pprof,
							      &report_perfetto, &report_speedscope,
							      &report_md,	&report_html };

static const char *const words[] = { "{",
				     "}",
				     "[",
				     "]",
				     "\"",
				     ":",
				     ",",
				     "0",
				     "\n",
				     ";",
				     "\\u2028",
				     "\"samples\":[{",
				     "\"ns\":9223372036854775807",
				     "\"inlined\":true",
				     "\"hang\"",
				     "\xff",
				     "\x0a",
				     "\x80\x80\x80",
				     NULL };

static struct {
	struct report *reports[FORMAT_CNT];
	struct report_out outs[FORMAT_CNT];
	struct hangs *hangs[FORMAT_CNT];
	uint64_t records;
	const char *broken;
} run;

static void begin(void)
{
	for (int i = 0; i < FORMAT_CNT; i++) {
		run.outs[i] = (struct report_out){ .fd = open("/dev/null", O_WRONLY | O_CLOEXEC) };
		run.reports[i] = report__new(formats[i], &run.outs[i]);
		run.hangs[i] = hangs__new();
	}
}

static void take(Jankbpf__Record *record)
{
	run.records++;
	for (int i = 0; i < FORMAT_CNT; i++)
		if (hangs__record(run.hangs[i], run.reports[i], record))
			run.broken = "a record that a report refuses";
	jankbpf__record__free_unpacked(record, NULL);
}

/* The bytes are there unless they were too many. */
static void check(int i)
{
	const struct strbuf *bytes = &run.outs[i].bytes;

	if (!bytes->len)
		return;
	if (formats[i] == &report_speedscope && bytes->data[0] == '{') {
		json_t *json = json_loadb(bytes->data, bytes->len, 0, NULL);

		if (!json)
			run.broken = "a speedscope file that is no JSON";
		json_decref(json);
	}
	if (formats[i] == &report_perfetto) {
		Perfetto__Protos__Trace *trace = perfetto__protos__trace__unpack(
			NULL, bytes->len, (const uint8_t *)bytes->data);

		if (!trace)
			run.broken = "a trace that does not decode";
		else
			perfetto__protos__trace__free_unpacked(trace, NULL);
	}
}

static void end(void)
{
	for (int i = 0; i < FORMAT_CNT; i++) {
		if (hangs__finish(run.hangs[i], run.reports[i]) ||
		    run.reports[i]->ops->finish(run.reports[i]))
			run.broken = "a report that cannot be finished";
		check(i);
		hangs__free(run.hangs[i]);
		report__free(run.reports[i]);
		strbuf__free(&run.outs[i].bytes);
		close(run.outs[i].fd);
	}
}

static void read_lines(FILE *file)
{
	struct strbuf line = STRBUF_INIT;
	Jankbpf__Record *record;
	uint64_t unknown_cnt;

	while (stream__read_line(file, &line) > 0)
		if (!json__read_record(line.data, line.len, &record, &unknown_cnt, NULL))
			take(record);
	strbuf__free(&line);
}

static void read_messages(FILE *file)
{
	struct strbuf bytes = STRBUF_INIT;
	size_t head;

	while (stream__read(file, &bytes, &head) > 0) {
		Jankbpf__Record *record = jankbpf__record__unpack(
			NULL, bytes.len - head, (const uint8_t *)bytes.data + head);

		if (record && record->type_case)
			take(record);
		else
			jankbpf__record__free_unpacked(record, NULL);
	}
	strbuf__free(&bytes);
}

static void use(const struct corpus *c)
{
	FILE *file = c->len ? fmemopen(c->bytes, c->len, "r") : NULL;

	if (!file)
		return;
	begin();
	if (stream__is_binary(file))
		read_messages(file);
	else
		read_lines(file);
	end();
	fclose(file);
}

int main(void)
{
	struct corpus *c = corpus__load("stream", 2000);

	corpus__add_records(c, 16384);
	c->words = words;
	while (corpus__next(c) && !run.broken)
		use(c);
	fuzz__ok(&c->fuzz, run.broken);
	ok(run.records, "%llu records", (unsigned long long)run.records);
	corpus__end(c);
	return tap__done();
}
