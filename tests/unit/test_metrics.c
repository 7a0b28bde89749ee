/* SPDX-License-Identifier: GPL-2.0 */
/* Metrics from records: counts, both formats, hostile names, bounds. */
#include "export/metrics/metrics.h"

#include "base/clock.h"
#include "tests/tap.h"

struct made {
	Jankbpf__Record record;
	Jankbpf__Block block;
	Jankbpf__Cause cause;
	Jankbpf__Frame frame;
};

static const Jankbpf__Record *make(struct made *m, const char *process, const char *signature,
				   const char *function)
{
	jankbpf__record__init(&m->record);
	jankbpf__block__init(&m->block);
	jankbpf__cause__init(&m->cause);
	jankbpf__frame__init(&m->frame);
	m->record.type_case = JANKBPF__RECORD__TYPE_BLOCK;
	m->record.block = &m->block;
	m->block.has_delay_ns = true;
	m->block.delay_ns = 250 * NS_PER_MS;
	m->block.process = (char *)process;
	m->block.unit = (char *)"redis.service";
	m->block.loop = (char *)"epoll";
	m->block.cause = &m->cause;
	m->cause.signature = (char *)signature;
	m->cause.kind = (char *)"cpu";
	m->cause.frame = &m->frame;
	m->frame.function = (char *)function;
	return &m->record;
}

static const char *text_of(const struct metrics *m, enum metrics_format format)
{
	static struct strbuf sb;

	strbuf__reset(&sb);
	metrics__write(m, format, &sb);
	return strbuf__str(&sb);
}

static unsigned lines_with(const char *text, const char *part)
{
	unsigned cnt = 0;

	for (; (text = strstr(text, part)); text++)
		cnt++;
	return cnt;
}

/* Else the first value would be the first sample, of which increase() sees nothing. */
static void test_closed_lists(void)
{
	struct metrics *m = metrics__new(10);
	const char *text = text_of(m, METRICS_TEXT);

	has_str(text, "\njankbpf_lost_total{reason=\"ring_full\"} 0\n", "a loss begins at 0");
	is_uint(lines_with(text, "\njankbpf_lost_total{"), jankbpf__lost__descriptor.n_fields,
		"so does each reason");
	has_str(text, "\njankbpf_limited_total{limit=\"signature\"} 0\n", "a limit");
	has_str(text, "\njankbpf_limited_total{limit=\"second\"} 0\n", "the other limit");
	has_str(text, "\njankbpf_blocked_seconds_total{kind=\"cpu\"} 0\n", "a kind");
	has_str(text, "\njankbpf_blocked_seconds_total{kind=\"kernel\"} 0\n", "another");
	has_str(text, "\njankbpf_blocked_seconds_total{kind=\"page_fault\"} 0\n",
		"a kind of waiting");
	has_str(text, "\njankbpf_blocked_seconds_total{kind=\"terminal\"} 0\n", "a derived kind");
	is_uint(lines_with(text, "\njankbpf_blocked_seconds_total{"), 16, "all of the schema");
	metrics__free(m);
}

static void test_blocks(void)
{
	struct metrics *m = metrics__new(10);
	struct made made;
	const char *text;

	for (unsigned i = 0; i < 3; i++)
		metrics__record(m, make(&made, "redis", "abc", "work"));
	text = text_of(m, METRICS_TEXT);
	has_str(text,
		"jankbpf_blocks_total{unit=\"redis.service\",process=\"redis\",loop=\"epoll\","
		"kind=\"cpu\"} 3\n",
		"blocks");
	has_str(text, "jankbpf_blocked_seconds_total{kind=\"cpu\"} 0.75\n", "their delays");
	has_str(text, "jankbpf_fault_blocks_total{signature=\"abc\",function=\"work\"} 3\n",
		"faults");
	has_str(text, "# TYPE jankbpf_blocks_total counter\n", "a counter's type");
	lacks_str(text, "# EOF", "no end of OpenMetrics");
	text = text_of(m, METRICS_OPENMETRICS);
	has_str(text, "# TYPE jankbpf_blocks counter\n", "its family in OpenMetrics");
	has_str(text, "\njankbpf_blocks_total{", "and its sample");
	is_str(text + strlen(text) - 6, "# EOF\n", "the end");
	metrics__free(m);
}

/* Each start of an application, each build of a program would make new series. */
static void test_stable_labels(void)
{
	struct metrics *m = metrics__new(10);
	struct made made;
	const char *text;

	for (unsigned i = 0; i < 3; i++) {
		const Jankbpf__Record *record =
			make(&made, "kate", "abc", "LazyCompile:*f /a/x.js:1:2");
		char unit[64];

		snprintf(unit, sizeof(unit), "app-gnome-kate-%u.scope", 1000 + i);
		made.block.unit = unit;
		metrics__record(m, record);
	}
	text = text_of(m, METRICS_TEXT);
	has_str(text,
		"\njankbpf_blocks_total{unit=\"app-gnome-kate.scope\",process=\"kate\","
		"loop=\"epoll\",kind=\"cpu\"} 3\n",
		"a unit without the process id");
	has_str(text, "_fault_blocks_total{signature=\"abc\",function=\"f x.js\"} 3\n",
		"a function without tier and line");
	metrics__free(m);
}

/* An interval with one of each, whose parts point at each other. */
struct made_interval {
	Jankbpf__Record record;
	Jankbpf__Interval interval;
	Jankbpf__Loop loop, *loops;
	Jankbpf__Bucket buckets[3], *bucket_list[3];
	Jankbpf__LeftOut left, *lefts;
	Jankbpf__OpenDispatch open, *opens;
	Jankbpf__Lost lost;
	Jankbpf__Cost cost;
};

static void make_loop(struct made_interval *made)
{
	static const uint64_t edges_ns[] = { NS_PER_MS, 40 * NS_PER_MS, 20 * NS_PER_SEC };
	Jankbpf__Loop *loop = made->loops = &made->loop;

	jankbpf__loop__init(loop);
	for (unsigned i = 0; i < 3; i++) {
		jankbpf__bucket__init(made->bucket_list[i] = &made->buckets[i]);
		made->buckets[i].has_upper_ns = true;
		made->buckets[i].upper_ns = edges_ns[i];
		made->buckets[i].count = i + 1;
	}
	loop->loop = (char *)"qt";
	loop->process = (char *)"kate";
	loop->buckets = made->bucket_list;
	loop->n_buckets = 3;
}

static void make_lists(struct made_interval *made)
{
	jankbpf__left_out__init(made->lefts = &made->left);
	made->left.signature = (char *)"ff";
	made->left.blocks = 7;
	made->left.total_ns = 3 * NS_PER_SEC;
	made->left.kind = (char *)"disk";
	jankbpf__open_dispatch__init(made->opens = &made->open);
	made->open.loop = (char *)"qt";
	made->open.process = (char *)"kate";
	made->open.unit = (char *)"app.slice";
	made->open.duration_ns = 1500 * NS_PER_MS;
	jankbpf__lost__init(&made->lost);
	made->lost.has_ring_full = true;
	made->lost.ring_full = 4;
	jankbpf__cost__init(&made->cost);
	made->cost.user_cpu_ns = 20 * NS_PER_MS;
}

static void make_interval(struct made_interval *made)
{
	Jankbpf__Interval *interval = &made->interval;

	make_loop(made);
	make_lists(made);
	jankbpf__interval__init(interval);
	interval->loops = &made->loops;
	interval->n_loops = 1;
	interval->left_out = &made->lefts;
	interval->n_left_out = 1;
	interval->open = &made->opens;
	interval->n_open = 1;
	interval->lost = &made->lost;
	interval->cost = &made->cost;
	interval->hangs = 2;
	interval->has_not_watched_count = true;
	interval->not_watched_count = 5;
	jankbpf__record__init(&made->record);
	made->record.interval = interval;
	made->record.type_case = JANKBPF__RECORD__TYPE_INTERVAL;
}

static void test_buckets(const char *text)
{
#define OF_KATE "{process=\"kate\",loop=\"qt\",unit=\"\""
	has_str(text, "_bucket" OF_KATE ",le=\"0.0005\"} 0\n", "a bucket below");
	has_str(text, "_bucket" OF_KATE ",le=\"0.001\"} 1\n", "an edge is in its bucket");
	has_str(text, "_bucket" OF_KATE ",le=\"0.05\"} 3\n", "buckets sum up");
	has_str(text, "_bucket" OF_KATE ",le=\"10.0\"} 3\n", "to the last edge");
	has_str(text, "_bucket" OF_KATE ",le=\"+Inf\"} 6\n", "and beyond");
	has_str(text, "jankbpf_dispatch_seconds_count" OF_KATE "} 6\n", "to the count");
}

static void test_interval(void)
{
#define OPEN_OF_KATE                                                                               \
	"jankbpf_open_dispatch_seconds{process=\"kate\",loop=\"qt\",unit=\"app.slice\"}"
	struct made_interval made;
	struct metrics *m = metrics__new(10);
	const char *text;

	make_interval(&made);
	metrics__set_interval(m, 600 * NS_PER_SEC);
	has_str(text_of(m, METRICS_TEXT), "\njankbpf_interval_seconds 600\n",
		"the configured length of an interval");
	made.interval.elapsed_ns = 10 * NS_PER_SEC;
	ok(!metrics__record(m, &made.record), "an interval is counted");
	text = text_of(m, METRICS_TEXT);
	has_str(text, "\njankbpf_interval_seconds 10\n", "then that of the last one");
	test_buckets(text);
	has_str(text, "_fault_blocks_total{signature=\"ff\",function=\"\"} 7\n",
		"what the limits left out");
	has_str(text, "jankbpf_blocked_seconds_total{kind=\"disk\"} 3\n", "with its delays");
	has_str(text, OPEN_OF_KATE " 1.5\n", "the open dispatch");
	has_str(text, "jankbpf_lost_total{reason=\"ring_full\"} 4\n", "losses");
	has_str(text, "jankbpf_hangs_total 2\n", "hangs");
	has_str(text, "jankbpf_not_watched 5\n", "what is not watched");
	has_str(text, "jankbpf_own_cpu_seconds_total 0.02\n", "our own cost");
	made.interval.n_open = made.interval.n_loops = made.interval.n_left_out = 0;
	metrics__record(m, &made.record);
	text = text_of(m, METRICS_TEXT);
	has_str(text, OPEN_OF_KATE " 0\n", "which has ended");
	has_str(text, "jankbpf_lost_total{reason=\"ring_full\"} 8\n", "intervals add up");
	metrics__free(m);
}

/* The textfile stays after the run: JankLoopStands must not fire for ever. */
static void test_open_at_end(void)
{
	struct made_interval made;
	struct metrics *m = metrics__new(10);
	Jankbpf__Record record = JANKBPF__RECORD__INIT;
	Jankbpf__Summary summary = JANKBPF__SUMMARY__INIT;

	make_interval(&made);
	metrics__record(m, &made.record);
	record.type_case = JANKBPF__RECORD__TYPE_SUMMARY;
	record.summary = &summary;
	ok(!metrics__record(m, &record), "the summary");
	has_str(text_of(m, METRICS_TEXT), OPEN_OF_KATE " 0\n", "after the run none is open");
	metrics__free(m);
}

/* Open dispatches are bounded like loops. */
static void test_many_open(void)
{
	struct made_interval made;
	struct metrics *m = metrics__new(10);
	char process[32];
	unsigned cnt = 0;
	const char *text;

	make_interval(&made);
	made.open.process = process;
	for (unsigned i = 0; i < METRICS_LOOPS_MAX + 50; i++) {
		snprintf(process, sizeof(process), "program-%u", i);
		metrics__record(m, &made.record);
	}
	text = text_of(m, METRICS_TEXT);
	has_str(text,
		"open_dispatch_seconds{process=\"other\",loop=\"other\",unit=\"other\"} 1.5\n",
		"further ones share a label set");
	for (const char *at = text; (at = strstr(at, "\njankbpf_open_dispatch_seconds{")); at++)
		cnt++;
	is_int(cnt, METRICS_LOOPS_MAX + 1, "beside the others");
	metrics__free(m);
}

static void test_hostile(void)
{
	struct metrics *m = metrics__new(10);
	char *large = malloc((1 << 20) + 1);
	struct made made;
	const char *text;

	memset(large, 'x', 1 << 20);
	large[1 << 20] = '\0';
	metrics__record(
		m, make(&made, "a\"b\\c\nd\x1b[1m\xff\u202e", "1", "f{le=\"1\"} 3\njankbpf_x 3"));
	metrics__record(m, make(&made, large, "2", large));
	text = text_of(m, METRICS_TEXT);
	has_str(text, "process=\"a\\\"b\\\\c?d?[1m\xef\xbf\xbd?\"",
		"quotes, control bytes and bytes that are no text");
	has_str(text, "function=\"f{le=\\\"1\\\"} 3?jankbpf_x 3\"} 1\n",
		"a name cannot begin a line");
	ok(strlen(text) < 20000, "a name of a megabyte is cut");
	free(large);
	metrics__free(m);
}

static void test_bounds(void)
{
	struct metrics *m = metrics__new(10);
	struct made made;
	char signature[16], process[16];
	const char *text;

	for (unsigned i = 0; i < 3 * METRICS_BLOCKS_MAX; i++) {
		snprintf(signature, sizeof(signature), "%x", i);
		snprintf(process, sizeof(process), "p%u", i);
		metrics__record(m, make(&made, process, signature, "f"));
	}
	text = text_of(m, METRICS_TEXT);
	is_uint(lines_with(text, "\njankbpf_fault_blocks_total{"), 11,
		"10 signatures and the others");
	has_str(text, "{signature=\"other\",function=\"other\"} 2990\n", "which are counted");
	is_uint(lines_with(text, "\njankbpf_blocks_total{"), METRICS_BLOCKS_MAX + 1,
		"so are label sets of blocks");
	has_str(text, "{unit=\"other\",process=\"other\",loop=\"other\",kind=\"other\"} 2000\n",
		"of which none is lost");
	metrics__free(m);
}

static void test_negotiate(void)
{
	static const char prometheus[] =
		"application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
		"version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";

	is_int(metrics__negotiate(NULL), METRICS_TEXT, "without Accept: text");
	is_int(metrics__negotiate("*/*"), METRICS_TEXT, "anything: text");
	is_int(metrics__negotiate(prometheus), METRICS_OPENMETRICS, "Prometheus: OpenMetrics");
	is_int(metrics__negotiate("text/plain, application/openmetrics-text;q=0.5"), METRICS_TEXT,
	       "by preference");
	is_int(metrics__negotiate("application/openmetrics-text;q=0"), METRICS_TEXT, "q=0 is no");
	is_int(metrics__negotiate(",,;q=;,application/openmetrics-text;q=x"), METRICS_TEXT,
	       "not well formed: text");
}

static void test_spool(void)
{
	struct metrics *m = metrics__new(10);
	struct spool_state state = {
		.bytes = 4096,
		.backend_cnt = 2,
		.backends = { { .name = "one",
				.position = { .sent_records = 7,
					      .refused_records = 2,
					      .retries = 3 },
				.unsent_records = 5,
				.oldest_ns = clock__real_ns() - 90 * NS_PER_SEC },
			      { .name = "two" } },
	};
	const char *text = text_of(m, METRICS_TEXT);

	lacks_str(text, "jankbpf_spool_bytes", "without a spool there are no metrics of it");
	metrics__set_spool(m, &state);
	text = text_of(m, METRICS_TEXT);
	has_str(text, "\njankbpf_spool_bytes 4096\n", "its size");
	has_str(text,
		"# TYPE jankbpf_sent_records_total counter\n"
		"jankbpf_sent_records_total{backend=\"one\"} 7\n"
		"jankbpf_sent_records_total{backend=\"two\"} 0\n",
		"what each backend has");
	has_str(text, "jankbpf_refused_records_total{backend=\"one\"} 2\n", "and refused");
	has_str(text, "jankbpf_send_retries_total{backend=\"one\"} 3\n", "retries");
	has_str(text, "jankbpf_unsent_records{backend=\"one\"} 5\n", "what it has not");
	has_str(text, "jankbpf_unsent_seconds{backend=\"one\"} 9", "the age of that");
	has_str(text, "jankbpf_unsent_seconds{backend=\"two\"} 0\n", "0 if it has all");
	has_str(text_of(m, METRICS_OPENMETRICS), "# TYPE jankbpf_sent_records counter\n",
		"OpenMetrics: the family has no _total");
	metrics__free(m);
}

int main(void)
{
	test_spool();
	test_closed_lists();
	test_blocks();
	test_stable_labels();
	test_interval();
	test_open_at_end();
	test_many_open();
	test_hostile();
	test_bounds();
	test_negotiate();
	return tap__done();
}
