/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records as messages: the same through JSON and through protobuf; known values are written, 0
 * included; tables agree.
 */
#include <unistd.h>

#include "export/record/record.h"

#include "export/json/json.h"
#include "export/values.h"
#include "model/block.h"
#include "model/loss.h"
#include "tests/tap.h"
#include "tests/unit/export_fixture.h"
#include "tests/unit/export_record.h"

static Jankbpf__Record *packed_and_unpacked(const Jankbpf__Record *record)
{
	size_t len = jankbpf__record__get_packed_size(record);
	uint8_t *bytes = malloc(len);
	Jankbpf__Record *ret;

	is_uint(jankbpf__record__pack(record, bytes), len, "is packed");
	ret = jankbpf__record__unpack(NULL, len, bytes);
	free(bytes);
	return ret;
}

/* Prints the fields; the text must be the wanted one. */
static void gives(Jankbpf__Record *record, const char *want, const char *how, const char *what)
{
	struct strbuf got = STRBUF_INIT;

	if (record)
		json__add_record(&got, record);
	is_str(strbuf__str(&got), want, "%s: %s", what, how);
	jankbpf__record__free_unpacked(record, NULL);
	strbuf__free(&got);
}

static void test_same(const Jankbpf__Record *record, const char *what)
{
	struct strbuf want = STRBUF_INIT;
	Jankbpf__Record *read = NULL;
	struct err err = { 0 };
	uint64_t unknown = 1;

	if (!ok(record, "%s: a message", what))
		return;
	json__add_record(&want, record);
	is_int(json__read_record(want.data, want.len, &read, &unknown, &err), 0, "%s: is read: %s",
	       what, err.msg);
	is_uint(unknown, 0, "without an unknown member");
	gives(read, strbuf__str(&want), "the same after JSON", what);
	gives(packed_and_unpacked(record), strbuf__str(&want), "the same after protobuf", what);
	strbuf__free(&want);
}

/* One builder for all of them, as a sink uses it. */
static void test_fixtures(void)
{
	struct record *builder = record__new();

	for (int pass = 0; pass < 2; pass++) {
		struct summary summary = fixture__summary();

		for (size_t i = 0; i < FIXTURE_CNT; i++) {
			struct block *block = fixtures[i].make();

			test_same(record__of_block(builder, block), fixtures[i].name);
			block__free(block);
		}
		test_same(record__of_summary(builder, &summary), "summary");
		fixture__add_losses(&summary);
		test_same(record__of_summary(builder, &summary), "summary with losses");
		summary__free(&summary);
	}
	record__free(builder);
	record__free(NULL);
}

/* A known number is written, even if it is 0. */
static void test_zero(void)
{
	struct record *builder = record__new();
	struct block *block = fixture__cpu();
	const Jankbpf__Block *got;
	struct strbuf json = STRBUF_INIT;

	block->process->uid = 0;
	block->pid = block->tid = 0;
	block->live->cpu->total_pct = 0;
	block->live->cpu->has_process_pct = false;
	for (size_t i = 0; i < block->sample_cnt; i++)
		block->samples[i].cpu = 0;
	got = record__of_block(builder, block)->block;
	ok(got->has_uid && !got->uid, "uid 0 is known");
	ok(got->has_pid && got->has_tid && !got->pid, "pid 0, too");
	ok(got->cpu->has_total_pct && !got->cpu->total_pct, "0 %% of load");
	ok(!got->cpu->has_process_pct, "which differs from none");
	ok(got->n_samples && got->samples[0]->has_cpu && !got->samples[0]->cpu, "CPU 0");
	fixture__add_block(&json, block);
	has_str(strbuf__str(&json), "\"uid\":0,", "uid 0 is written");
	has_str(strbuf__str(&json), "\"cpu\":{\"busy\":", "load is written");
	has_str(strbuf__str(&json), "\"total_pct\":0.0", "0 %% of it");
	lacks_str(strbuf__str(&json), "\"process_pct\"", "an unknown value is not");
	block->process->has_uid = false;
	got = record__of_block(builder, block)->block;
	ok(!got->has_uid, "an unknown uid is absent");
	strbuf__free(&json);
	block__free(block);
	record__free(builder);
}

/* Strings of protobuf and JSON are UTF-8: each invalid byte becomes U+FFFD. */
static void test_text(void)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "plain", "plain" },
		{ "", "" },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "a\xff"
		  "b",
		  "a\xef\xbf\xbd"
		  "b" },
		{ "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "tail\xf0", "tail\xef\xbf\xbd" },
	};
	struct record *builder = record__new();

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct block *block = fixture__bare();
		const Jankbpf__Record *record;

		free(block->process->name);
		block->process->name = strdup(rows[i].text);
		record = record__of_block(builder, block);
		is_str(record->block->process, rows[i].want, "text %zu", i);
		test_same(record, "text");
		block__free(block);
	}
	record__free(builder);
}

static bool has_field(const ProtobufCMessageDescriptor *message, const char *name)
{
	return protobuf_c_message_descriptor_get_field_by_name(message, name);
}

/* Words of losses and fields of Lost are one list; so are kinds of waits and fields of Blocked. */
static void test_words(void)
{
	static const char *const states[] = {
#define WORD(nr, NAME, key) key,
		JANK_STATES(WORD)
#undef WORD
	};
	const ProtobufCMessageDescriptor *blocked = &jankbpf__blocked__descriptor;
	const ProtobufCMessageDescriptor *lost = &jankbpf__lost__descriptor;

	for (int i = 0; i < LOSS_CNT; i++)
		ok(has_field(lost, loss__key(i)), "Lost has %s", loss__key(i));
	is_uint(lost->n_fields, LOSS_CNT, "and nothing else");
	for (int i = JANK_STATE_FIRST_BLOCKED; i < JANK_STATE_CNT; i++)
		ok(has_field(blocked, states[i]), "Blocked has %s", states[i]);
	is_uint(blocked->n_fields, JANK_STATE_CNT - JANK_STATE_FIRST_BLOCKED, "and nothing else");
	for (unsigned i = 0; i < lost->n_fields; i++)
		ok(lost->fields[i].type == PROTOBUF_C_TYPE_UINT64, "Lost.%s is a count",
		   lost->fields[i].name);
}

/* The words of a type in schema/fields.tbl: "a,b,c" and its newline. */
static void words_of(const char *type, char *ret, size_t size)
{
	FILE *file = fopen("schema/fields.tbl", "r");
	char line[1024], name[64];

	*ret = '\0';
	while (file && fgets(line, sizeof(line), file)) {
		const char *words = strstr(line, " words=");

		if (sscanf(line, "type %63s", name) == 1 && !strcmp(name, type) && words)
			snprintf(ret, size, "%s", words + 7);
	}
	if (file)
		fclose(file);
}

static void test_table_words(void)
{
#define WORD(nr, NAME, key) "," key
	static const char states[] = JANK_STATES(WORD);
#undef WORD
	char words[1024], want[1024];

	if (access("schema/fields.tbl", R_OK)) {
		skip(3, "no schema/fields.tbl: the test runs outside the checkout");
		return;
	}
	words_of("state", words, sizeof(words));
	snprintf(want, sizeof(want), "%s\n", states + 1);
	is_str(words, want, "the words of `state` are JANK_STATES");
	words_of("kind", words, sizeof(words));
	snprintf(want, sizeof(want), "cpu,kernel%s,filesystem,terminal,child\n",
		 states + strlen(",running"));
	is_str(words, want,
	       "those of `kind`: cpu and kernel for running, the same, then derived ones");
	*want = 0;
	for (size_t nr = 0; value__kind_word(nr); nr++)
		snprintf(want + strlen(want), sizeof(want) - strlen(want), "%s%s", nr ? "," : "",
			 value__kind_word(nr));
	strcat(want, "\n");
	is_str(want, words, "value__kind_word has each");
}

int main(void)
{
	test_fixtures();
	test_zero();
	test_text();
	test_words();
	test_table_words();
	return tap__done();
}
