/* SPDX-License-Identifier: GPL-2.0 */
/*
 * jankbpf diff: the statistics against known values, and the findings on sampled runs: equal pairs,
 * changed rates and times, bursts, faults that are new or gone.
 */
#include "export/diff/diff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "export/diff/statistics.h"
#include "tests/tap.h"

#define PAIRS	  200
#define INTERVALS 30
#define SEC	  NS_PER_SEC

static bool is_near(double got, double want)
{
	return fabs(got - want) <= 1e-6 * fabs(want) + 1e-12;
}

/* Of R: pbeta, binom.test, pt, p.adjust. */
static void test_statistics(void)
{
	struct p_value list[] = { { 0.01, 0 }, { 0.04, 1 }, { 0.03, 2 }, { 0.005, 3 } };
	double low, high;

	ok(is_near(beta_part(2, 3, 0.4), 0.5248), "I_0.4(2, 3)");
	ok(is_near(beta_part(0.5, 0.5, 0.25), 1.0 / 3), "I_0.25(1/2, 1/2) = 1/3");
	ok(is_near(beta_part(300, 500, 0.375), 1 - beta_part(500, 300, 0.625)), "symmetry");
	ok(beta_part(5, 5, 0) == 0 && beta_part(5, 5, 1) == 1, "the ends");
	ok(is_near(binomial_p(9, 10, 0.5), 22.0 / 1024), "9 of 10 with 1/2");
	ok(is_near(binomial_p(5, 10, 0.5), 1), "5 of 10 with 1/2");
	ok(is_near(binomial_p(0, 10, 0.5), 2.0 / 1024), "0 of 10 with 1/2");
	binomial_bounds(0, 10, &low, &high);
	ok(low == 0 && fabs(high - 0.30849710) < 1e-6, "the bounds of 0 of 10");
	binomial_bounds(5, 10, &low, &high);
	ok(fabs(low - 0.18708603) < 1e-6 && fabs(high - 0.81291397) < 1e-6, "of 5 of 10");
	binomial_bounds(10, 10, &low, &high);
	ok(fabs(low - 0.69150290) < 1e-6 && high == 1, "of 10 of 10");
	ok(fabs(student_p(2.228, 10) - 0.05) < 1e-4, "t of 2.228 with 10 degrees");
	ok(is_near(student_p(1, 1), 0.5), "t of 1 with 1 degree (Cauchy)");
	ok(fabs(student_t(0.05, 10) - 2.228139) < 1e-5 && fabs(student_t(0.05, 1) - 12.7062) < 1e-3,
	   "and back");
	ok(fabs(rank_sum((uint64_t[]){ 1, 2, 3, 4, 5 }, 5, (uint64_t[]){ 6, 7, 8, 9, 10 }, 5) -
		2.611165) < 1e-5,
	   "five that are larger than five others");
	ok(rank_sum((uint64_t[]){ 3, 3, 3, 50 }, 3, (uint64_t[]){ 3, 3 }, 2) == 0, "all are equal");
	ok(fabs(rank_sum((uint64_t[]){ 1, 2, 2, 3 }, 4, (uint64_t[]){ 2, 3, 3, 4 }, 4) - 1.517442) <
		   1e-3,
	   "with ties");
	ok(fabs(normal_p(1.959964) - 0.05) < 1e-6, "1.96 standard deviations");
	ok(fabs(normal_z(0.05) - 1.959964) < 1e-5 && normal_z(0) > 38 && normal_z(1) < 1e-5,
	   "and back");
	adjust_p(list, 4);
	ok(list[0].nr == 3 && is_near(list[0].p, 0.02) && is_near(list[1].p, 0.02) &&
		   is_near(list[2].p, 0.04) && is_near(list[3].p, 0.04),
	   "adjusted for many tests");
}

/* --- sampled runs */

static double uniform(void)
{
	return ((double)random() + 0.5) / ((double)RAND_MAX + 1);
}

static unsigned poisson(double mean)
{
	double product = uniform(), limit = exp(-mean);
	unsigned ret = 0;

	for (; product > limit; product *= uniform())
		ret++;
	return ret;
}

struct world {
	double rate;	/* faults in an interval */
	unsigned burst; /* blocks of each */
	double median_us;
	double delay_ms;
	unsigned more; /* processes of the name, besides the first */
};

#define PROCESSES_MAX 4

static void fill_loop(Jankbpf__Loop *loop, Jankbpf__Bucket **list, Jankbpf__Bucket *buckets,
		      const struct world *world)
{
	double slow = world->median_us * (0.97 + 0.06 * uniform()); /* an interval's own */

	jankbpf__loop__init(loop);
	loop->loop = (char *)"epoll";
	loop->process = (char *)"server";
	loop->dispatches = 1000;
	for (unsigned i = 0; i < 10; i++) {
		jankbpf__bucket__init(&buckets[i]);
		buckets[i].has_upper_ns = buckets[i].has_count = true;
		buckets[i].upper_ns = (uint64_t)(slow * 1000 * (0.5 + i * 0.1));
		buckets[i].count = 100;
		list[i] = &buckets[i];
	}
	loop->n_buckets = 10;
	loop->buckets = list;
}

static unsigned signature_version;

static void add_block(struct diff *diff, unsigned side, uint64_t real_ns, const char *signature,
		      double delay_ms)
{
	Jankbpf__Record record = JANKBPF__RECORD__INIT;
	Jankbpf__Block block = JANKBPF__BLOCK__INIT;
	Jankbpf__Cause cause = JANKBPF__CAUSE__INIT;
	struct strbuf start = STRBUF_INIT;

	clock__add_rfc3339(&start, real_ns);
	block.start = start.data;
	block.process = (char *)"server";
	block.loop = (char *)"epoll";
	block.duration_ns = (uint64_t)(delay_ms * (0.7 + 0.6 * uniform()) * 1e6);
	cause.signature = (char *)signature;
	cause.has_signature_version = signature_version;
	cause.signature_version = signature_version;
	cause.summary = (char *)"a sentence";
	block.cause = &cause;
	record.type_case = JANKBPF__RECORD__TYPE_BLOCK;
	record.block = &block;
	if (diff__add(diff, side, &record))
		abort();
	strbuf__free(&start);
}

static void add_interval(struct diff *diff, unsigned side, uint64_t real_ns,
			 const struct world *world)
{
	Jankbpf__Record record = JANKBPF__RECORD__INIT;
	Jankbpf__Interval interval = JANKBPF__INTERVAL__INIT;
	Jankbpf__Loop rows[PROCESSES_MAX], *loops[PROCESSES_MAX];
	Jankbpf__Bucket buckets[PROCESSES_MAX][10], *list[PROCESSES_MAX][10];
	struct strbuf start = STRBUF_INIT;

	clock__add_rfc3339(&start, real_ns);
	interval.start = start.data;
	interval.elapsed_ns = SEC;
	for (unsigned i = 0; i <= world->more; i++) {
		fill_loop(&rows[i], list[i], buckets[i], world);
		loops[i] = &rows[i];
	}
	interval.n_loops = 1 + world->more;
	interval.loops = loops;
	record.type_case = JANKBPF__RECORD__TYPE_INTERVAL;
	record.interval = &interval;
	if (diff__add(diff, side, &record))
		abort();
	strbuf__free(&start);
}

static unsigned interval_cnt = INTERVALS;

static void sample(struct diff *diff, unsigned side, const struct world *world)
{
	uint64_t begin_ns = 1000000 * SEC;

	for (unsigned i = 0; i < interval_cnt; i++) {
		uint64_t at_ns = begin_ns + i * SEC;

		add_interval(diff, side, at_ns, world);
		for (unsigned n = poisson(world->rate); n; n--)
			for (unsigned k = 0; k < world->burst; k++)
				add_block(diff, side, at_ns + SEC / 2, "aaaa", world->delay_ms);
	}
}

/* How many pairs have something notable, and something worse. */
static void trial(const struct world *a, const struct world *b, unsigned *ret_notable,
		  unsigned *ret_worse)
{
	*ret_notable = *ret_worse = 0;
	for (unsigned i = 0; i < PAIRS; i++) {
		struct diff diff;
		struct diff_findings findings;

		diff__init(&diff);
		sample(&diff, DIFF_A, a);
		sample(&diff, DIFF_B, b);
		if (diff__compare(&diff, &findings))
			abort();
		*ret_notable += findings.cnt && findings.list[0].notable;
		*ret_worse += findings.cnt && diff_finding__is_worse(&findings.list[0]);
		free(findings.list);
		diff__free(&diff);
	}
}

static void test_trials(void)
{
	static const struct {
		struct world a, b;
		bool worse;
		const char *what;
	} rows[] = {
		{ { 2, 1, 100, 50, 0 }, { 2, 1, 100, 50, 0 }, false, "equal" },
		{ { 2, 1, 100, 50, 3 }, { 2, 1, 100, 50, 3 }, false, "equal, four processes" },
		{ { 2, 5, 100, 50, 0 }, { 2, 5, 100, 50, 0 }, false, "equal, in bursts" },
		{ { 0.2, 10, 100, 50, 0 }, { 0.2, 10, 100, 50, 0 }, false, "equal, rare bursts" },
		{ { 2, 1, 100, 50, 0 }, { 5, 1, 100, 50, 0 }, true, "more blocks" },
		{ { 2, 5, 100, 50, 0 }, { 6, 5, 100, 50, 0 }, true, "more bursts" },
		{ { 2, 1, 100, 50, 3 }, { 6, 1, 100, 50, 3 }, true, "more, four processes" },
		{ { 0, 1, 100, 50, 0 }, { 1, 1, 100, 50, 0 }, true, "a new fault" },
		{ { 2, 1, 100, 50, 0 }, { 2, 1, 130, 50, 0 }, true, "slower dispatches" },
		{ { 2, 1, 100, 50, 0 }, { 2, 1, 100, 75, 0 }, true, "longer blocks" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		unsigned notable, worse;

		trial(&rows[i].a, &rows[i].b, &notable, &worse);
		if (rows[i].worse)
			ok(worse >= PAIRS * 95 / 100, "%s: found in %u of %d pairs", rows[i].what,
			   worse, PAIRS);
		else
			ok(notable <= PAIRS * 5 / 100, "%s: something false in %u of %d pairs",
			   rows[i].what, notable, PAIRS);
	}
}

/* The dispersion of few intervals is an estimate: a small one makes a difference look certain. */
static void test_few_intervals(void)
{
	static const struct world world = { 4, 5, 100, 50, 0 }, more = { 20, 5, 100, 50, 0 };
	unsigned notable, worse;

	interval_cnt = 3;
	trial(&world, &world, &notable, &worse);
	ok(notable <= PAIRS * 5 / 100, "equal, three intervals: something false in %u of %d pairs",
	   notable, PAIRS);
	trial(&world, &more, &notable, &worse);
	ok(worse >= PAIRS * 90 / 100, "five times the bursts, three intervals: found in %u of %d",
	   worse, PAIRS);
	interval_cnt = INTERVALS;
}

static void test_output(void)
{
	static const char *const names[] = { "before", "after\033[2J" };
	static const struct world a = { 2, 1, 100, 50, 0 }, b = { 20, 1, 100, 50, 0 };
	struct diff diff;
	struct diff_findings findings;
	struct strbuf sb = STRBUF_INIT;

	diff__init(&diff);
	sample(&diff, DIFF_A, &a);
	sample(&diff, DIFF_B, &b);
	if (diff__compare(&diff, &findings))
		abort();
	diff__add_text(&sb, &diff, &findings, names, false);
	ok(strstr(strbuf__str(&sb), "worse   server · epoll · fault aaaa") &&
		   strstr(strbuf__str(&sb), "a sentence"),
	   "the fault with its sentence");
	ok(!strchr(strbuf__str(&sb), '\033'), "no control bytes");
	strbuf__reset(&sb);
	diff__add_json(&sb, &diff, &findings, names);
	ok(strstr(strbuf__str(&sb), "{\"verdict\":\"worse\",\"what\":\"fault\""), "JSON: %s",
	   strbuf__str(&sb));
	free(findings.list);
	diff__free(&diff);
	strbuf__free(&sb);
}

/* A summary counts only where its run has no intervals, and never for a time. */
static void test_summary(void)
{
	Jankbpf__Record record = JANKBPF__RECORD__INIT;
	Jankbpf__Summary summary = JANKBPF__SUMMARY__INIT;
	static const struct world world = { 0, 1, 100, 50, 0 };
	Jankbpf__Loop loop, *loops[] = { &loop };
	Jankbpf__Bucket buckets[10], *list[10];
	struct diff diff;

	diff__init(&diff);
	fill_loop(&loop, list, buckets, &world);
	summary.n_loops = 1;
	summary.loops = loops;
	record.type_case = JANKBPF__RECORD__TYPE_SUMMARY;
	record.summary = &summary;
	diff__add(&diff, DIFF_A, &record);
	is_uint(diff.inputs[DIFF_A].dispatch_cnt, 1000, "a run without intervals");
	add_interval(&diff, DIFF_A, SEC, &world);
	diff__add(&diff, DIFF_A, &record);
	is_uint(diff.inputs[DIFF_A].dispatch_cnt, 2000, "one with an interval: not counted twice");
	diff__add(&diff, DIFF_A, &record);
	is_uint(diff.inputs[DIFF_A].dispatch_cnt, 3000, "the next run has none again");
	diff.inputs[DIFF_B].from_ns = 10 * SEC;
	diff__add(&diff, DIFF_B, &record);
	add_interval(&diff, DIFF_B, 9 * SEC, &world);
	add_interval(&diff, DIFF_B, 10 * SEC, &world);
	is_uint(diff.inputs[DIFF_B].dispatch_cnt, 1000, "of a time: its intervals only");
	diff__free(&diff);
}

/* What limits left out counts as much as records do. */
static void test_left_out(void)
{
	struct diff diff;
	struct diff_findings findings;
	bool found = false;

	diff__init(&diff);
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		for (unsigned i = 0; i < 20; i++) {
			Jankbpf__Record record = JANKBPF__RECORD__INIT;
			Jankbpf__Interval interval = JANKBPF__INTERVAL__INIT;
			Jankbpf__Loop loop = JANKBPF__LOOP__INIT, *loops[] = { &loop };
			Jankbpf__LeftOut left = JANKBPF__LEFT_OUT__INIT, *lefts[] = { &left };
			char start[64];

			snprintf(start, sizeof(start), "2026-05-04T10:%02u:00.000000000+00:00", i);
			interval.start = start;
			interval.elapsed_ns = 10 * SEC;
			loop.process = left.process = (char *)"redis";
			loop.loop = left.loop = (char *)"epoll";
			loop.dispatches = 10000;
			left.signature = (char *)"abc";
			left.blocks = (side ? 40 : 10) + i % 3;
			interval.loops = loops;
			interval.left_out = lefts;
			interval.n_loops = interval.n_left_out = 1;
			record.type_case = JANKBPF__RECORD__TYPE_INTERVAL;
			record.interval = &interval;
			diff__add(&diff, side, &record);
		}
	}
	diff__compare(&diff, &findings);
	for (size_t i = 0; i < findings.cnt; i++)
		found |= findings.list[i].kind == DIFF_FAULT &&
			 diff_finding__is_worse(&findings.list[i]) && findings.list[i].ratio > 3;
	ok(found && diff.inputs[0].block_cnt == 219, "blocks that limits left out are compared");
	free(findings.list);
	diff__free(&diff);
}

static size_t count_faults(const struct diff_findings *findings)
{
	size_t ret = 0;

	for (size_t i = 0; i < findings->cnt; i++)
		ret += findings->list[i].kind == DIFF_FAULT || findings->list[i].kind == DIFF_DELAY;
	return ret;
}

/* A fault has another signature since the other version: not a new fault. */
static void test_signature_versions(void)
{
	static const char *const names[] = { "before", "after" };
	static const struct {
		unsigned a, b;
		bool comparable;
	} rows[] = {
		{ 0, 0, true }, { 0, 1, true }, { 2, 2, true }, { 0, 2, false }, { 2, 1, false }
	};
	static const struct world world = { 5, 1, 100, 50, 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct strbuf text = STRBUF_INIT, json = STRBUF_INIT;
		struct diff_findings findings;
		struct diff diff;

		diff__init(&diff);
		signature_version = rows[i].a;
		sample(&diff, DIFF_A, &world);
		signature_version = rows[i].b;
		sample(&diff, DIFF_B, &world);
		if (diff__compare(&diff, &findings))
			abort();
		diff__add_text(&text, &diff, &findings, names, true);
		diff__add_json(&json, &diff, &findings, names);
		is_uint(count_faults(&findings), rows[i].comparable ? 2 : 0,
			"versions %u and %u: faults compared", rows[i].a, rows[i].b);
		ok(findings.cnt > 0, "… and all blocks of the loop");
		ok(!strstr(strbuf__str(&text), "signatures of version") == rows[i].comparable,
		   "… the text says so: %s", strbuf__str(&text));
		ok(strstr(strbuf__str(&json), rows[i].comparable ? "\"faults_compared\":true"
								 : "\"faults_compared\":false"),
		   "… and the JSON");
		free(findings.list);
		diff__free(&diff);
		strbuf__free(&text);
		strbuf__free(&json);
	}
	signature_version = 0;
}

int main(void)
{
	srandom(1);
	test_statistics();
	test_trials();
	test_few_intervals();
	test_output();
	test_summary();
	test_left_out();
	test_signature_versions();
	return tap__done();
}
