/* SPDX-License-Identifier: GPL-2.0 */
/* Intervals and blocks as OTLP's metrics: sums, buckets, times, attributes. */
#include "base/clock.h"
#include "tests/tap.h"
#include "tests/unit/otlp_fixture.h"

#define BEGIN	"2026-05-04T10:20:30.000000000+00:00"
#define BEGIN_S 1777890030ull

static struct {
	Jankbpf__Record record;
	Jankbpf__Interval interval;
	Jankbpf__Host host;
	Jankbpf__Loop loops[4], *loop_list[4];
	Jankbpf__Bucket buckets[3], *bucket_list[3];
	Jankbpf__StartDelays starts;
	Jankbpf__Lost lost;
	Jankbpf__Cost cost;
	Jankbpf__Limited limited;
	Jankbpf__LeftOut left, *left_list[1];
	Jankbpf__OpenDispatch open[3], *open_list[3];
} in;

#define SET_TO(message, field, to) ((message)->has_##field = true, (message)->field = (to))

static void set_buckets(void)
{
	static const uint64_t uppers[] = { 90 * NS_PER_US, 4 * NS_PER_MS, 20 * NS_PER_SEC };

	for (int i = 0; i < 3; i++) {
		jankbpf__bucket__init(&in.buckets[i]);
		SET_TO(&in.buckets[i], upper_ns, uppers[i]);
		SET_TO(&in.buckets[i], count, 10u >> i);
		in.bucket_list[i] = &in.buckets[i];
	}
}

static void set_loop(int nr, const char *process, const char *unit)
{
	Jankbpf__Loop *loop = &in.loops[nr];

	jankbpf__loop__init(loop);
	loop->loop = (char *)"epoll";
	loop->process = (char *)process;
	loop->unit = (char *)unit;
	SET_TO(loop, pid, 100 + nr);
	SET_TO(loop, dispatches, 17);
	SET_TO(loop, max_ns, 20 * NS_PER_SEC + nr);
	loop->buckets = in.bucket_list;
	loop->n_buckets = 3;
	in.loop_list[nr] = loop;
}

static void set_counts(void)
{
	jankbpf__lost__init(&in.lost);
	SET_TO(&in.lost, ring_full, 5);
	SET_TO(&in.lost, queue_full, 0);
	jankbpf__cost__init(&in.cost);
	SET_TO(&in.cost, user_cpu_ns, NS_PER_SEC / 4);
	SET_TO(&in.cost, rss_kb, 2);
	jankbpf__limited__init(&in.limited);
	SET_TO(&in.limited, per_second, 6);
	jankbpf__left_out__init(&in.left);
	in.left.process = (char *)"redis-server";
	in.left.unit = (char *)"redis.service";
	in.left.loop = (char *)"epoll";
	in.left.kind = (char *)"cpu";
	SET_TO(&in.left, blocks, 6);
	SET_TO(&in.left, total_ns, 3 * NS_PER_SEC);
	in.left_list[0] = &in.left;
	for (int i = 0; i < 3; i++) {
		jankbpf__open_dispatch__init(&in.open[i]);
		in.open[i].loop = (char *)(i == 1 ? "glib" : "epoll");
		SET_TO(&in.open[i], duration_ns, (unsigned)(i + 1) * NS_PER_SEC);
		in.open_list[i] = &in.open[i];
	}
}

/* Two redis-servers of a unit, another program; one of them with start delays. */
static const Jankbpf__Record *make_interval(void)
{
	memset(&in, 0, sizeof(in));
	jankbpf__record__init(&in.record);
	jankbpf__interval__init(&in.interval);
	jankbpf__host__init(&in.host);
	in.host.name = (char *)"db1";
	in.record.type_case = JANKBPF__RECORD__TYPE_INTERVAL;
	in.record.interval = &in.interval;
	set_buckets();
	set_loop(0, "redis-server", "redis.service");
	set_loop(1, "redis-server", "redis.service");
	set_loop(2, "node", NULL);
	in.loops[2].service_name = (char *)"web";
	jankbpf__start_delays__init(&in.starts);
	SET_TO(&in.starts, dispatches, 17);
	in.starts.buckets = in.bucket_list;
	in.starts.n_buckets = 3;
	in.loops[0].start_delays = &in.starts;
	set_counts();
	in.interval.start = (char *)BEGIN;
	SET_TO(&in.interval, elapsed_ns, 10 * NS_PER_SEC);
	SET_TO(&in.interval, hangs, 2);
	SET_TO(&in.interval, not_watched_count, 0);
	SET_TO(&in.interval, blind_ns, 2 * NS_PER_SEC);
	SET_TO(&in.interval, governor_level, 3);
	in.interval.host = &in.host;
	in.interval.loops = in.loop_list;
	in.interval.n_loops = 3;
	in.interval.lost = &in.lost;
	in.interval.cost = &in.cost;
	in.interval.limited = &in.limited;
	in.interval.left_out = in.left_list;
	in.interval.n_left_out = 1;
	in.interval.open = in.open_list;
	in.interval.n_open = 3;
	return &in.record;
}

static Otlp__ExportMetricsServiceRequest *metrics_of(struct otlp_batch *b)
{
	Otlp__ExportMetricsServiceRequest *ret;

	is_int(otlp__encode_part(b, "metrics"), 0, "metrics of %zu records are made", b->cnt);
	ret = otlp__export_metrics_service_request__unpack(NULL, b->body.len,
							   (uint8_t *)b->body.data);
	if (!ok(ret && otlp__is_valid(&ret->base), "they are a request, and UTF-8"))
		exit(1);
	return ret;
}

static void free_metrics(Otlp__ExportMetricsServiceRequest *metrics)
{
	otlp__export_metrics_service_request__free_unpacked(metrics, NULL);
}

/* A metric of a service. Ends the test if there is none. */
static const Otlp__Metric *find(const Otlp__ExportMetricsServiceRequest *metrics,
				const char *service, const char *name)
{
	for (size_t i = 0; i < metrics->n_resource_metrics; i++) {
		const Otlp__ResourceMetrics *resource = metrics->resource_metrics[i];
		const Otlp__ScopeMetrics *scope = resource->scope_metrics[0];

		if (strcmp(OTLP_TEXT(resource->resource, "service.name"), service) != 0)
			continue;
		for (size_t j = 0; j < scope->n_metrics; j++)
			if (!strcmp(scope->metrics[j]->name, name))
				return scope->metrics[j];
	}
	ok(false, "%s has %s", service, name);
	exit(tap__done());
}

static const Otlp__NumberDataPoint *sum_point(const Otlp__ExportMetricsServiceRequest *metrics,
					      const char *service, const char *name)
{
	const Otlp__Metric *metric = find(metrics, service, name);

	ok(metric->data_case == OTLP__METRIC__DATA_SUM &&
		   metric->sum->aggregation_temporality == 1 && metric->sum->is_monotonic,
	   "%s is a monotonic delta", name);
	is_uint(metric->sum->n_data_points, 1, "with one point");
	return metric->sum->data_points[0];
}

static void test_histograms(const Otlp__ExportMetricsServiceRequest *metrics)
{
	const Otlp__Metric *metric = find(metrics, "redis", "jankbpf.dispatch.duration");
	const Otlp__HistogramDataPoint *point = metric->histogram->data_points[0];

	is_str(metric->unit, "s", "seconds");
	is_uint(metric->histogram->aggregation_temporality, 1, "a delta");
	is_uint(metric->histogram->n_data_points, 1, "processes of one name are one point");
	is_uint(point->count, 34, "with the dispatches of both");
	is_uint(point->n_explicit_bounds, 16, "16 bounds");
	is_uint(point->n_bucket_counts, 17, "one bucket more");
	is_uint(point->bucket_counts[0], 20, "up to 0.1 ms");
	is_uint(point->bucket_counts[5], 10, "from 2.5 to 5 ms");
	is_uint(point->bucket_counts[16], 4, "more than 10 s");
	ok(point->max == 20.000000001, "the longest of both");
	ok(point->sum > 0.98 * 80 && point->sum < 1.02 * 80.05, "the sum is within 2 %%: %f",
	   point->sum);
	is_uint(point->start_time_unix_nano, BEGIN_S * NS_PER_SEC, "from the begin");
	is_uint(point->time_unix_nano, (BEGIN_S + 10) * NS_PER_SEC, "to the end");
	is_str(OTLP_TEXT(point, "process.executable.name"), "redis-server", "its program");
	is_str(OTLP_TEXT(point, "jankbpf.loop"), "epoll", "its loop");
	metric = find(metrics, "redis", "jankbpf.dispatch.start_delay");
	is_uint(metric->histogram->data_points[0]->count, 17, "start delays of one of them");
	metric = find(metrics, "web", "jankbpf.dispatch.duration");
	is_uint(metric->histogram->data_points[0]->count, 17, "the other program");
}

static void test_agent(const Otlp__ExportMetricsServiceRequest *metrics)
{
	const Otlp__NumberDataPoint *point = sum_point(metrics, "jankbpf", "jankbpf.lost");
	const Otlp__Metric *open = find(metrics, "jankbpf", "jankbpf.open_dispatch.duration");

	is_int(point->as_int, 5, "losses, without those that did not occur");
	is_str(OTLP_TEXT(point, "jankbpf.lost.reason"), "ring_full", "by reason");
	is_int(sum_point(metrics, "jankbpf", "jankbpf.hangs")->as_int, 2, "hangs");
	is_int(sum_point(metrics, "jankbpf", "jankbpf.limited")->as_int, 6, "limited");
	ok(sum_point(metrics, "jankbpf", "jankbpf.agent.cpu.time")->as_double == 0.25, "CPU time");
	is_int(find(metrics, "jankbpf", "jankbpf.agent.memory.usage")
		       ->gauge->data_points[0]
		       ->as_int,
	       2048, "bytes of memory");
	is_int(find(metrics, "jankbpf", "jankbpf.not_watched")->gauge->data_points[0]->as_int, 0,
	       "a gauge of 0 is sent");
	ok(sum_point(metrics, "jankbpf", "jankbpf.agent.blind.time")->as_double == 2, "blind time");
	is_int(find(metrics, "jankbpf", "jankbpf.agent.governor.level")
		       ->gauge->data_points[0]
		       ->as_int,
	       3, "the governor's level");
	is_uint(open->gauge->n_data_points, 2, "open dispatches by loop");
	ok(open->gauge->data_points[0]->as_double == 3, "the longest of a loop");
	open = find(metrics, "jankbpf", "jankbpf.open_dispatch.count");
	is_int(open->gauge->data_points[0]->as_int, 2, "how many of it");
}

static void test_interval(void)
{
	struct otlp_batch b = {};
	struct strbuf first = STRBUF_INIT;
	Otlp__ExportMetricsServiceRequest *metrics;
	const Otlp__NumberDataPoint *point;

	otlp__add(&b, make_interval());
	metrics = metrics_of(&b);
	test_histograms(metrics);
	test_agent(metrics);
	point = sum_point(metrics, "redis", "jankbpf.blocks");
	is_int(point->as_int, 6, "blocks that limits left out are counted");
	is_str(OTLP_TEXT(point, "jankbpf.cause.kind"), "cpu", "by kind");
	ok(sum_point(metrics, "redis", "jankbpf.blocked.time")->as_double == 3,
	   "with their delays");
	free_metrics(metrics);
	ok(!memmem(b.body.data, b.body.len, "process.pid", 11), "no metric has a process id");
	strbuf__add(&first, b.body.data, b.body.len);
	otlp__encode_part(&b, "metrics");
	ok(first.len == b.body.len && !memcmp(first.data, b.body.data, first.len),
	   "the same batch has the same bytes");
	strbuf__free(&first);
	otlp__empty(&b);
}

static void test_unit_with_pid(void)
{
	struct otlp_batch b = {};
	Otlp__ExportMetricsServiceRequest *metrics;

	make_interval();
	in.loops[0].unit = (char *)"app-redis-12.scope";
	in.loops[1].unit = (char *)"app-redis-13.scope";
	otlp__add(&b, &in.record);
	metrics = metrics_of(&b);
	is_uint(find(metrics, "redis-server", "jankbpf.dispatch.duration")
			->histogram->data_points[0]
			->count,
		34, "two processes whose units differ by their ids are one point");
	is_str(OTLP_TEXT(metrics->resource_metrics[0]->resource, "jankbpf.unit"), "app-redis.scope",
	       "the unit has no process id");
	is_uint(strlen(OTLP_TEXT(metrics->resource_metrics[0]->resource, "service.instance.id")),
		16, "an instance has an id");
	free_metrics(metrics);
	otlp__empty(&b);
}

static uint64_t blocks_of(const Otlp__ExportMetricsServiceRequest *metrics, const char *version)
{
	for (size_t i = 0; i < metrics->n_resource_metrics; i++) {
		const Otlp__ResourceMetrics *resource = metrics->resource_metrics[i];
		const Otlp__ScopeMetrics *scope = resource->scope_metrics[0];

		if (strcmp(OTLP_TEXT(resource->resource, "service.name"), "checkout") != 0 ||
		    strcmp(OTLP_TEXT(resource->resource, "service.version"), version) != 0)
			continue;
		for (size_t j = 0; j < scope->n_metrics; j++)
			if (!strcmp(scope->metrics[j]->name, "jankbpf.blocks"))
				return (uint64_t)scope->metrics[j]->sum->data_points[0]->as_int;
	}
	return 0;
}

/* LeftOut has no service; a loop of the same interval has. */
static void test_left_out(void)
{
	struct otlp_batch b = {};
	Jankbpf__Interval *interval;
	Otlp__ExportMetricsServiceRequest *metrics;

	make_interval();
	for (int i = 0; i < 2; i++) {
		in.loops[i].service_name = (char *)"checkout";
		in.loops[i].version = (char *)(i ? "2" : "1");
		SET_TO(&in.loops[i], blocks, (unsigned)i + 3);
	}
	interval = otlp__add(&b, &in.record)->interval;
	metrics = metrics_of(&b);
	is_uint(blocks_of(metrics, "2"), 6, "left out: the service of the loop with most blocks");
	is_uint(blocks_of(metrics, "1"), 0, "not of another one");
	free_metrics(metrics);
	otlp__set(&interval->left_out[0]->process, "another", 7);
	metrics = metrics_of(&b);
	is_int(sum_point(metrics, "redis", "jankbpf.blocks")->as_int, 6,
	       "without such a loop: the unit");
	free_metrics(metrics);
	otlp__empty(&b);
}

static void set_block(Jankbpf__Block *block, const char *start, uint64_t ms)
{
	otlp__unname(block);
	otlp__set(&block->start, start, strlen(start));
	otlp__set(&block->process, "redis-server", 12);
	otlp__set(&block->unit, "redis.service", 13);
	otlp__set(&block->loop, "epoll", 5);
	SET_TO(block, duration_ns, ms * NS_PER_MS);
	SET_TO(block, delay_ns, ms * NS_PER_MS);
}

/* Two blocks before the interval, one after it, of an interval that is not yet there. */
static void test_blocks(void)
{
	struct otlp_batch b = {};
	Otlp__ExportMetricsServiceRequest *metrics;
	const Otlp__Metric *blocks;
	Otlp__NumberDataPoint *const *points;

	make_interval();
	in.interval.n_left_out = 0;
	in.host = *(Jankbpf__Host[]){ JANKBPF__HOST__INIT };
	set_block(otlp__add_block(&b, "cpu"), BEGIN, 250);
	set_block(otlp__add_block(&b, "cpu"), BEGIN, 750);
	otlp__add(&b, &in.record);
	set_block(otlp__add_block(&b, "cpu"), "2026-05-04T10:20:41.000000000+00:00", 500);
	for (size_t i = 0; i < b.cnt; i++) {
		if (b.records[i]->type_case != JANKBPF__RECORD__TYPE_BLOCK)
			continue;
		jankbpf__host__free_unpacked(b.records[i]->block->host, NULL);
		b.records[i]->block->host = NULL;
	}
	metrics = metrics_of(&b);
	blocks = find(metrics, "redis", "jankbpf.blocks");
	points = blocks->sum->data_points;
	if (ok(blocks->sum->n_data_points == 2, "a point of the interval, one after it")) {
		is_int(points[0]->as_int, 2, "two before the interval");
		is_uint(points[0]->time_unix_nano, (BEGIN_S + 10) * NS_PER_SEC, "at its end");
		is_int(points[1]->as_int, 1, "one after it");
		is_uint(points[1]->start_time_unix_nano, (BEGIN_S + 10) * NS_PER_SEC, "from there");
		is_uint(points[1]->time_unix_nano, (BEGIN_S + 11) * NS_PER_SEC + 500 * NS_PER_MS,
			"to its own end");
	}
	ok(find(metrics, "redis", "jankbpf.blocked.time")->sum->data_points[0]->as_double == 1,
	   "a second in two blocks");
	free_metrics(metrics);
	otlp__empty(&b);
}

static void test_hostile(void)
{
	struct otlp_batch b = {};
	Jankbpf__Interval *interval;

	make_interval();
	in.loops[0].process = in.loops[1].unit = (char *)"\xff\xfe\"\n\\";
	in.interval.elapsed_ns = UINT64_MAX;
	interval = otlp__add(&b, &in.record)->interval;
	is_int(otlp__encode_part(&b, "metrics"), -ENODATA, "an interval longer than time is none");
	interval->elapsed_ns = 1;
	otlp__set(&interval->loops[2]->process, "\xc3\xa9", 1 << 20);
	interval->cost->user_cpu_ns = interval->cost->rss_kb = UINT64_MAX;
	interval->lost->ring_full = UINT64_MAX;
	free_metrics(metrics_of(&b));
	otlp__set(&interval->start, "never", 5);
	is_int(otlp__encode_part(&b, "metrics"), -ENODATA, "nor is one without a time");
	otlp__empty(&b);
}

int main(void)
{
	test_interval();
	test_left_out();
	test_unit_with_pid();
	test_blocks();
	test_hostile();
	return tap__done();
}
