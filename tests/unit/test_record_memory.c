/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Out of memory at any allocation: a record is whole or absent, and nothing leaks. mk/test.mk wraps
 * malloc.
 */
#include <errno.h>

#include "export/json/json.h"
#include "export/record/record.h"
#include "export/sink.h"
#include "tests/tap.h"
#include "tests/unit/export_fixture.h"
#include "tests/unit/export_record.h"
#include "tests/unit/failing_memory.h"

#define ALLOCATIONS_MAX 1000000

/*
 * Writes a block to a stream with memory for n allocations. Returns 0 or -ENOMEM, and the output.
 */
static int put(const struct block *block, enum record_format format, long n, struct strbuf *ret)
{
	struct strbuf bytes = STRBUF_INIT;
	const Jankbpf__Record *record;
	struct record *builder;
	int res;

	allocations_left = n;
	builder = record__new();
	record = builder ? record__of_block(builder, block) : NULL;
	res = record ? stream__add(&bytes, format, record) : -ENOMEM;
	allocations_left = -1;
	strbuf__reset(ret);
	if (!res)
		strbuf__add(ret, bytes.data, bytes.len);
	strbuf__free(&bytes);
	record__free(builder);
	return res;
}

static void test_writer(enum record_format format, const char *what)
{
	struct strbuf want = STRBUF_INIT, got = STRBUF_INIT;

	for (size_t i = 0; i < FIXTURE_CNT; i++) {
		struct block *block = fixtures[i].make();
		long n = 0, wrong = 0;
		int res;

		put(block, format, -1, &want);
		while ((res = put(block, format, n, &got)) && n++ < ALLOCATIONS_MAX)
			wrong += res != -ENOMEM;
		ok(n > 1 && !wrong, "%s: %s fails at each of %ld allocations", fixtures[i].name,
		   what, n);
		ok(!res && got.len == want.len && !memcmp(got.data, want.data, got.len),
		   "then it is whole");
		block__free(block);
	}
	strbuf__free(&want);
	strbuf__free(&got);
}

static void test_reader(void)
{
	for (size_t i = 0; i < FIXTURE_CNT; i++) {
		struct block *block = fixtures[i].make();
		struct strbuf json = STRBUF_INIT;
		Jankbpf__Record *record = NULL;
		struct err err = { 0 };
		uint64_t unknown;
		long n = 0, wrong = 0;
		int res;

		fixture__add_block(&json, block);
		for (;; n++) {
			allocations_left = n;
			res = json__read_record(json.data, json.len, &record, &unknown, &err);
			allocations_left = -1;
			if (!res || n > ALLOCATIONS_MAX)
				break;
			wrong += res != -ENOMEM || record;
		}
		ok(n > 1 && !wrong, "%s: the reader fails at each of %ld allocations",
		   fixtures[i].name, n);
		ok(!res && record, "then it is whole");
		jankbpf__record__free_unpacked(record, NULL);
		strbuf__free(&json);
		block__free(block);
	}
}

int main(void)
{
	test_writer(RECORD_JSON, "JSON");
	test_writer(RECORD_PROTO, "protobuf");
	test_reader();
	return tap__done();
}
