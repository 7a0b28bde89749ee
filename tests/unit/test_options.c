/* SPDX-License-Identifier: GPL-2.0 */
/* The command line: each option and each command. */
#include "options/options.h"

#include <errno.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "tests/tap.h"
#include "tests/unit/options_fixture.h"

#define HOUR_NS (3600 * NS_PER_SEC)

/* --- numbers */

#define U64(member) offsetof(struct options, member), sizeof(uint64_t)
#define U32(member) offsetof(struct options, member), sizeof(unsigned)
#define U8(member)  offsetof(struct options, member), sizeof(bool)

struct good {
	const char *line;
	size_t offset, size;
	uint64_t want;
};

static const struct good goods[] = {
	{ "-p 1", U32(command), CMD_TRACE },
	{ "trace -p 1", U32(command), CMD_TRACE },
	{ "-p 1 trace", U32(command), CMD_TRACE },
	{ "-p 1", U64(threshold_ns), 100 * NS_PER_MS },
	{ "-p 1", U64(hang_ns), 5 * NS_PER_SEC },
	{ "-p 1", U32(fps), 60 },
	{ "-p 1", U32(frequency_hz), 99 },
	{ "-p 1", U32(backend), BACKEND_AUTO },
	{ "-p 1", U64(keep_ns), 48 * HOUR_NS },
	{ "-p 1", U64(max_size), 256u << 20 },
	{ "-p 1", U64(duration_ns), 0 },
	{ "-p 1", U64(count), 0 },
	{ "-p 1", U32(format), FORMAT_TEXT },
	{ "-p 1", U8(debugging), false },
	{ "-p 1", U32(verbosity), 0 },
	{ "-p 1 -t 25", U64(threshold_ns), 25 * NS_PER_MS },
	{ "-p 1 -t25ms", U64(threshold_ns), 25 * NS_PER_MS },
	{ "-p 1 --threshold=1.5s", U64(threshold_ns), 1500 * NS_PER_MS },
	{ "-p 1 --thr 1us", U64(threshold_ns), NS_PER_US },
	{ "-p 1 -t 5 -t 6", U64(threshold_ns), 6 * NS_PER_MS },
	{ "-p 1 -t 10s", U64(hang_ns), 10 * NS_PER_SEC },
	{ "-p 1 -t 1s --hang 1s", U64(hang_ns), NS_PER_SEC },
	{ "-p 1 --hang 0", U64(hang_ns), 0 },
	{ "-p 1 --hang 0 -t 10s", U64(hang_ns), 0 },
	{ "-p 1 --fps 120", U32(fps), 120 },
	{ "-p 1 -F 0", U32(frequency_hz), 0 },
	{ "-p 1 --frequency 9999", U32(frequency_hz), 9999 },
	{ "-p 1 --backend kernel", U32(backend), BACKEND_KERNEL },
	{ "-p 1 --backend uprobe", U32(backend), BACKEND_UPROBE },
	{ "-p 1 --backend auto", U32(backend), BACKEND_AUTO },
	{ "-p 1", U32(marks), MARKS_AUTO },
	{ "-p 1 --marks auto", U32(marks), MARKS_AUTO },
	{ "-p 1 --marks always", U32(marks), MARKS_ALWAYS },
	{ "-p 1 --marks never", U32(marks), MARKS_NEVER },
	{ "-p 1 -d 2m", U64(duration_ns), 120 * NS_PER_SEC },
	{ "-p 1 -d 5", U64(duration_ns), 5 * NS_PER_SEC },
	{ "-p 1 -d 0.5", U64(duration_ns), 500 * NS_PER_MS },
	{ "-p 1 --hang 2", U64(hang_ns), 2 * NS_PER_SEC },
	{ "-p 1 --keep 3600", U64(keep_ns), HOUR_NS },
	{ "-p 1 --duration 10s", U64(duration_ns), 10 * NS_PER_SEC },
	{ "-p 1 -n 3", U64(count), 3 },
	{ "-p 1 --count 18446744073709551615", U64(count), UINT64_MAX },
	{ "-p 1 --keep 0", U64(keep_ns), 0 },
	{ "-p 1 --keep 1h", U64(keep_ns), HOUR_NS },
	{ "-p 1 --max-size 0", U64(max_size), 0 },
	{ "-p 1 --max-size 2G", U64(max_size), 2ull << 30 },
	{ "-p 1 --json", U32(format), FORMAT_JSON },
	{ "-p 1 --format text", U32(format), FORMAT_TEXT },
	{ "-p 1 --format json", U32(format), FORMAT_JSON },
	{ "-p 1 --format proto", U32(format), FORMAT_PROTO },
	{ "-p 1 --format proto --json", U32(format), FORMAT_JSON },
	{ "-p 1 --json --format=proto", U32(format), FORMAT_PROTO },
	{ "-p 1 --debugging", U8(debugging), true },
	{ "-p 1 -v", U32(verbosity), 1 },
	{ "-p 1 -vv --verbose", U32(verbosity), 3 },
	{ "-p 1 -q", U32(verbosity), (unsigned)-1 },
	{ "-p 1 -vvq", U32(verbosity), 1 },
	{ "-p 1 --quiet", U32(verbosity), (unsigned)-1 },
	{ "-a", U8(filter.all), true },
	{ "--all", U8(filter.main_thread), false },
	{ "-p 1", U8(filter.all), false },
	{ "-a --main-thread", U8(filter.main_thread), true },
	{ "-p 1 --main-thread", U8(filter.main_thread), true },
	{ "-a -c redis* -c n?de", U32(filter.glob_cnt), 2 },
	{ "-c x", U8(filter.all), true },
	{ "loops -u 0", U8(filter.all), true },
	{ "-a -u 0 -u 65534 -u root", U32(filter.uid_cnt), 3 },
	{ "-a -l qt,glib -l qt", U64(loop_cnt), 2 },
	{ "--loop=epoll -- true", U64(loop_cnt), 1 },
	{ "-p 1", U32(react_rate), 60 },
	{ "-p 1", U64(react_timeout_ns), 10 * NS_PER_SEC },
	{ "-p 1", U64(record_ns), 0 },
	{ "-p 1 -o d --record 20", U64(record_ns), 20 * NS_PER_SEC },
	{ "-p 1 -o d --record 500ms --record-entries 64", U32(record_entries), 64 },
	{ "-p 1 --on-block true --react-rate 0", U32(react_rate), 0 },
	{ "-p 1 --on-hang true --react-timeout 500ms", U64(react_timeout_ns), 500 * NS_PER_MS },
	{ "loops", U32(command), CMD_LOOPS },
	{ "loops -a -d 3s", U64(duration_ns), 3 * NS_PER_SEC },
	{ "loops -p 1,2", U64(pid_cnt), 2 },
	{ "replay f", U32(command), CMD_REPLAY },
	{ "replay f -t 7", U64(threshold_ns), 7 * NS_PER_MS },
	{ "-t 7 replay f", U64(threshold_ns), 7 * NS_PER_MS },
	{ "replay -t 10s f", U64(threshold_ns), 10 * NS_PER_SEC },
	{ "replay f --json", U32(format), FORMAT_JSON },
	{ "replay f --format proto", U32(format), FORMAT_PROTO },
	{ "replay f --debugging", U8(debugging), true },
	{ "replay f --fps 30", U32(fps), 30 },
	{ "replay f -n 2", U64(count), 2 },
	{ "replay f --keep 2h", U64(keep_ns), 2 * HOUR_NS },
	{ "replay f --max-size 1M", U64(max_size), 1 << 20 },
	{ "replay f -v", U32(verbosity), 1 },
	{ "replay f -q", U32(verbosity), (unsigned)-1 },
	{ "doctor", U32(command), CMD_DOCTOR },
	{ "doctor -v", U32(verbosity), 1 },
	{ "doctor --disable-feature btf", U64(disabled_cnt), 1 },
	{ "-h", U32(command), CMD_HELP },
	{ "--help --foo -p 0", U32(command), CMD_HELP },
	{ "-hZ", U32(command), CMD_HELP },
	{ "doctor --help", U32(command), CMD_HELP },
	{ "help", U32(command), CMD_HELP },
	{ "help replay", U32(command), CMD_HELP },
	{ "-V", U32(command), CMD_VERSION },
	{ "replay --version", U32(command), CMD_VERSION },
	{ "symbolize f", U32(command), CMD_SYMBOLIZE },
	{ "symbolize f g -", U64(file_cnt), 3 },
	{ "symbolize --debug-dir a f --debug-dir=b", U64(debug_dir_cnt), 2 },
	{ "report f", U32(command), CMD_REPORT },
	{ "report f", U32(report_format), REPORT_MD },
	{ "report f --format folded", U32(report_format), REPORT_FOLDED },
	{ "report f --format html -o g", U32(report_format), REPORT_HTML },
	{ "report f --top 0 --stacks 5", U32(stacks), 5 },
	{ "report f --sort max", U32(sort), 2 },
	{ "report d f -", U64(file_cnt), 3 },
	{ "report --format pprof f", U32(report_format), REPORT_PPROF },
	{ "--format=perfetto report f", U32(report_format), REPORT_PERFETTO },
	{ "report f --format speedscope -o g", U32(report_format), REPORT_SPEEDSCOPE },
	{ "report f --since 2026-05-04T10:20:30Z", U64(since_ns), 1777890030 * NS_PER_SEC },
	{ "report f --since 2026-05-04T12:20:30+02:00", U64(since_ns), 1777890030 * NS_PER_SEC },
	{ "report f --since 2026-05-04T10:20:30.25Z", U64(since_ns),
	  1777890030 * NS_PER_SEC + 250 * NS_PER_MS },
	{ "serve d", U32(command), CMD_SERVE },
	{ "serve --listen unix:/s d", U64(file_cnt), 1 },
	{ "--schema", U32(command), CMD_SCHEMA },
	{ "-p 4194304", U64(pid_cnt), 1 },
	{ "-p 1,2 -p 2,3 --pid 1", U64(pid_cnt), 3 },
	{ "-p 1 --disable-feature a --disable-feature b", U64(disabled_cnt), 2 },
	{ "-a --loop-file a --loop-file b", U64(loop_file_cnt), 2 },
	{ "loops --loop-file a", U64(loop_file_cnt), 1 },
};

static uint64_t member(const struct options *opts, const struct good *good)
{
	const char *at = (const char *)opts + good->offset;
	unsigned word;
	uint64_t ret = 0;

	if (good->size == sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		return word;
	}
	memcpy(&ret, at, good->size);
	return ret;
}

static void test_good(void)
{
	for (size_t i = 0; i < sizeof(goods) / sizeof(*goods); i++) {
		struct options opts;
		struct err err;
		int code = fixture__parse(goods[i].line, &opts, &err);

		is_int(code, 0, "taken: [%s] %s", goods[i].line, err.msg);
		is_uint(member(&opts, &goods[i]), goods[i].want, "… with its value");
		options__free(&opts);
	}
}

/* --- words */

static void test_redact(void)
{
	struct options opts;
	struct err err;

	is_int(fixture__parse("-p 7 --redact messages,paths --redact-key k", &opts, &err), 0,
	       "--redact: %s", err.msg);
	is_uint(opts.redact, 5, "a bit for each word");
	is_str(opts.redact_key, "k", "--redact-key");
	options__free(&opts);
}

static void test_topic(void)
{
	static const char *const lines[][2] = {
		{ "-h", NULL },
		{ "help", NULL },
		{ "help loops", "loops" },
		{ "replay -t 5 --help x", "replay" },
		{ "trace -h", "trace" },
		{ "-p 1 --help", NULL },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct options opts;
		struct err err;

		is_int(fixture__parse(lines[i][0], &opts, &err), 0, "help: [%s] %s", lines[i][0],
		       err.msg);
		is_str(opts.topic, lines[i][1], "… about the command before it");
		options__free(&opts);
	}
}

static void test_words(void)
{
	struct options opts;
	struct err err;

	is_int(fixture__parse("-p 7,8 -p 9,8 -o dir --journal j.bin --qualifier nightly", &opts,
			      &err),
	       0, "words: %s", err.msg);
	ok(opts.pid_cnt == 3 && opts.pids[0] == 7 && opts.pids[1] == 8 && opts.pids[2] == 9,
	   "processes in order, without repeats");
	is_str(opts.output_dir, "dir", "-o");
	is_str(opts.journal, "j.bin", "--journal");
	is_str(opts.qualifier, "nightly", "--qualifier");
	ok(!opts.argv, "no COMMAND");
	ok(!opts.redact && !opts.redact_key, "nothing is redacted");
	options__free(&opts);
	ok(!opts.pids && !opts.pid_cnt, "free clears them");

	is_int(fixture__parse("replay -o out -- -odd", &opts, &err), 0, "replay -- FILE: %s",
	       err.msg);
	is_str(opts.journal, "-odd", "replay's FILE may begin with a minus after --");
	is_str(opts.output_dir, "out", "replay -o");
	options__free(&opts);

	is_int(fixture__parse("-p 1", &opts, &err), 0, "no --btf: %s", err.msg);
	ok(!opts.btf_path, "… then no file");
	options__free(&opts);
	is_int(fixture__parse("doctor --btf vmlinux.btf", &opts, &err), 0, "doctor --btf: %s",
	       err.msg);
	is_str(opts.btf_path, "vmlinux.btf", "--btf");
	options__free(&opts);

	is_int(fixture__parse("-a -c a* -u 7 -u root -l libuv,qt", &opts, &err), 0, "-a: %s",
	       err.msg);
	ok(glob__matches(&opts.filter.globs[0], "abc"), "-c");
	ok(opts.filter.uids[0] == 7 && opts.filter.uids[1] == 0, "-u by number and name");
	is_str(opts.loops[0], "libuv", "-l");
	is_str(opts.loops[1], "qt", "-l, the second");
	options__free(&opts);
	ok(!opts.loops && !opts.loop_cnt, "free clears these, too");
	is_int(fixture__parse("-a -u no-such-user", &opts, &err), -EINVAL,
	       "a user that isn't there");
	is_int(err.exit, JANK_EXIT_FAILED, "… is a failure, not wrong usage");
	is_int(fixture__parse("-p no-such-name", &opts, &err), -EINVAL,
	       "a process that isn't there");
	is_int(err.exit, JANK_EXIT_FAILED, "… likewise");
	has_str(err.msg, "--pid 'no-such-name': no process has this name", "with its name");

	is_int(fixture__parse("-p 1 --disable-feature hw_cycles", &opts, &err), 0, "feature: %s",
	       err.msg);
	is_str(opts.disabled[0], "hw_cycles", "--disable-feature");
	options__free(&opts);
}

static void test_command(void)
{
	int argc;
	char **argv = fixture__split("-t 5 -- prog -t 9 -p 1 --foo -- x", &argc);
	struct options opts;
	struct err err = { 0 };

	is_int(options__parse(argc, argv, &opts, &err), 0, "COMMAND: %s", err.msg);
	ok(opts.argv == argv + 4, "COMMAND is not copied from argv");
	is_str(opts.argv[0], "prog", "… its name");
	is_str(opts.argv[1], "-t", "… its options stay its own");
	is_str(opts.argv[5], "--foo", "… also those unknown to us");
	is_str(opts.argv[6], "--", "… and a second --");
	ok(opts.argv[7] && !opts.argv[8], "… to the end");
	is_uint(opts.threshold_ns, 5 * NS_PER_MS, "our -t is the one before --");
	ok(!opts.pid_cnt, "no -p of ours");
	options__free(&opts);

	is_int(fixture__parse("-- replay x", &opts, &err), 0, "a COMMAND called replay: %s",
	       err.msg);
	is_int(opts.command, CMD_TRACE, "… is traced");
	is_str(opts.argv[0], "replay", "… by its name");
	options__free(&opts);
}

/* As in -p "$(pidof nginx)" and -p "$(pgrep nginx)". */
static void test_pid_list(void)
{
	static const char *const lists[] = { "7 8 9", "7\n8\n9", " 7,8\t9\r\n" };

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		char *argv[] = { "jankbpf", "-p", (char *)lists[i], NULL };
		struct options opts;
		struct err err;

		is_int(options__parse(3, argv, &opts, &err), 0, "a list of process ids: %s",
		       err.msg);
		ok(opts.pid_cnt == 3 && opts.pids[0] == 7 && opts.pids[1] == 8 && opts.pids[2] == 9,
		   "each is used");
		options__free(&opts);
	}
}

static void test_many_pids(void)
{
	struct strbuf list = STRBUF_INIT;
	struct options opts;
	struct err err = { 0 };
	char *argv[] = { "jankbpf", "-p", NULL, NULL };

	for (int i = 1; i <= 4096; i++)
		strbuf__addf(&list, "%s%d", i > 1 ? "," : "", i);
	argv[2] = list.data;
	is_int(options__parse(3, argv, &opts, &err), 0, "4096 processes: %s", err.msg);
	is_uint(opts.pid_cnt, 4096, "… all of them");
	options__free(&opts);
	strbuf__adds(&list, ",4097");
	argv[2] = list.data;
	is_int(options__parse(3, argv, &opts, &err), -EINVAL, "4097 are refused");
	has_str(err.msg, "at most 4096", "… in words");
	strbuf__free(&list);
}

/* argv[0] may be missing, and err may be NULL. */
static void test_edges(void)
{
	char *none[] = { NULL }, *bad[] = { "jankbpf", "--foo", NULL };
	struct options opts;

	is_int(options__parse(0, none, &opts, NULL), -EINVAL, "no argv at all");
	is_int(options__parse(2, bad, &opts, NULL), -EINVAL, "no struct err");
}

static void test_backends(void)
{
	struct options opts;
	struct err err;

	is_int(fixture__parse("send --spool s --clickhouse-url http://a:1 --clickhouse-url "
			      "https://b:2 --clickhouse-database d --clickhouse-user u "
			      "--otlp-timeout 5s --timeout 1m --clickhouse-compress zstd",
			      &opts, &err),
	       0, "backends: %s", err.msg);
	is_str(opts.spool, "s", "--spool");
	is_uint(opts.sends[SEND_CLICKHOUSE].url_cnt, 2, "two shards");
	is_str(opts.sends[SEND_CLICKHOUSE].urls[1], "https://b:2", "in order");
	is_str(opts.sends[SEND_CLICKHOUSE].database, "d", "--clickhouse-database");
	is_str(opts.sends[SEND_CLICKHOUSE].user, "u", "--clickhouse-user");
	is_uint(opts.sends[SEND_CLICKHOUSE].compress, COMPRESS_ZSTD, "--clickhouse-compress");
	is_uint(opts.sends[SEND_OTLP].compress, COMPRESS_GZIP, "the default of --otlp-compress");
	is_uint(opts.sends[SEND_OTLP].url_cnt, 0, "the other one has none");
	is_uint(opts.sends[SEND_OTLP].timeout_ns, 5000000000ull, "--otlp-timeout");
	is_uint(opts.send_timeout_ns, 60000000000ull, "--timeout");
	is_uint(opts.spool_max, 256ull << 20, "the default of --spool-max");
	options__free(&opts);
	is_int(fixture__parse("send --spool s --otlp-url http://a", &opts, &err), 0, "one backend");
	is_str(opts.sends[SEND_CLICKHOUSE].database, "jankbpf", "the default database");
	is_uint(opts.sends[SEND_OTLP].signals, 0, "all signals by default");
	options__free(&opts);
	is_int(fixture__parse("send --spool s --otlp-url http://a --otlp-signals metrics,logs",
			      &opts, &err),
	       0, "signals: %s", err.msg);
	is_uint(opts.sends[SEND_OTLP].signals, 3, "logs and metrics: the first parts");
	options__free(&opts);
}

int main(void)
{
	test_backends();
	test_good();
	test_topic();
	test_words();
	test_redact();
	test_command();
	test_pid_list();
	test_many_pids();
	test_edges();
	return tap__done();
}
