/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Histories as messages and as traces: what of the entries arrives, what is missing, damaged
 * messages; the files in DIR. tests/live/history.t has those of real programs.
 */
#include <glob.h>

#include "base/clock.h"
#include "base/text.h"
#include "deliver/sinks.h"
#include "export/json/json.h"
#include "export/report/report.h"
#include "export/timed_name.h"
#include "schema/perfetto.pb-c.h"
#include "tests/unit/export_run.h"

#define BEGIN_NS  1000000ull
#define BOOT_NS	  77000000ull
#define LENGTH_NS 1000ull

static struct jank_history_entry entry(unsigned kind, uint64_t t_ns, uint32_t from, uint32_t to,
				       const char *comm)
{
	struct jank_history_entry ret = { .t_ns = BEGIN_NS + t_ns,
					  .tid = to,
					  .tgid = to ? 100 : 0,
					  .other_tid = from,
					  .prio = 122,
					  .kind = kind };

	strcpy(ret.comm, comm);
	return ret;
}

/* Two CPUs; the second has a hole from 300 to 400. */
static struct history *example(void)
{
	static struct jank_history_entry first[8], second[4];
	static struct history_gap gaps[] = { { BEGIN_NS + 300, BEGIN_NS + 400 } };
	static struct history_cpu cpus[] = { { 0, first, 7, NULL, 0 }, { 3, second, 3, gaps, 1 } };
	static struct history history = { .window = { BEGIN_NS, BEGIN_NS + LENGTH_NS, 0 },
					  .boot_offset_ns = BOOT_NS,
					  .cpus = cpus,
					  .cpu_cnt = 2 };

	first[0] = entry(JANK_HISTORY_SWITCH, -50, 1, 100, "loop");
	first[1] = entry(JANK_HISTORY_TICK, -20, 0, 100, "loop"); /* before the window: not in it */
	first[2] = entry(JANK_HISTORY_TICK, 20, 0, 100, "loop");
	first[2].state = JANK_HISTORY_DISPATCH | JANK_HISTORY_USER;
	first[3] = entry(JANK_HISTORY_SWITCH, 200, 100, 0, "swapper/0");
	first[3].state = 0x2001;
	first[4] = entry(JANK_HISTORY_WAKE | JANK_HISTORY_IRQ, 500, 0, 100, "loop");
	first[4].state = 3;
	first[5] = entry(JANK_HISTORY_SWITCH, 510, 0, 100, "loop");
	first[6] = entry(JANK_HISTORY_SWITCH | JANK_HISTORY_PREEMPTED, 900, 100, 101, "hog\xff");
	second[0] = entry(JANK_HISTORY_SWITCH, 0, 5, 101, "hog\xff");
	second[1] = entry(JANK_HISTORY_SWITCH, 300, 101, 0, "swapper/3");
	second[1].state = 0x402;
	second[2] = entry(JANK_HISTORY_SWITCH, 400, 9, 101, "hog\xff");
	second[2].state = 0x80;
	return &history;
}

static const Jankbpf__History *message(struct record *builder, Jankbpf__Block **blocks, size_t cnt)
{
	const Jankbpf__Record *record = record__of_history(builder, example(), blocks, cnt);

	if (!record || record->type_case != JANKBPF__RECORD__TYPE_HISTORY)
		abort();
	return record->history;
}

static void test_message(void)
{
	struct record *builder = record__new();
	const Jankbpf__History *got = message(builder, NULL, 0);
	const Jankbpf__HistoryCpu *cpu = got->cpus[0];

	ok(got->start_ns == BEGIN_NS && got->boot_ns == BEGIN_NS + BOOT_NS &&
		   got->elapsed_ns == LENGTH_NS,
	   "the window");
	is_uint(got->n_threads, 4, "each thread once under each name");
	ok(cpu->n_switch_ns == 4 && cpu->switch_ns[0] == 0 && cpu->switch_ns[1] == 200 &&
		   cpu->switch_ns[2] == 310 && cpu->switch_ns[3] == 390,
	   "times are differences, and the switch before the window is at its begin");
	ok(cpu->switch_state[1] == 1 && cpu->switch_state[3] == 0x100 &&
		   got->cpus[1]->switch_state[1] == 0x80 && got->cpus[1]->switch_state[2] == 0x10,
	   "states as ftrace reports them: asleep, preempted, idle, dead");
	is_uint(cpu->switch_priority[0], 121, "the kernel's priority, plus 1");
	ok(cpu->n_wake_ns == 1 && cpu->wake_ns[0] == 500 && cpu->wake_irq[0] == 1 &&
		   cpu->wake_cpu[0] == 3,
	   "the wake-up");
	ok(cpu->n_tick_ns == 1 && cpu->tick_ns[0] == 20 && cpu->tick_state[0] == 3, "the tick");
	ok(got->cpus[1]->cpu == 3 && got->cpus[1]->n_gaps == 1 &&
		   got->cpus[1]->gaps[0]->at_ns == 300 && got->cpus[1]->gaps[0]->ns == 100,
	   "the gap");
	record__free(builder);
}

static void test_redacted(void)
{
	struct record *builder = record__new();
	const Jankbpf__History *got;
	unsigned readable = 0;

	is_int(record__set_redaction(builder, REDACT_PATHS, NULL, &(struct err){}), 0, "redaction");
	got = message(builder, NULL, 0);
	for (size_t i = 0; i < got->n_threads; i++)
		readable += strncmp(got->threads[i]->name, "redacted-", 9) != 0;
	is_uint(readable, 0, "names of threads are hashed");
	record__free(builder);
}

/* --- the trace */

static Perfetto__Protos__Trace *trace_of(const Jankbpf__History *history)
{
	struct report_out out = { .fd = -1 };
	Perfetto__Protos__Trace *ret;

	is_int(report__history(&out, history), 0, "a trace");
	ret = perfetto__protos__trace__unpack(NULL, out.bytes.len, (const uint8_t *)out.bytes.data);
	strbuf__free(&out.bytes);
	if (!ret)
		abort();
	return ret;
}

/* The nr-th bundle of the CPU. */
static const Perfetto__Protos__FtraceEventBundle *bundle_of(const Perfetto__Protos__Trace *trace,
							    uint32_t cpu, unsigned nr)
{
	for (size_t i = 0; i < trace->n_packet; i++) {
		const Perfetto__Protos__FtraceEventBundle *b = trace->packet[i]->ftrace_events;

		if (b && b->cpu == cpu && !nr--)
			return b;
	}
	return NULL;
}

static unsigned count_events(const Perfetto__Protos__Trace *trace, const char *name)
{
	unsigned cnt = 0;

	for (size_t i = 0; i < trace->n_packet; i++) {
		const Perfetto__Protos__TrackEvent *event = trace->packet[i]->track_event;

		cnt += event && event->name && !strcmp(event->name, name);
	}
	return cnt;
}

static unsigned count_blocks(const Perfetto__Protos__Trace *trace)
{
	unsigned cnt = 0;

	for (size_t i = 0; i < trace->n_packet; i++) {
		const Perfetto__Protos__TrackEvent *event = trace->packet[i]->track_event;

		cnt += event && event->n_categories && !strcmp(event->categories[0], "jank");
	}
	return cnt;
}

static void check_switches(const Perfetto__Protos__Trace *trace)
{
	const Perfetto__Protos__FtraceEventBundle *b = bundle_of(trace, 0, 0);
	const Perfetto__Protos__FtraceEventBundle__CompactSched *s = b->compact_sched;

	ok(s->n_switch_timestamp == 5 && s->switch_timestamp[0] == BEGIN_NS + BOOT_NS &&
		   s->switch_timestamp[1] == 0 && s->switch_timestamp[2] == 200,
	   "the first switch comes twice, on the clock BOOTTIME");
	ok(s->switch_next_pid[0] == 100 && s->switch_next_pid[1] == 100 &&
		   s->switch_next_pid[2] == 0 && s->switch_next_prio[1] == 120,
	   "threads and priorities");
	is_str(s->intern_table[s->switch_next_comm_index[2]], "swapper/0", "names by place");
	is_str(s->intern_table[s->switch_next_comm_index[4]], "hog\xef\xbf\xbd", "as UTF-8");
	b = bundle_of(trace, 0, 1);
	s = b->compact_sched;
	ok(s->n_waking_timestamp == 1 && s->waking_timestamp[0] == BEGIN_NS + BOOT_NS + 500 &&
		   s->waking_pid[0] == 100 && s->waking_target_cpu[0] == 3 &&
		   s->waking_common_flags[0] == 8,
	   "the wake-up, by an interrupt");
	ok(!b->lost_events && !bundle_of(trace, 0, 2), "nothing is missing on this CPU");
	b = bundle_of(trace, 3, 1);
	ok(b && b->lost_events && b->compact_sched->n_switch_timestamp == 1 &&
		   b->compact_sched->switch_timestamp[0] == BEGIN_NS + BOOT_NS + 400,
	   "after a gap a bundle says that events are lost");
}

static void test_trace(void)
{
	struct record *builder = record__new();
	struct block *block = fixture__cpu();
	Jankbpf__Block *blocks[] = { fixture__record(block)->block };
	const Jankbpf__History *history = message(builder, blocks, 1);
	Perfetto__Protos__Trace *trace = trace_of(history);
	const Perfetto__Protos__ClockSnapshot *clocks = trace->packet[0]->clock_snapshot;
	unsigned threads = 0, kernels = 0;

	ok(clocks && clocks->n_clocks == 3 && clocks->clocks[2]->clock_id == 6 &&
		   clocks->clocks[2]->timestamp - clocks->clocks[0]->timestamp == BOOT_NS,
	   "it begins with the clocks");
	check_switches(trace);
	for (size_t i = 0; i < trace->n_packet; i++) {
		threads += trace->packet[i]->process_tree ? 1 : 0;
		kernels += trace->packet[i]->system_info ? 1 : 0;
	}
	is_uint(threads, 2, "each thread belongs to its process; the idle task is none");
	is_uint(kernels, 1, "the kernel's release tells what states mean");
	is_uint(count_events(trace, "history"), 1, "the window is a slice");
	is_uint(count_events(trace, "gap"), 1, "so is the gap");
	is_uint(count_events(trace, "tick: user mode"), 1, "the tick is an instant");
	is_uint(count_blocks(trace), 1, "the block is drawn");
	perfetto__protos__trace__free_unpacked(trace, NULL);
	block__free(block);
	record__free(builder);
}

/* Columns of other lengths and places that are not there, as in a damaged file. */
static void test_damaged(void)
{
	struct record *builder = record__new();
	Jankbpf__History *history = (Jankbpf__History *)message(builder, NULL, 0);
	Perfetto__Protos__Trace *trace;

	history->cpus[0]->n_switch_state--;
	history->cpus[0]->n_tick_state = 0;
	history->cpus[1]->switch_thread[1] = 4;
	trace = trace_of(history);
	ok(!bundle_of(trace, 0, 0), "a CPU whose columns differ in length is left out");
	is_uint(bundle_of(trace, 3, 0)->compact_sched->n_switch_timestamp, 2,
		"a switch to no thread, too");
	is_uint(count_events(trace, "tick: user mode"), 0, "and ticks");
	perfetto__protos__trace__free_unpacked(trace, NULL);
	history->n_threads = history->n_cpus = 0;
	trace = trace_of(history);
	ok(trace->n_packet, "an empty one is a trace");
	perfetto__protos__trace__free_unpacked(trace, NULL);
	record__free(builder);
}

/* More events than a bundle has. */
static void test_long(void)
{
	size_t cnt = 10000, seen = 0;
	struct jank_history_entry *entries = calloc(cnt, sizeof(*entries));
	struct history_cpu cpu = { .entries = entries, .cnt = cnt };
	struct history history = { .window = { BEGIN_NS, BEGIN_NS + cnt, 0 },
				   .cpus = &cpu,
				   .cpu_cnt = 1 };
	struct record *builder = record__new();
	const Perfetto__Protos__FtraceEventBundle *b;
	Perfetto__Protos__Trace *trace;

	for (size_t i = 0; i < cnt; i++)
		entries[i] = entry(JANK_HISTORY_SWITCH, i, i % 2, (i + 1) % 2, "t");
	trace = trace_of(record__of_history(builder, &history, NULL, 0)->history);
	for (unsigned i = 0; (b = bundle_of(trace, 0, i)); i++)
		seen += b->compact_sched->n_switch_timestamp;
	is_uint(seen, cnt + 1, "all switches are in some bundle");
	perfetto__protos__trace__free_unpacked(trace, NULL);
	record__free(builder);
	free(entries);
}

/* --- DIR */

static size_t file_cnt(const char *dir)
{
	char pattern[512];
	glob_t found;
	size_t cnt;

	snprintf(pattern, sizeof(pattern), "%s/history-*.pftrace", dir);
	cnt = glob(pattern, 0, NULL, &found) ? 0 : found.gl_pathc;
	globfree(&found);
	return cnt;
}

static void test_names(void)
{
	struct strbuf name = STRBUF_INIT;

	timed_name__add(&name, &timed_name_history, 1767323045990 * NS_PER_MS, 0);
	ok(timed_name__is(&timed_name_history, strbuf__str(&name)), "%s is ours",
	   strbuf__str(&name));
	strbuf__reset(&name);
	timed_name__add(&name, &timed_name_history, 0, 12);
	ok(timed_name__is(&timed_name_history, strbuf__str(&name)) &&
		   strstr(strbuf__str(&name), "-12."),
	   "%s too", strbuf__str(&name));
	ok(!timed_name__is(&timed_name_history, "history-2026-01-02_03-04-05.990.log") &&
		   !timed_name__is(&timed_name_history, "history-of-mine.pftrace") &&
		   !timed_name__is(&timed_name_log, strbuf__str(&name)),
	   "others are not");
	strbuf__free(&name);
}

static void give(struct sink *sink, struct record *builder, unsigned ms)
{
	struct block *block = fixture__bare();
	Jankbpf__Block *blocks[1];

	block->start_ns = clock__mono_ns() + ms * NS_PER_MS;
	block->real_offset_ns = clock__real_offset_ns();
	blocks[0] = fixture__record(block)->block;
	is_int(sink->ops->record(sink, record__of_history(builder, example(), blocks, 1)), 0,
	       "the sink takes it");
	block__free(block);
}

static void test_dir(void)
{
	struct sink_dir_opts opts = { .max_bytes = 16 << 10 };
	char dir[256], lines[300];
	struct record *builder = record__new();
	struct err err = {};
	struct sink *sink;
	struct stat st;

	snprintf(dir, sizeof(dir), "%s/dir", scratch_dir);
	snprintf(lines, sizeof(lines), "%s/blocks.jsonl", dir);
	opts.dir = dir;
	if (sink_dir__new(&opts, &sink, &err))
		abort();
	give(sink, builder, 0);
	give(sink, builder, 0); /* the same time: another name */
	is_uint(file_cnt(dir), 2, "each history is a file");
	ok(!stat(lines, &st) && !st.st_size, "and has no line among the records");
	for (unsigned i = 1; i < 40; i++)
		give(sink, builder, 10 * i);
	ok(file_cnt(dir) > 1 && file_cnt(dir) < 30, "the oldest are deleted: %zu are left",
	   file_cnt(dir));
	sink->ops->free(sink);
	record__free(builder);
}

static int never(struct sink *sink, const Jankbpf__Record *record)
{
	(void)sink;
	(void)record;
	return -EINVAL;
}

/* stdout's sinks know no history. */
static void test_sinks(void)
{
	static const struct sink_ops ops = { .name = "never", .record = never };
	struct record *builder = record__new();
	struct sink sink = { .ops = &ops };
	struct sinks sinks = { .cnt = 1, .list = { &sink } };
	int result = 1;

	sinks__record(&sinks, record__of_history(builder, example(), NULL, 0), 1, &result);
	is_int(result, 0, "a stream gets no history");
	record__free(builder);
}

int main(void)
{
	scratch__init();
	ignore_signals();
	setenv("TZ", "UTC", 1);
	test_message();
	test_redacted();
	test_trace();
	test_damaged();
	test_long();
	test_names();
	test_dir();
	test_sinks();
	record__free(fixture_builder);
	return tap__done();
}
