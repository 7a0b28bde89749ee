/* SPDX-License-Identifier: GPL-2.0 */
/* The configuration of agent: values, errors with their lines, the file's owner, overrides. */
#include "options/config.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "tests/tap.h"
#include "tests/unit/options_fixture.h"

static char path[64];
static struct strbuf errors;

static void on_error(void *ctx, const char *message)
{
	(void)ctx;
	/* the path differs each time */
	strbuf__addf(&errors, "%s\n", message + strlen(path));
}

static void write_file(const char *text, size_t len)
{
	FILE *file = fopen(path, "w");

	if (!file || fwrite(text, 1, len, file) != len || fclose(file))
		exit(1);
	chmod(path, 0600);
}

static int read_text(const char *text, size_t len, struct options *ret)
{
	static bool set[OPTION_ROWS_MAX];
	static const bool given[OPTION_ROWS_MAX];
	static struct options scratch;
	const struct config_opts opts = {
		.path = path, .given = given, .scratch = &scratch, .error = on_error
	};

	memset(ret, 0, sizeof(*ret));
	strbuf__reset(&errors);
	write_file(text, len);
	return config__read(&opts, ret, set);
}

static int parse(const char *options, struct options *ret, struct err *err)
{
	char line[256];

	snprintf(line, sizeof(line), "agent --config %s %s", path, options);
	return fixture__parse(line, ret, err);
}

/* --- values */

static void test_good(void)
{
	static const char text[] =
		"\xef\xbb\xbf# a comment\n; another\n  # indented\n\n"
		"[select]\nall = yes\ncomm = redis*\ncomm = nginx\nloop=epoll,qt\nmain-thread = off\n"
		"[block]\nthreshold = 25ms\nhang=2s\ndebugging = on\r\n"
		"concern = a;b # no comment\nignore = deadbeef\n"
		"[limits]\nrecords_per_signature = 7\nmax-size = 1G\n"
		"[store]\noutput = /var/lib/jankbpf \t\ninterval = 30s\nformat = proto\n"
		"[metrics]\nlisten = [::1]:9436\ntextfile = /run/x.prom\n"
		"[notify]\non-block = echo a ; echo \"b = c\"";
	struct options opts;

	ok(!read_text(text, sizeof(text) - 1, &opts), "a whole configuration is read");
	is_str(strbuf__str(&errors), "", "without an error");
	ok(opts.filter.all && opts.filter.glob_cnt == 2, "keys that repeat add up");
	ok(!opts.filter.main_thread && opts.loop_cnt == 2, "off is off");
	is_uint(opts.threshold_ns, 25 * NS_PER_MS, "a time");
	is_uint(opts.hang_ns, 2 * NS_PER_SEC, "a long time");
	ok(opts.debugging, "a switch");
	is_str(opts.concern[0], "a;b # no comment", "a value goes to the end of its line");
	is_uint(opts.records_per_signature, 7, "a number; _ stands for -");
	is_uint(opts.max_size, 1u << 30, "a size");
	is_str(opts.output_dir, "/var/lib/jankbpf", "blanks around a value do not count");
	is_uint(opts.format, FORMAT_PROTO, "a word");
	is_str(opts.metrics_listen, "[::1]:9436", "an address");
	is_str(opts.on_command[0], "echo a ; echo \"b = c\"", "a command, whole");
	options__free(&opts);
}

static void test_long_value(void)
{
	char text[4096] = "[notify]\non-new = echo ";
	size_t len = strlen(text);
	struct options opts;

	memset(text + len, 'x', 3000);
	strcpy(text + len + 3000, "\n");
	ok(!read_text(text, strlen(text), &opts), "a value of 3,000 bytes is read");
	is_uint(strlen(opts.on_command[2]), 3005, "whole");
	options__free(&opts);
}

static void test_overrides(void)
{
	static const char text[] = "[block]\nthreshold = 80ms\n"
				   "[override a]\nmatch_process = redis*\nmatch-cgroup = */x\n"
				   "threshold = 5ms\n[override b]\nmatch-loop = libuv\nwatch = no\n"
				   "[override c]\nmatch-unit = c?.service\nthreshold = 1s\n"
				   "[limits]\ncpu = 1.5%\n";
	const struct override_facts redis = { .of = { NULL, "/a/x", "redis-server", "redis" } };
	const struct override_facts node = { .of = { "c1.service", "/a", "node", "libuv" } };
	const struct override_facts other = { .of = { "d.service", "/a", "nginx", "nginx" } };
	const struct override *found;
	struct options opts;

	ok(!read_text(text, sizeof(text) - 1, &opts), "overrides are read");
	found = override__find(&opts, &redis);
	is_str(found ? found->name : NULL, "a", "all matches of one hold");
	is_uint(override__least_threshold(&opts, &redis), 5 * NS_PER_MS, "its threshold");
	found = override__find(&opts, &node);
	is_str(found ? found->name : NULL, "b", "the first that matches applies");
	ok(found && found->unwatched, "and is not watched");
	is_uint(override__least_threshold(&opts, &node), 1000 * NS_PER_MS,
		"the probes, which know no loop, take the least that may apply");
	ok(!override__find(&opts, &other), "others have none");
	is_uint(override__least_of_all(&opts), 5 * NS_PER_MS, "the least of all");
	is_uint(opts.cpu_ppm, 15000, "a budget");
	options__free(&opts);
}

static void test_hangs(void)
{
	static const char text[] = "[select]\nall = yes\n[block]\nhang = 5s\n[override a]\n"
				   "match-unit = a\nhang = 60s\n[override b]\nmatch-unit = b\n"
				   "threshold = 7s\n[override c]\nmatch-unit = c\nhang = 2s\n"
				   "[override d]\nmatch-unit = d\nhang = 0\n";
	static const unsigned want_s[] = { 2, 5, 7, 10, 20, 60, 200 };
	uint64_t limits[JANK_HANG_LIMITS];
	struct strbuf many = STRBUF_INIT;
	struct options opts;
	struct err err;

	write_file(text, sizeof(text) - 1);
	ok(!parse("", &opts, &err), "overrides with hangs");
	ok(override__hang_limits(&opts, limits), "their limits fit");
	for (size_t i = 0; i < 7; i++)
		is_uint(limits[i], want_s[i] * NS_PER_SEC, "%u s is one", want_s[i]);
	is_uint(limits[7], UINT64_MAX, "there is no other");
	opts.hang_ns = 8 * NS_PER_SEC;
	override__imply_hangs(&opts);
	ok(!opts.overrides[1].has_hang, "a hang longer than a threshold needs none of its own");
	ok(opts.overrides[0].hang_ns == 60 * NS_PER_SEC && opts.overrides[3].has_hang,
	   "a given one stays");
	options__free(&opts);
	strbuf__adds(&many, "[select]\nall = yes\n");
	for (unsigned i = 0; i < 24; i++)
		strbuf__addf(&many, "[override o%u]\nmatch-unit = x\nhang = %us\n", i, 1000 + i);
	write_file(strbuf__str(&many), many.len);
	ok(parse("", &opts, &err), "too many hangs are refused");
	has_str(err.msg, "too many different hang limits: give at most 19", "with the remedy");
	strbuf__free(&many);
}

/* --- errors */

static const struct {
	const char *text, *want;
} bads[] = {
	{ "[override]\n", ":1: [override]: give it a name: [override redis]\n" },
	{ "[override a]\nthreshold = 1s\n[limits]\n",
	  ":3: [override a] matches nothing: give it match-unit, match-cgroup, match-process or "
	  "match-loop\n" },
	{ "[override a]\nmatch-proces = x\nmatch-unit = *\nwatch = maybe\nthreshold = x\n",
	  ":2: match-proces: no such key in [override]; did you mean match-process?\n"
	  ":4: watch 'maybe': give yes or no\n:5: threshold 'x': give a number with us, ms, s, m "
	  "or h, as in 100ms or 1.5s; a bare number is milliseconds\n" },
	{ "[override a]\nmatch-unit = x\nmatch-unit = y\n[override a]\n",
	  ":3: match-unit stands in [override a] twice: delete one, or write another override\n"
	  ":4: [override a] stands in line 1, too: give it another name\n" },
	{ "[limits]\ncpu = 1\n",
	  ":2: cpu '1': give a share of one core from 0.01% to 100%, as in 1%, or off\n" },
	{ "[agent]\ncontrol = here\n", ":2: control 'here': give a path from /, or off\n" },
	{ "[blok]\nx = 3\ny = 3\n", ":1: [blok]: no such section; did you mean [block]?\n" },
	{ "[zzzzz]\n",
	  ":1: [zzzzz]: no such section; there are select, block, probe, limits, store, "
	  "clickhouse, otlp, metrics, agent, notify\n" },
	{ "[block]\nthresold = 3\n",
	  ":2: thresold: no such key in [block]; did you mean threshold?\n" },
	{ "[metrics]\n\nzzzzzz = 3\n",
	  ":3: zzzzzz: no such key in [metrics]; there are listen, textfile, cert-file, "
	  "key-file, user, password-file\n" },
	{ "[metrics]\nthreshold = 3\n", ":2: threshold: a key of [block], not of [metrics]\n" },
	{ "all = yes\n", ":1: all: a key before the first [SECTION]\n" },
	{ "[select]\nall = maybe\n", ":2: all 'maybe': give yes or no\n" },
	{ "[block]\nthreshold = 0\n", ":2: threshold '0' is out of range: give 1us to 1h\n" },
	{ "[block]\nthreshold =\n", ":2: threshold '': give a number with us, ms, s, m or h, as in "
				    "100ms or 1.5s; a bare number is milliseconds\n" },
	{ "[block]\nhang = 5s\n[store]\n[block]\nhang = 6s\n",
	  ":5: hang stands in line 2, too: delete one of them\n" },
	{ "[store]\nformat = jsn\n", ":2: format 'jsn': give text, json or proto; did you mean "
				     "'json'?\n" },
	{ "[store]\noutput = \n", ":2: output is empty: give DIR\n" },
	{ "[metrics]\nlisten = localhost:1\n",
	  ":2: metrics-listen 'localhost:1': give ADDRESS:PORT with numbers, as in 127.0.0.1:9435 or "
	  "[::1]:9435, or off\n" },
	{ "[metrics]\nlisten = 127.0.0.1:65536\n",
	  ":2: metrics-listen '127.0.0.1:65536': give ADDRESS:PORT with numbers, as in 127.0.0.1:9435 "
	  "or [::1]:9435, or off\n" },
	{ "[block]\n threshold = 3\n",
	  ":2: the line is indented: begin it in the first column, and "
	  "write a value on one line\n" },
	{ "[block\n", ":1: a [SECTION] without its ]\n" },
	{ "[block] hang = 1s\nfps = 30\n",
	  ":1: text after the ]: write a key or a comment on a line of its own\n" },
	{ "[block] # limits\n",
	  ":1: text after the ]: write a key or a comment on a line of its own\n" },
	{ "[block]\nhang ; was = 1s\nfps: 1 = 2\n",
	  ":2: a : or ; before the =: write KEY = VALUE, and a comment on a line of its own\n"
	  ":3: a : or ; before the =: write KEY = VALUE, and a comment on a line of its own\n" },
	{ "[override a]\nmatch-unit = x\nthreshold = 1s\nwatch = no\nthreshold = 2s\nwatch = yes\n",
	  ":5: threshold stands in [override a] twice: delete one of them\n"
	  ":6: watch stands in [override a] twice: delete one of them\n" },
	{ "[block]\nthreshold\n",
	  ":2: neither [SECTION] nor KEY = VALUE; a comment begins with #\n" },
	{ "[limits]\nrecords-per-second = -1\n",
	  ":2: records-per-second '-1' is out of range: give 1 to 100000\n" },
	{ "[block]\nhang = x\nfps = 0\n[a]\n",
	  ":2: hang 'x': give a number with us, ms, s, m or h, as in 100ms or 1.5s; a bare number is "
	  "seconds\n:3: fps '0' is out of range: give 1 to 1000\n:4: [a]: no such section; there are "
	  "select, block, probe, limits, store, clickhouse, otlp, metrics, agent, notify\n" },
};

static void test_bad(void)
{
	struct options opts;

	for (size_t i = 0; i < sizeof(bads) / sizeof(*bads); i++) {
		is_int(read_text(bads[i].text, strlen(bads[i].text), &opts), -EINVAL, "%s",
		       bads[i].text);
		is_str(strbuf__str(&errors), bads[i].want, "its message");
		options__free(&opts);
	}
}

static void test_hostile(void)
{
	static char text[300 << 10];
	struct options opts;

	ok(read_text("[block]\nfps = 1\0 0\n", 19, &opts), "a zero byte is refused");
	options__free(&opts);
	memset(text, 'x', sizeof(text));
	is_int(read_text(text, sizeof(text), &opts), -EINVAL, "a large file is refused");
	has_str(strbuf__str(&errors), "more than 256 KiB", "with the reason");
	options__free(&opts);
	is_int(read_text(text, 200 << 10, &opts), -EINVAL, "so is a long line");
	options__free(&opts);
	for (size_t i = 0; i < 200 << 10; i += 2)
		memcpy(text + i, "x\n", 2);
	is_int(read_text(text, 200 << 10, &opts), -EINVAL, "and 100,000 errors");
	ok(errors.len < 20000, "of which only some are reported");
	options__free(&opts);
	is_int(read_text("[\x1b[31m]\n", 8, &opts), -EINVAL, "a section of control bytes");
	lacks_str(strbuf__str(&errors), "\x1b", "which do not reach the terminal");
	options__free(&opts);
}

/* --- the file */

static void test_file(void)
{
	struct options opts;
	struct err err;

	write_file("[select]\nall = yes\n", 19);
	chmod(path, 0622);
	ok(parse("", &opts, &err), "a file that others may write is refused");
	chmod(path, 0600);
	ok(!parse("", &opts, &err), "the same file is read when they may not");
	options__free(&opts);
	if (geteuid()) {
		skip(1, "only root can give a file away");
	} else {
		if (chown(path, 12345, 0))
			exit(1);
		ok(parse("", &opts, &err), "another user's file is refused");
	}
	unlink(path);
	ok(parse("-a", &opts, &err), "a file that --config names must exist");
}

/* --- with a command line */

static void test_override(void)
{
	static const char text[] = "[select]\nall = yes\ncomm = redis\n[block]\nthreshold = 25ms\n"
				   "hang = 3s\nignore = one\n";
	struct options opts;
	struct err err;

	write_file(text, sizeof(text) - 1);
	ok(!parse("", &opts, &err), "the file alone");
	is_uint(opts.threshold_ns, 25 * NS_PER_MS, "has its values");
	is_uint(opts.interval_ns, 10 * NS_PER_SEC, "an interval by default");
	is_str(opts.metrics_listen, "127.0.0.1:9435", "and metrics");
	options__free(&opts);
	ok(!parse("-t 50 --ignore two -c foo --metrics-listen off -o x", &opts, &err),
	   "options of the command line");
	is_uint(opts.threshold_ns, 50 * NS_PER_MS, "take the place of a key");
	is_uint(opts.hang_ns, 3 * NS_PER_SEC, "and of no other");
	ok(opts.ignore_cnt == 1 && !strcmp(opts.ignore[0], "two"), "also of one that repeats");
	ok(opts.filter.glob_cnt == 1, "of a filter, too");
	ok(!opts.metrics_listen, "off is off");
	options__free(&opts);
	ok(!parse("-p 1", &opts, &err), "-p takes the place of the selection");
	ok(!opts.filter.all && !opts.filter.glob_cnt && opts.pid_cnt == 1, "of all of it");
	options__free(&opts);
	ok(parse("-t 10s", &opts, &err), "both together are checked");
	has_str(err.msg, "--hang is shorter than --threshold", "as one command line");
	ok(parse("--metrics-listen off", &opts, &err), "nothing would get the results");
	has_str(err.msg, "nothing would get the results", "is refused");
	write_file("[block]\n", 8);
	ok(parse("", &opts, &err), "a file that selects nothing is refused");
	has_str(err.msg, "give it all = yes in [select]", "with the remedy");
}

int main(void)
{
	int fd;

	strcpy(path, "/tmp/test-config-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return 1;
	close(fd);
	test_good();
	test_overrides();
	test_long_value();
	test_bad();
	test_hostile();
	test_file();
	test_override();
	test_hangs();
	unlink(path);
	strbuf__free(&errors);
	return tap__done();
}
