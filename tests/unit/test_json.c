/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The JSON reader: an invalid record is refused with the reason; hostile text costs no more than
 * its size.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/json/json.h"
#include "tests/tap.h"

#define HEAD "{\"type\":\"block\",\"schema\":\"jankbpf/1\","

static int read_text(const char *text, size_t len, Jankbpf__Record **ret, uint64_t *unknown_cnt,
		     struct err *err)
{
	/* The text ends where its memory ends. */
	char *exact = malloc(len + !len);
	int res;

	memcpy(exact, text, len);
	*ret = NULL;
	*unknown_cnt = 77;
	res = json__read_record(exact, len, ret, unknown_cnt, err);
	free(exact);
	return res;
}

/* Texts, and words of the refusal. */
static const struct {
	const char *text, *words;
} refused[] = {
	{ "", "no JSON: " },
	{ "{", "no JSON: " },
	{ "nonsense", "no JSON: " },
	{ HEAD "\"pid\":}", "no JSON: " },
	{ HEAD "\"pid\":1}{", "no JSON: " },
	{ HEAD "\"process\":\"\xff\xfe\"}", "no JSON: " },
	{ HEAD "\"process\":\"\\ud800\"}", "no JSON: " },
	{ HEAD "\"process\":\"a\\u0000b\"}", "no JSON: " },
	{ HEAD "\"duration_ns\":99999999999999999999999}", "no JSON: " },
	{ HEAD "\"duration_ns\":1e999}", "no JSON: " },
	{ "[]", "lacks type and schema" },
	{ "{}", "lacks type and schema" },
	{ "{\"type\":\"block\"}", "lacks type and schema" },
	{ "{\"schema\":\"jankbpf/1\"}", "lacks type and schema" },
	{ "{\"type\":7,\"schema\":\"jankbpf/1\"}", "lacks type and schema" },
	{ "{\"type\":\"dispatch\",\"schema\":\"jankbpf/1\"}", "lacks type and schema" },
	{ "{\"type\":\"schema\",\"schema\":\"jankbpf/1\"}", "lacks type and schema" },
	{ "{\"type\":\"block\",\"schema\":1}", "lacks type and schema" },
	{ HEAD "\"pid\":\"1\"}", "member 'pid' is not an integer" },
	{ HEAD "\"pid\":1.5}", "member 'pid' is not an integer" },
	{ HEAD "\"pid\":null}", "member 'pid' is not an integer" },
	{ HEAD "\"pid\":-1}", "member 'pid' is -1, which is not in 0 to 4294967295" },
	{ HEAD "\"pid\":4294967296}",
	  "member 'pid' is 4294967296, which is not in 0 to 4294967295" },
	{ HEAD "\"message\":{\"fd\":-1}}", "member 'fd' is -1, which is not in 0 to 2147483647" },
	{ HEAD "\"message\":{\"ready\":0}}", "member 'ready' is 0, which is not in 1 to " },
	{ HEAD "\"duration_ns\":-5}", "member 'duration_ns' is -5, which is not in 0 to " },
	{ HEAD "\"process\":7}", "member 'process' is not a string" },
	{ HEAD "\"cpu\":{\"busy\":1}}", "member 'busy' is not true or false" },
	{ HEAD "\"cpu\":{\"total_pct\":\"9\"}}", "member 'total_pct' is not a number" },
	{ HEAD "\"cpu\":[]}", "'Cpu' is not an object" },
	{ HEAD "\"samples\":{}}", "member 'samples' is not an array" },
	{ HEAD "\"samples\":[{},7]}", "'Sample' is not an object" },
	{ HEAD "\"samples\":[{\"stack\":[{\"address\":16}]}]}", "is not an address of the form" },
	{ HEAD "\"samples\":[{\"stack\":[{\"address\":\"16\"}]}]}", "is not an address" },
	{ HEAD "\"samples\":[{\"stack\":[{\"address\":\"0x\"}]}]}", "is not an address" },
	{ HEAD "\"samples\":[{\"stack\":[{\"address\":\"0xg\"}]}]}", "is not an address" },
	{ HEAD "\"samples\":[{\"stack\":[{\"address\":\"0x-1\"}]}]}", "is not an address" },
	{ HEAD "\"samples\":[{\"stack\":[{\"address\":\"0x 1\"}]}]}", "is not an address" },
	{ HEAD "\"samples\":[{\"stack\":[{\"address\":\"0x0x1\"}]}]}", "is not an address" },
	{ HEAD "\"samples\":[{\"stack\":[{\"address\":\"0x1ffffffffffffffff\"}]}]}",
	  "is not an address" },
	{ "{\"type\":\"summary\",\"schema\":\"jankbpf/"
	  "1\",\"loops\":[{\"log2\":[1,\"2\"]}]}",
	  "member 'log2' is not an integer" },
};

static void test_refused(void)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		Jankbpf__Record *record;
		struct err err = { 0 };
		uint64_t cnt;

		is_int(read_text(refused[i].text, strlen(refused[i].text), &record, &cnt, &err),
		       -EBADMSG, "%s is refused", refused[i].text);
		has_str(err.msg, refused[i].words, "with these words");
		ok(!record && cnt == 77, "and gives nothing");
	}
}

static Jankbpf__Record *must_read(const char *text, size_t len, uint64_t want_unknown,
				  const char *what)
{
	Jankbpf__Record *record;
	struct err err = { 0 };
	uint64_t cnt;

	is_int(read_text(text, len, &record, &cnt, &err), 0, "%s is read: %s", what, err.msg);
	is_uint(cnt, want_unknown, "with this number of unknown members");
	return record;
}

/* A later version adds members, in any object. */
static void test_unknown(void)
{
	static const char text[] =
		HEAD "\"later\":[{\"pid\":\"x\"}],\"pid\":5,\"cpu\":{\"busy\":true,\"gpu\":null},"
		     "\"samples\":[{\"t_ns\":1,\"x\":1,\"stack\":[{\"address\":"
		     "\"0xffffffffffffffff\",\"y\":0}]}]}";
	struct strbuf sb = STRBUF_INIT;
	Jankbpf__Record *record = must_read(text, strlen(text), 4, "a record of a later version");

	json__add_record(&sb, record);
	is_str(strbuf__str(&sb),
	       HEAD "\"pid\":5,\"cpu\":{\"busy\":true},\"preemptors\":[],\"samples\":[{\"t_ns\":1,"
		    "\"stack\":[{\"address\":\"0xffffffffffffffff\"}]}]}",
	       "the rest is unchanged");
	strbuf__free(&sb);
	jankbpf__record__free_unpacked(record, NULL);
}

static void test_kinds(void)
{
	static const struct {
		const char *text;
		Jankbpf__Record__TypeCase type;
	} rows[] = {
		{ "{\"type\":\"block\",\"schema\":\"jankbpf/1\"}", JANKBPF__RECORD__TYPE_BLOCK },
		{ "{\"type\":\"hang\",\"schema\":\"jankbpf/1\"}", JANKBPF__RECORD__TYPE_HANG },
		{ "{\"schema\":\"jankbpf/9\",\"type\":\"summary\"}",
		  JANKBPF__RECORD__TYPE_SUMMARY },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		Jankbpf__Record *record =
			must_read(rows[i].text, strlen(rows[i].text), 0, rows[i].text);

		ok(record && record->type_case == rows[i].type, "as its kind");
		jankbpf__record__free_unpacked(record, NULL);
	}
}

/* The last one counts, as in other JSON readers; none leaks. */
static void test_duplicates(void)
{
	static const char text[] =
		HEAD "\"process\":\"a\",\"process\":\"b\",\"cpu\":{\"busy\":true},"
		     "\"cpu\":{\"total_pct\":1},\"samples\":[{}],\"samples\":[{},{}]}";
	Jankbpf__Record *record = must_read(text, strlen(text), 0, "a member given twice");

	is_str(record->block->process, "b", "the last string counts");
	ok(!record->block->cpu->has_busy && record->block->cpu->has_total_pct, "the last object");
	is_uint(record->block->n_samples, 2, "the last array");
	jankbpf__record__free_unpacked(record, NULL);
}

/* Deep nesting: in known members as deep as the schema, in others up to jansson's limit. */
static void test_deep(void)
{
	struct strbuf text = STRBUF_INIT;
	Jankbpf__Record *record;
	struct err err = { 0 };
	uint64_t cnt;

	strbuf__adds(&text, HEAD "\"later\":");
	for (int i = 0; i < 100000; i++)
		strbuf__adds(&text, i % 2 ? "[" : "{\"a\":");
	is_int(read_text(text.data, text.len, &record, &cnt, &err), -EBADMSG,
	       "a depth beyond reason");
	has_str(err.msg, "depth", "is reported");
	strbuf__free(&text);
}

static void test_long(void)
{
	const size_t len = 1 << 20;
	struct strbuf text = STRBUF_INIT;
	Jankbpf__Record *record;

	strbuf__adds(&text, HEAD "\"process\":\"");
	for (size_t i = 0; i < len; i++)
		strbuf__addc(&text, 'x');
	strbuf__adds(&text, "\"}");
	record = must_read(text.data, text.len, 0, "a string of a megabyte");
	is_uint(strlen(record->block->process), len, "has its length");
	jankbpf__record__free_unpacked(record, NULL);
	strbuf__reset(&text);
	strbuf__adds(&text, HEAD "\"samples\":[{}");
	for (size_t i = 1; i < 100000; i++)
		strbuf__adds(&text, ",{}");
	strbuf__adds(&text, ",7]}");
	{
		struct err err = { 0 };
		uint64_t cnt;

		is_int(read_text(text.data, text.len, &record, &cnt, &err), -EBADMSG,
		       "100000 samples and one invalid one");
	}
	strbuf__free(&text);
}

int main(void)
{
	test_refused();
	test_unknown();
	test_kinds();
	test_duplicates();
	test_deep();
	test_long();
	return tap__done();
}
