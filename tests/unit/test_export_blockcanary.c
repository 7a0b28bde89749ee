/* SPDX-License-Identifier: GPL-2.0 */
/* BlockCanary's logs, checked by an independent reader (tests/lib/blockcanary_reader.py). */
#include <dirent.h>

#include "export/blockcanary/blockcanary.h"
#include "export/timed_name.h"
#include "tests/tap.h"
#include "tests/unit/export_run.h"

static struct strbuf out = STRBUF_INIT;

static struct sink *new_sink(const char *qualifier)
{
	struct sink_dir_opts opts = { .dir = scratch_dir, .qualifier = qualifier };
	struct sink *sink = NULL;
	struct err err;

	if (sink_dir__new(&opts, &sink, &err))
		abort();
	return sink;
}

static size_t count_logs(void)
{
	run(&out, "ls %s | grep -c '^looper-.*[.]log$'", scratch_dir);
	return strtoul(strbuf__str(&out), NULL, 10);
}

static void remove_logs(void)
{
	run(&out, "rm -f %s/looper-*.log", scratch_dir);
}

/* Writes one fixture to the directory; returns what the reader makes of it. */
static const char *read_fixture(const char *name, const char *qualifier)
{
	struct sink *sink = new_sink(qualifier);

	remove_logs();
	for (size_t i = 0; i < FIXTURE_CNT; i++)
		if (!strcmp(fixtures[i].name, name) && send_block(sink, fixtures[i].make()))
			abort();
	sink->ops->free(sink);
	run(&out, READER " %s/*.log", scratch_dir);
	return strbuf__str(&out);
}

static void test_lint(void)
{
	struct sink *sink = new_sink(NULL);

	for (size_t i = 0; i < FIXTURE_CNT; i++)
		is_int(send_block(sink, fixtures[i].make()), 0, "%s is written", fixtures[i].name);
	is_int(send_summary(sink, true), 0, "summary is written");
	sink->ops->free(sink);
	is_int(count_logs(), FIXTURE_CNT - 1, "a log for each block, none for the open hang");
	ok(logs_pass(scratch_dir), "the reader has no complaint");
	run(&out, READER " %s/*.log | grep -c '\"verdict\": \"ok\"'", scratch_dir);
	is_int(atoi(strbuf__str(&out)), FIXTURE_CNT - 1, "all open in it");
}

static const struct {
	const char *fixture, *part;
} parts[] = {
	{ "cpu", "\"qua\": \"jankbpf " },
	{ "cpu", "\"time\": 312, \"thread-time\": 300," },
	{ "cpu", "\"process\": \"redis-server\"" },
	{ "cpu", "\"api-level\": \"6 6.18.5-cloud-amd64\"" },
	{ "cpu", "\"title\": \"redis-server+0x10\"" },
	{ "cpu", "cpu:31% app:25% [user:27% system:4% ioWait:0% ]\"" },
	{ "cpu", "\"luaV_gettable(lvm.c:113)\"" },
	{ "lock", "\"title\": \"thumbnailer+0x22\"" },
	{ "lock", "\"img::cache::Cache::lookup(thumbnailer+0x40)\"" },
	{ "lock", "\"unknown(thumbnailer+0x81230)\", \"unknown(0x7ffff7fc1234)\"" },
	{ "lock", "\"cpu-busy\": \"true\"" },
	{ "bare", "\"cpu-rate\": []" },
	{ "bare", "\"no_samples(other 101 ms)\"" },
	{ "bare", "\"title\": \"other 101 ms\"" },
	{ "bare", "\"process\": \"unknown\"" },
	{ "bare", "\"freeMemory\": \"812332\"" },
	{ "hostile", "\"process\": \"a\\\"b\\\\c??d?[31m\"" },
	{ "hostile", "\"x.org.chromium.base.Run(org.chromium?.so+0x2)\"" },
	{ "hostile", "\"[k].org.chromium.kernel(vmlinux)\"" },
	{ "hostile", "\"no_frames(poll 6.00 ms)\"" },
	{ "states", "\"[k].unknown(0xffffffff81000003)\"" },
	{ "hang_end", "\"time\": 5000" },
};

static void test_parts(void)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		has_str(read_fixture(parts[i].fixture, NULL), parts[i].part, "%s in the reader",
			parts[i].fixture);
	has_str(read_fixture("cpu", "team \n= a = b"), "\"qua\": \"team ?= a : b\"",
		"a qualifier with special characters, escaped");
	has_str(read_fixture("cpu", "  "), "\"qua\": \"unknown\"", "a blank qualifier");
}

static void test_our_keys(void)
{
	struct block *b = fixture__lock();
	struct strbuf log = STRBUF_INIT;

	blockcanary__add_log(&log, fixture__record(b)->block, NULL);
	has_str(log.data, "\r\nx-severity = jank\r\n", "severity");
	has_str(log.data, "\r\nx-loop = libuv\r\n", "loop");
	has_str(log.data,
		"\r\nx-runnable-ns = 4000000\r\nx-blocked-futex-ns = "
		"1000000000\r\nx-blocked-disk-ns = 200000007\r\n",
		"account");
	has_str(log.data, "\r\nx-cause = futex\r\nx-cause-share = 0.8000\r\n", "cause");
	has_str(log.data, "\r\nx-lost-samples_shed = 3\r\n", "losses");
	block__free(b);
	strbuf__free(&log);
}

static void test_verdict_keys(void)
{
	struct block *b = fixture__chain();
	struct strbuf log = STRBUF_INIT;

	blockcanary__add_log(&log, fixture__record(b)->block, NULL);
	has_str(log.data,
		"\r\nx-cause = futex\r\nx-cause-what = mutex\r\nx-cause-summary = waited 150 ms "
		"for a mutex "
		"held by thread 'indexer' (tid 4711), which waited 139 ms for the disk in fsync ← "
		"flush_index\r\nx-cause-confidence = 0.95\r\nx-cause-share = 0.7500\r\n",
		"the verdict in a sentence");
	has_str(log.data,
		"\r\nx-chain = indexer pid 4700 tid 4711 woke disk ns 139000000 fsync\r\n"
		"x-chain = jbd2/vda1-8 pid 310 tid 310 woke\r\n",
		"a line for each thread of the chain");
	block__free(b);
	strbuf__reset(&log);
	b = fixture__hostile();
	blockcanary__add_log(&log, fixture__record(b)->block, NULL);
	has_str(log.data, "\r\nx-cause-summary = waited for ?[31m?'a",
		"a hostile sentence stays one line");
	block__free(b);
	strbuf__reset(&log);
	b = fixture__lock();
	blockcanary__add_log(&log, fixture__record(b)->block, NULL);
	lacks_str(log.data, "x-cause-summary", "no sentence, no line");
	lacks_str(log.data, "x-chain", "no chain, no line");
	block__free(b);
	strbuf__free(&log);
}

static void test_message_keys(void)
{
	struct block *b = fixture__qt();
	struct strbuf log = STRBUF_INIT;

	blockcanary__add_log(&log, fixture__record(b)->block, NULL);
	has_str(log.data,
		"\r\nx-message = >>>>> Dispatching to app::Window<…> libx.so+0x1234: "
		"QTimerEvent\r\n"
		"x-message-what = QTimerEvent\r\n"
		"x-message-handler = app::Window<int> (/usr/bin/kcalc)\r\n"
		"x-message-callback = +0x1234 (/usr/lib/libx.so)\r\n"
		"x-message-source = frame clock\r\nx-message-queued-ns = 35000000\r\n",
		"a message as Android's Looper would log it, and its parts");
	block__free(b);
	b = fixture__ready();
	strbuf__reset(&log);
	blockcanary__add_log(&log, fixture__record(b)->block, NULL);
	has_str(log.data,
		"\r\nx-message = 5 ready, first tcp "
		"127.0.0.1:6379->127.0.0.1:51234\r\nx-message-fd = 8\r\n"
		"x-message-fd-target = tcp 127.0.0.1:6379->127.0.0.1:51234\r\nx-message-ready = "
		"5\r\n",
		"the ready descriptors");
	block__free(b);
	b = fixture__lock();
	strbuf__reset(&log);
	blockcanary__add_log(&log, fixture__record(b)->block, NULL);
	lacks_str(log.data, "x-message", "no message, no line");
	block__free(b);
	strbuf__free(&log);
}

/* More samples than its reader keeps: the last hundred are written. */
static void test_many_samples(void)
{
	struct sample tick = { .state = JANK_STATE_RUNNING, .syscall = -1 };
	struct block *b = fixture__new(200 * FIXTURE_MS, "many", 1, 1);
	struct strbuf log = STRBUF_INIT;
	size_t cnt = 0;

	for (int i = 0; i < 150; i++) {
		tick.t_ns = FIXTURE_START + i * FIXTURE_MS;
		SAMPLE(b, tick, { .address = (uint64_t)i });
	}
	blockcanary__add_log(&log, fixture__record(b)->block, NULL);
	for (const char *p = log.data; (p = strstr(p, "unknown(0x")); p++)
		cnt++;
	is_int(cnt, 100, "100 stacks");
	lacks_str(log.data, "(0x31)", "the 50th is gone");
	has_str(log.data, "(0x32)", "the 51st is the first");
	has_str(log.data, "(0x95)", "the last is there");
	block__free(b);
	strbuf__free(&log);
}

static void test_same_millisecond(void)
{
	struct sink *sink = new_sink(NULL);

	remove_logs();
	for (int i = 0; i < 12; i++) {
		struct block *b = fixture__bare();

		b->start_ns += i; /* nanoseconds */
		is_int(send_block(sink, b), 0, "block %d of a millisecond", i);
	}
	sink->ops->free(sink);
	is_int(count_logs(), 12, "each has its log");
	ok(logs_pass(scratch_dir), "each is whole");
}

/* A log in which nothing is known is still one that the reader accepts. */
static void test_absent(void)
{
	struct sink *sink = new_sink(NULL);

	remove_logs();
	is_int(send_absent(sink, JANKBPF__RECORD__TYPE_BLOCK), 0, "an unknown block");
	is_int(send_absent(sink, JANKBPF__RECORD__TYPE_HANG), 0, "an unknown hang");
	sink->ops->free(sink);
	is_int(count_logs(), 1, "the block has a log");
	ok(logs_pass(scratch_dir), "the reader has no complaint");
	run(&out, "grep -c '(null)' %s/looper-*.log", scratch_dir);
	is_int(atoi(strbuf__str(&out)), 0, "nothing is made up");
}

/* The reader must find damage: each log is damaged by one sed script. */
static const struct {
	const char *sed, *complaint;
} damages[] = {
	{ "s/^process = .*/process = \\r/",
	  "deleted as corrupt" }, /* before time-start: it is lost */
	{ "s/^cpu-busy = .*/cpu-busy = \\r/", "invalid: no value" },
	{ "s/^time = .*/time = 12.5\\r/", "deleted as corrupt: no integer" },
	{ "s/^time-start = .*/time-start = \\r/", "deleted as corrupt" },
	{ "s/^luaD_call/org.chromium.x/", "deleted by the white list" },
	{ "s/^x-loop = /timeline = /", "invalid: no integer" },
	{ "s/^x-loop = /stack-loop = /", "stacks without frames" },
	{ "/^cpu-rate/{n;d}", "stacks without frames, or none: 0" },
	{ "s/\\r$//", "a line end other than CRLF" },
	{ "s/^call(/call(int)(/", "frame: 'call(int)(" },
	{ "s/^x-id = /q-id = /", "keys:" },
	{ "s/^versionName.*/&\\nversionName = 2\\r/", "keys:" },
	{ "s/^model = .*/model = \\x01\\r/", "a control byte" },
	{ "s/^model = .*/model = \\xff\\r/", "no UTF-8" },
	{ "2d", "not the header" },
};

static void test_reader(void)
{
	read_fixture("cpu", NULL);
	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		run(&out,
		    "mkdir -p %s/bad && LC_ALL=C sed '%s' %s/looper-*.log >%s/bad/1.log && chmod "
		    "600 %s/bad/1.log && " READER " --lint %s/bad/1.log 2>&1",
		    scratch_dir, damages[i].sed, scratch_dir, scratch_dir, scratch_dir,
		    scratch_dir);
		has_str(strbuf__str(&out), damages[i].complaint, "damage is found: %s",
			damages[i].sed);
	}
}

static const struct {
	const char *name;
	bool ours;
} file_names[] = {
	{ "looper-2026-01-02_03-04-05.678.log", true },
	{ "looper-2026-01-02_03-04-05.678-12.log", true },
	{ "looper-2026-01-02_03-04-05.678-.log", false },
	{ "looper-2026-01-02_03-04-05.678.log.bak", false },
	{ "looper-2026-01-02_03-04-05.log", false },
	{ "looper-2026-01-02_03-04-05.678-a.log", false },
	{ "looper-.log", false },
	{ "my-notes.log", false },
	{ "", false },
};

static void test_names(void)
{
	for (size_t i = 0; i < sizeof(file_names) / sizeof(*file_names); i++)
		is_int(timed_name__is(&timed_name_log, file_names[i].name), file_names[i].ours,
		       "'%s' is %sours", file_names[i].name, file_names[i].ours ? "" : "not ");
}

/* A log of the trace and one of the JSON record, which has one decimal, are the same. */
static void test_percent(void)
{
	Jankbpf__Cpu cpu = JANKBPF__CPU__INIT;
	Jankbpf__Block block = JANKBPF__BLOCK__INIT;
	struct strbuf exact = STRBUF_INIT, rounded = STRBUF_INIT;

	cpu.has_total_pct = cpu.has_process_pct = cpu.has_user_pct = cpu.has_system_pct = true;
	cpu.has_iowait_pct = true;
	cpu.user_pct = 87.46;
	block.cpu = &cpu;
	blockcanary__add_log(&exact, &block, NULL);
	cpu.user_pct = 87.5;
	blockcanary__add_log(&rounded, &block, NULL);
	has_str(strbuf__str(&exact), "user:88%", "a percentage is rounded to a decimal first");
	is_str(strbuf__str(&exact), strbuf__str(&rounded), "so the log is the same");
	strbuf__free(&exact);
	strbuf__free(&rounded);
}

int main(void)
{
	ignore_signals();
	scratch__init();
	test_percent();
	test_lint();
	test_parts();
	test_our_keys();
	test_verdict_keys();
	test_message_keys();
	test_many_samples();
	test_same_millisecond();
	test_absent();
	test_reader();
	test_names();
	strbuf__free(&out);
	return tap__done();
}
