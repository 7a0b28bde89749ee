/* SPDX-License-Identifier: GPL-2.0 */
/* Merging of equal stacks, and the time that they stand for. */
#include "export/text/text.h"
#include "tests/tap.h"
#include "tests/unit/export_fixture.h"
#include "tests/unit/export_record.h"

static uint64_t sum_ns(const struct fold *folds, size_t cnt)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < cnt; i++)
		sum += folds[i].ns;
	return sum;
}

static void test_cpu(void)
{
	struct block *b = fixture__cpu();
	struct fold *folds;
	size_t cnt;

	is_int(fold__block(fixture__record(b)->block, &folds, &cnt), 0, "folds");
	is_int(cnt, 3, "31 samples are 3 stacks; instructions do not matter");
	is_int(folds[0].cnt, 27, "the first was seen 27 times");
	is_uint(folds[0].ns, 270 * FIXTURE_MS, "a tick is running time / ticks");
	is_uint(folds[1].ns, 30 * FIXTURE_MS, "the second's too");
	is_uint(folds[2].ns, 8 * FIXTURE_MS, "a span counts its length");
	free(folds);
	b->state_ns[JANK_STATE_RUNNING] = 100000000000000007ull;
	is_int(fold__block(fixture__record(b)->block, &folds, &cnt), 0, "folds a long block");
	is_uint(folds[0].ns + folds[1].ns, 100000000000000007ull, "nothing is lost by rounding");
	free(folds);
	block__free(b);
}

/* Spans of one stack with two wakers, and a span of the same frames in another system call. */
static void test_spans(void)
{
	struct block *b = fixture__new(100 * FIXTURE_MS, "x", 1, 1);
	struct sample span = { .state = JANK_STATE_FUTEX,
			       .syscall = 202,
			       .has_waker = true,
			       .ns = FIXTURE_MS,
			       .runnable_ns = 3 };
	struct fold *folds;
	size_t cnt;

	for (int i = 0; i < 6; i++) {
		span.t_ns = i;
		span.ns = (i + 1) * FIXTURE_MS;
		span.waker.tid = i % 2;
		span.syscall = i < 5 ? 202 : 23;
		span.syscall_name = i < 5 ? "futex" : "select";
		SAMPLE(b, span, APP("f", i, "/bin/x"), APP("main", 1, "/bin/x"));
	}
	is_int(fold__block(fixture__record(b)->block, &folds, &cnt), 0, "folds");
	is_int(cnt, 2, "the system call tells stacks apart");
	is_uint(folds[0].ns, 15 * FIXTURE_MS, "longest first");
	is_uint(folds[0].sample->ns, 5 * FIXTURE_MS, "it shows the longest span");
	is_uint(folds[0].runnable_ns, 15, "runnable time is summed");
	ok(folds[0].other_wakers, "different wakers are marked");
	ok(!folds[1].other_wakers, "a single waker is not");
	is_uint(sum_ns(folds, cnt), 21 * FIXTURE_MS, "sum");
	free(folds);
	block__free(b);
}

/* Without names, module and offset decide. */
static void test_unnamed(void)
{
	struct block *b = fixture__new(100 * FIXTURE_MS, "x", 1, 1);
	struct sample tick = { .state = JANK_STATE_RUNNING, .syscall = -1 };
	struct fold *folds;
	size_t cnt;

	SAMPLE(b, tick, { .module = "/bin/x", .offset = 16, .address = 1 });
	SAMPLE(b, tick, { .module = "/bin/x", .offset = 16, .address = 2 });
	SAMPLE(b, tick, { .module = "/bin/x", .offset = 32, .address = 1 });
	SAMPLE(b, tick, { .module = "/bin/y", .offset = 16, .address = 1 });
	SAMPLE(b, tick, { .address = 1 });
	SAMPLE(b, tick, { .address = 2 });
	SAMPLE(b, tick, { .address = 1, .kernel = true });
	is_int(fold__block(fixture__record(b)->block, &folds, &cnt), 0, "folds");
	is_int(cnt, 6, "only equal modules and offsets are merged");
	free(folds);
	block__free(b);
}

static void test_none(void)
{
	struct block *b = fixture__bare();
	struct fold *folds;
	size_t cnt = 7;

	is_int(fold__block(fixture__record(b)->block, &folds, &cnt), 0, "folds no samples");
	is_int(cnt, 0, "to no stacks");
	free(folds);
	block__free(b);
}

/* Ten minutes at 99 Hz: a quadratic merge would take minutes. */
static void test_many(void)
{
	struct block *b = fixture__new(600000 * FIXTURE_MS, "x", 1, 1);
	size_t cnt = 59400;
	struct fold *folds;

	b->samples = calloc(cnt, sizeof(*b->samples));
	b->sample_cnt = cnt;
	b->state_ns[JANK_STATE_RUNNING] = b->duration_ns;
	for (size_t i = 0; i < cnt; i++) {
		b->samples[i].stack.addresses = malloc(sizeof(uint64_t));
		b->samples[i].stack.addresses[0] = i / 2;
		b->samples[i].stack.user_cnt = 1;
	}
	is_int(fold__block(fixture__record(b)->block, &folds, &cnt), 0, "folds 59400 samples");
	is_int(cnt, 29700, "each twice");
	is_uint(sum_ns(folds, cnt), b->duration_ns, "sum");
	free(folds);
	block__free(b);
}

int main(void)
{
	test_cpu();
	test_spans();
	test_unnamed();
	test_none();
	test_many();
	return tap__done();
}
