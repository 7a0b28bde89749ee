/* SPDX-License-Identifier: GPL-2.0 */
/* Limits of records: by fault in an hour, of all in a second, and what is counted instead. */
#include "export/record/limits.h"

#include "base/clock.h"
#include "files/bucket.h"
#include "tests/tap.h"

#define HOUR_NS (3600 * NS_PER_SEC)

struct made {
	Jankbpf__Record record;
	Jankbpf__Block block;
	Jankbpf__Cause cause;
	Jankbpf__Frame frame;
};

static const Jankbpf__Record *make(struct made *m, const char *signature, uint64_t delay_ns)
{
	jankbpf__record__init(&m->record);
	jankbpf__block__init(&m->block);
	jankbpf__cause__init(&m->cause);
	jankbpf__frame__init(&m->frame);
	m->record.type_case = JANKBPF__RECORD__TYPE_BLOCK;
	m->record.block = &m->block;
	m->block.has_delay_ns = true;
	m->block.delay_ns = delay_ns;
	m->block.process = (char *)"redis";
	m->block.unit = (char *)"redis.service";
	m->block.loop = (char *)"epoll";
	m->block.cause = &m->cause;
	m->cause.signature = (char *)signature;
	m->cause.kind = (char *)"cpu";
	m->cause.frame = &m->frame;
	m->frame.function = (char *)"work";
	return &m->record;
}

static bool takes(struct limits *limits, unsigned per_signature, unsigned per_s,
		  const char *signature, uint64_t delay_ns, uint64_t now_ns)
{
	const struct limit_rates rates = { per_signature, per_s };
	struct made m;

	return limits__takes(limits, rates, make(&m, signature, delay_ns), now_ns);
}

static void test_signature(void)
{
	struct limits *limits = limits__new();
	unsigned cnt = 0;

	for (unsigned i = 0; i < 10; i++)
		cnt += takes(limits, 3, 0, "a", 50, 1 + i);
	is_uint(cnt, 3, "three records of a fault");
	ok(takes(limits, 3, 0, "b", 50, 20), "another fault has its own");
	ok(takes(limits, 3, 0, "a", 51, 21), "a worse one is a record");
	ok(!takes(limits, 3, 0, "a", 51, 22), "one that is as bad is not");
	ok(!takes(limits, 3, 0, "a", 20, HOUR_NS), "within the hour");
	ok(takes(limits, 3, 0, "a", 20, HOUR_NS + 1), "an hour later records come again");
	is_uint(limits__counts(limits, true).per_signature, 9, "the others are counted");
	is_uint(limits__counts(limits, true).per_s, 0, "by their limit");
	ok(takes(limits, 0, 0, "a", 1, HOUR_NS + 2), "0 is no limit");
	limits__free(limits);
}

static void test_second(void)
{
	struct limits *limits = limits__new();
	unsigned cnt = 0;
	char signature[16];

	/* each a fault of its own, 10 ms apart, for ten seconds */
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(signature, sizeof(signature), "%x", i);
		cnt += takes(limits, 5, 20, signature, 50, NS_PER_SEC + i * 10 * NS_PER_MS);
	}
	ok(cnt >= 215 && cnt <= 220, "20 at once and 20 a second: %u in ten seconds", cnt);
	is_uint(limits__counts(limits, true).per_s, 1000 - cnt, "the others are counted");
	ok(!takes(limits, 1, 20, "new", 1u << 30, NS_PER_SEC + 9990 * NS_PER_MS),
	   "also one that is worse than all");
	limits__free(limits);
}

static void test_left_out(void)
{
	struct limits *limits = limits__new();
	Jankbpf__LeftOut **list;
	size_t cnt;

	for (unsigned i = 0; i < 4; i++)
		takes(limits, 1, 0, "a", 50 - i, 1 + i);
	ok(!limits__left_out(limits, &list, &cnt) && cnt == 1, "one fault was left out");
	is_str(list[0]->signature, "a", "with its signature");
	is_str(list[0]->process, "redis", "process");
	is_str(list[0]->unit, "redis.service", "unit");
	is_str(list[0]->loop, "epoll", "loop");
	is_str(list[0]->kind, "cpu", "kind");
	is_str(list[0]->function, "work", "function");
	is_uint(list[0]->blocks, 3, "and count");
	is_uint(list[0]->total_ns, 49 + 48 + 47, "the sum of their delays");
	is_uint(list[0]->max_ns, 49, "the longest");
	free(list);
	limits__end_interval(limits);
	is_uint(limits__counts(limits, false).per_signature, 0, "the next interval has none");
	is_uint(limits__counts(limits, true).per_signature, 3, "the run has them");
	ok(!limits__left_out(limits, &list, &cnt) && !cnt, "nor a fault");
	free(list);
	limits__free(limits);
}

static void test_bounds(void)
{
	struct limits *limits = limits__new();
	Jankbpf__LeftOut **list;
	uint64_t sum = 0;
	char signature[16];
	size_t cnt;

	for (unsigned i = 0; i < 3 * LIMITS_FAULTS_MAX; i++) {
		snprintf(signature, sizeof(signature), "%x", i);
		takes(limits, 1, 0, signature, 50, 1);
		takes(limits, 1, 0, signature, 50, 1);
	}
	ok(!limits__left_out(limits, &list, &cnt), "many faults");
	is_uint(cnt, LIMITS_LEFT_OUT_MAX, "are bounded in an interval");
	for (size_t i = 0; i < cnt; i++)
		sum += list[i]->blocks;
	is_uint(sum, limits__counts(limits, false).per_signature, "but all are counted");
	ok(!list[cnt - 1]->signature && list[cnt - 1]->blocks > 1000, "the last is of the others");
	free(list);
	limits__free(limits);
}

static void test_hang(void)
{
	struct limits *limits = limits__new();
	const struct limit_rates rates = { 1, 0 };
	Jankbpf__LeftOut **list;
	struct made m;
	size_t cnt;

	make(&m, "a", 50);
	m.record.type_case = JANKBPF__RECORD__TYPE_HANG;
	ok(limits__takes(limits, rates, &m.record, 1), "a hang is a record");
	ok(!limits__takes(limits, rates, &m.record, 2), "the next is not");
	ok(takes(limits, 1, 0, "a", 50, 3), "its block is one");
	is_uint(limits__counts(limits, true).per_signature, 1, "hangs are counted");
	ok(!limits__left_out(limits, &list, &cnt) && !cnt, "but are no blocks");
	free(list);
	limits__free(limits);
}

/* A reload may lower the rate. */
static void test_lowered(void)
{
	struct bucket bucket = {};

	is_uint(bucket__left(&bucket, (struct bucket_rate){ 100, 100 }, NS_PER_SEC), 100, "full");
	is_uint(bucket__left(&bucket, (struct bucket_rate){ 10, 10 }, NS_PER_SEC + 1), 10,
		"a lowered rate holds at once");
}

int main(void)
{
	test_signature();
	test_second();
	test_left_out();
	test_bounds();
	test_hang();
	test_lowered();
	return tap__done();
}
