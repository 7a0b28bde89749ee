/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Damaged streams of records, JSON Lines and protobuf, as `symbolize` reads them: what is read can
 * be written in both forms, and the JSON that is written can be read again.
 */
#include "export/json/json.h"
#include "export/sink.h"
#include "tests/fuzz/corpus.h"
#include "tests/fuzz/message.h"
#include "tests/fuzz/records.h"

static const char *const words[] = {
	"{",
	"}",
	"[",
	"]",
	"\"",
	":",
	",",
	"null",
	"true",
	"-1",
	"1e999",
	"0.5",
	"\\u0000",
	"\\ud800",
	"\"0x1\"",
	"\n",
	"\"type\":",
	"\"block\"",
	"\"hang\"",
	"\"summary\"",
	"\"samples\":[{",
	"\"chain\":[{",
	"\xff",
	"\x0a",
	"\x0b",
	"\x80\x80\x80",
	NULL,
};

static struct {
	uint64_t lines, own, messages, refused;
	const char *broken;
} run;

static void write_again(Jankbpf__Record *record)
{
	struct strbuf json = STRBUF_INIT, proto = STRBUF_INIT;
	Jankbpf__Record *again;
	uint64_t unknown_cnt;

	if (stream__add(&json, RECORD_JSON, record) || stream__add(&proto, RECORD_PROTO, record))
		run.broken = "a record that cannot be written";
	if (json.len && memchr(json.data, '\n', json.len - 1))
		run.broken = "a record of two lines";
	if (!json__read_record(json.data, json.len, &again, &unknown_cnt, NULL)) {
		if (unknown_cnt)
			run.broken = "a member that is unknown when it is read again";
		jankbpf__record__free_unpacked(again, NULL);
	}
	strbuf__free(&json);
	strbuf__free(&proto);
	jankbpf__record__free_unpacked(record, NULL);
}

/* What the quick reader accepts, the other reader accepts, too, with the same content. */
static void compare_readers(const struct strbuf *line)
{
	struct strbuf blank = STRBUF_INIT, own = STRBUF_INIT, other = STRBUF_INIT;
	Jankbpf__Record *record;
	uint64_t unknown_cnt;

	if (json__read_own(line->data, line->len, &record))
		return;
	run.own++;
	json__add_record(&own, record);
	jankbpf__record__free_unpacked(record, NULL);
	strbuf__addc(&blank, ' '); /* which is not our form */
	strbuf__add(&blank, line->data, line->len);
	if (json__read_record(blank.data, blank.len, &record, &unknown_cnt, NULL)) {
		run.broken = "a line that only the quick reader accepts";
	} else {
		json__add_record(&other, record);
		jankbpf__record__free_unpacked(record, NULL);
		if (unknown_cnt || strcmp(strbuf__str(&own), strbuf__str(&other)))
			run.broken = "a line that the readers understand differently";
	}
	strbuf__free(&blank);
	strbuf__free(&own);
	strbuf__free(&other);
}

static void read_lines(FILE *file)
{
	struct strbuf line = STRBUF_INIT;
	struct err err = { 0 };
	Jankbpf__Record *record;
	uint64_t unknown_cnt;

	while (stream__read_line(file, &line) > 0) {
		if (json__read_record(line.data, line.len, &record, &unknown_cnt, &err)) {
			run.refused++;
			continue;
		}
		run.lines++;
		compare_readers(&line);
		write_again(record);
	}
	strbuf__free(&line);
}

static void read_messages(FILE *file)
{
	struct strbuf bytes = STRBUF_INIT;
	size_t head;

	while (stream__read(file, &bytes, &head) > 0) {
		Jankbpf__Record *record = jankbpf__record__unpack(
			NULL, bytes.len - head, (const uint8_t *)bytes.data + head);

		run.refused += !record;
		if (!record || !record->type_case) {
			jankbpf__record__free_unpacked(record, NULL);
			continue;
		}
		run.messages++;
		write_again(record);
	}
	strbuf__free(&bytes);
}

static void use(const struct corpus *c)
{
	FILE *file = c->len ? fmemopen(c->bytes, c->len, "r") : NULL;

	if (!file)
		return;
	if (stream__is_binary(file))
		read_messages(file);
	else
		read_lines(file);
	fclose(file);
}

int main(void)
{
	struct corpus *c = corpus__load("stream", 200);

	corpus__add_records(c, 4096);
	c->words = words;
	while (corpus__next(c) && !run.broken)
		use(c);
	fuzz__ok(&c->fuzz, run.broken);
	ok(run.own, "%llu lines of our own form", (unsigned long long)run.own);
	ok(run.lines && run.messages && run.refused, "%llu lines, %llu messages, %llu refused",
	   (unsigned long long)run.lines, (unsigned long long)run.messages,
	   (unsigned long long)run.refused);
	corpus__end(c);
	return tap__done();
}
