/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The quick JSON reader: it reads what our writer writes, with the same result as the other reader,
 * and refuses all other forms, which the other reader then reads.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/json/json.h"
#include "tests/tap.h"
#include "tests/unit/export_fixture.h"
#include "tests/unit/export_record.h"

#define HEAD "{\"type\":\"block\",\"schema\":\"jankbpf/1\","

static int read_exact(const char *text, size_t len, Jankbpf__Record **ret)
{
	char *exact = malloc(len + !len); /* the text ends where its memory ends */
	int res;

	memcpy(exact, text, len);
	res = json__read_own(exact, len, ret);
	free(exact);
	return res;
}

/* Writes what the quick reader and, by a blank, the other one make of the text. */
static void check_same(const char *what, const struct strbuf *text)
{
	struct strbuf own = STRBUF_INIT, other = STRBUF_INIT, blank = STRBUF_INIT;
	Jankbpf__Record *record;
	uint64_t unknown_cnt;

	if (!is_int(read_exact(text->data, text->len, &record), 0, "%s is read", what))
		return;
	json__add_record(&own, record);
	jankbpf__record__free_unpacked(record, NULL);
	strbuf__addf(&blank, " %s", strbuf__str(text));
	is_int(read_exact(blank.data, blank.len, &record), -EBADMSG, "not with a blank before it");
	is_int(json__read_record(blank.data, blank.len, &record, &unknown_cnt, NULL), 0,
	       "which the other reader accepts");
	json__add_record(&other, record);
	jankbpf__record__free_unpacked(record, NULL);
	is_str(strbuf__str(&own), strbuf__str(&other), "with the same content");
	strbuf__free(&own);
	strbuf__free(&other);
	strbuf__free(&blank);
}

static void test_fixtures(void)
{
	struct summary summary = fixture__summary();
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < FIXTURE_CNT; i++) {
		struct block *block = fixtures[i].make();

		strbuf__reset(&text);
		fixture__add_block(&text, block);
		check_same(fixtures[i].name, &text);
		block__free(block);
	}
	fixture__add_losses(&summary);
	strbuf__reset(&text);
	fixture__add_summary(&text, &summary);
	check_same("a summary", &text);
	strbuf__addc(&text, '\n');
	check_same("a line", &text);
	summary__free(&summary);
	strbuf__free(&text);
}

static void test_refused(void)
{
	static const char *const texts[] = {
		"",
		"{",
		"{\"schema\":\"jankbpf/1\",\"type\":\"block\"}",
		HEAD "}",
		HEAD "\"pid\":1",
		HEAD "\"pid\":1,}",
		HEAD "\"pid\":1}x",
		HEAD "\"pid\":1}\n\n",
		HEAD "\"pid\":01}",
		HEAD "\"pid\":-1}",
		HEAD "\"pid\":1.5}",
		HEAD "\"pid\":4294967296}",
		HEAD "\"pid\": 1}",
		HEAD "\"tid\":1,\"pid\":1}",
		HEAD "\"pid\":1,\"pid\":1}",
		HEAD "\"later\":1}",
		HEAD "\"duration_ns\":9999999999999999999}",
		HEAD "\"process\":\"a\\u0000b\"}",
		HEAD "\"process\":\"\\ud800\"}",
		HEAD "\"process\":\"\xff\"}",
		HEAD "\"process\":\"a\nb\"}",
		HEAD "\"process\":\"a\\",
		HEAD "\"process\":\"a\\\"}",
		HEAD "\"process\":\"a\\u00",
		HEAD "\"process\":null}",
		HEAD "\"cpu\":{\"total_pct\":1e3}}",
		HEAD "\"cpu\":{\"total_pct\":.5}}",
		HEAD "\"cpu\":{\"total_pct\":5.}}",
		HEAD "\"cpu\":{\"total_pct\":1234567890123456}}",
		HEAD "\"cpu\":{\"busy\":1}}",
		HEAD "\"samples\":[{}",
		HEAD "\"samples\":[{},]}",
		HEAD "\"samples\":[{},7]}",
		HEAD "\"samples\":[{\"stack\":[{\"address\":\"0x\"}]}]}",
		HEAD "\"samples\":[{\"stack\":[{\"address\":\"0x1ffffffffffffffff\"}]}]}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		Jankbpf__Record *record = NULL;

		is_int(read_exact(texts[i], strlen(texts[i]), &record), -EBADMSG, "%s is refused",
		       texts[i]);
		ok(!record, "and gives nothing");
	}
}

/* A record cut anywhere is refused, and read from no byte behind its end. */
static void test_cut(void)
{
	struct block *block = fixture__chain();
	struct strbuf text = STRBUF_INIT;
	Jankbpf__Record *record;
	size_t accepted = 0;

	fixture__add_block(&text, block);
	for (size_t len = 0; len < text.len; len++)
		accepted += read_exact(text.data, len, &record) != -EBADMSG;
	is_uint(accepted, 0, "none of %zu cut records is read", text.len);
	strbuf__free(&text);
	block__free(block);
}

int main(void)
{
	test_fixtures();
	test_refused();
	test_cut();
	return tap__done();
}
