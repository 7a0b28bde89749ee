/* SPDX-License-Identifier: GPL-2.0 */
/* The command line: each option, each command, each bad row with the words of its refusal. */
#include "app/options.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "tests/tap.h"

#define ARGV_MAX 24
#define HOUR_NS	 (3600 * NS_PER_SEC)

/* Splits at spaces; the words live in a static buffer until the next call. "\1" stands for an empty word. */
static char **split(const char *line, int *argc)
{
	static char buf[512], *argv[ARGV_MAX];
	char *rest = buf, *word;

	snprintf(buf, sizeof(buf), "jankbpf %s", line);
	*argc = 0;
	while ((word = strsep(&rest, " ")))
		if (*word)
			argv[(*argc)++] = *word == 1 ? word + 1 : word;
	argv[*argc] = NULL;
	return argv;
}

static int parse(const char *line, struct options *opts, struct err *err)
{
	int argc;
	char **argv = split(line, &argc);

	memset(opts, 0, sizeof(*opts));
	memset(err, 0, sizeof(*err));
	return options__parse(argc, argv, opts, err);
}

/* --- what is refused */

struct bad {
	const char *line, *says;
};

static const struct bad bads[] = {
	{ "", "nothing to trace: give a process by -p PID" },
	{ "trace", "nothing to trace" },
	{ "--", "nothing to trace" },
	{ "-p 0", "--pid '0' is out of range: give 1 to 4194304" },
	{ "-p -1", "--pid '-1' is out of range: give 1 to 4194304" },
	{ "-p abc", "--pid 'abc': give a whole number" },
	{ "-p 12x", "--pid '12x': give a whole number" },
	{ "-p 1.5", "--pid '1.5': give a whole number" },
	{ "-p 99999999999", "--pid '99999999999' is out of range: give 1 to 4194304" },
	{ "-p 99999999999999999999999", "is out of range: give 1 to 4194304" },
	{ "-p 4194305", "--pid '4194305' is out of range" },
	{ "-p 1,,2", "--pid '': give a whole number" },
	{ "-p 1,", "--pid '': give a whole number" },
	{ "-p \1", "--pid '': give a whole number" },
	{ "-p 1 -- true", "-p and a COMMAND after -- do not go together" },
	{ "-a -p 1", "-a is every process: give it alone, without -p" },
	{ "-a -- true", "-a is every process: give it alone, without a COMMAND" },
	{ "-p 1 -c x", "-c narrows -a: give -a, too" },
	{ "-u 0 -- true", "-u narrows -a: give -a, too" },
	{ "-c x", "-c narrows -a" },
	{ "loops -c x", "-c narrows -a" },
	{ "loops -a -p 1", "-a is every process" },
	{ "-a -c \1", "--comm '': no process has such a name" },
	{ "-a -c 0123456789abcdef*", "names have 1 to 15 bytes" },
	{ "-a -u 4294967295", "--uid '4294967295' is out of range: give 0 to 4294967294" },
	{ "-a -u \1", "--uid '': give a user's number or name" },
	{ "-a -g \1", "--cgroup ''" },
	{ "-a -l \1", "--loop: a name is empty" },
	{ "-a -l qt,,glib", "--loop: a name is empty" },
	{ "loops -t 5 -p 1", "--threshold does not go with loops" },
	{ "loops 5", "'5' is one word too many after loops" },
	{ "-p 1 -t 0", "--threshold '0' is out of range: give 1us to 1h" },
	{ "-p 1 -t -5", "--threshold '-5' is out of range: give 1us to 1h" },
	{ "-p 1 -t 5parsecs", "--threshold '5parsecs': give a number with us, ms, s, m or h" },
	{ "-p 1 -t ms", "--threshold 'ms': give a number" },
	{ "-p 1 -t \1", "--threshold '': give a number" },
	{ "-p 1 -t 99999999999999999999h", "is out of range: give 1us to 1h" },
	{ "-p 1 -t 61m", "--threshold '61m' is out of range" },
	{ "-p 1 --hang 25h", "--hang '25h' is out of range: give 1ms to 24h" },
	{ "-p 1 --hang 50ms", "--hang is shorter than --threshold" },
	{ "-p 1 --hang soon", "--hang 'soon': give a number" },
	{ "-p 1 --fps 0", "--fps '0' is out of range: give 1 to 1000" },
	{ "-p 1 --fps 1001", "--fps '1001' is out of range: give 1 to 1000" },
	{ "-p 1 --fps x", "--fps 'x': give a whole number" },
	{ "-p 1 -F 10000", "--frequency '10000' is out of range: give 0 to 9999" },
	{ "-p 1 -F -1", "--frequency '-1' is out of range: give 0 to 9999" },
	{ "-p 1 -F 99Hz", "--frequency '99Hz': give a whole number" },
	{ "-p 1 -d 0", "--duration '0' is out of range: give 1ms to" },
	{ "-p 1 -d 9000h", "--duration '9000h' is out of range" },
	{ "-p 1 -n 0", "--count '0' is out of range: give at least 1" },
	{ "-p 1 -n -3", "--count '-3' is out of range: give at least 1" },
	{ "-p 1 -n many", "--count 'many': give a whole number" },
	{ "-p 1 --keep 1ms", "--keep '1ms' is out of range: give 1s to" },
	{ "-p 1 --max-size 5", "--max-size '5' is out of range: give 1M to" },
	{ "-p 1 --max-size big", "--max-size 'big': give a number of bytes" },
	{ "-p 1 --backend ebpf", "--backend 'ebpf': give auto, kernel or uprobe" },
	{ "-p 1 --backend \1", "--backend '': give auto, kernel or uprobe" },
	{ "-p 1 -o \1", "--output is empty: give DIR" },
	{ "-p 1 --journal \1", "--journal is empty: give FILE" },
	{ "-p 1 --btf \1", "--btf is empty: give FILE" },
	{ "-p 1 --btf a\tb", "--btf has control characters: give FILE" },
	{ "-p 1 --btf", "--btf needs its FILE" },
	{ "-p 1 --qualifier \1", "--qualifier is empty: give TEXT" },
	{ "-p 1 --qualifier a\nb", "--qualifier has control characters: give TEXT" },
	{ "-p", "-p needs its PID" },
	{ "-vp", "-p needs its PID" },
	{ "--pid", "--pid needs its PID" },
	{ "-p 1 --threshold", "--threshold needs its TIME" },
	{ "-p 1 --json=yes", "--json takes no argument" },
	{ "-p 1 --foo", "unknown option '--foo'; see jankbpf --help" },
	{ "-p 1 --foo=1", "unknown option '--foo';" },
	{ "-p 1 --jsonx", "unknown option '--jsonx'" },
	{ "-p 1 -Z", "unknown option '-Z'; see jankbpf --help" },
	{ "-p 1 -vZ", "unknown option '-Z'" },
	{ "-p 1 -A", "unknown option '-A'" },
	{ "-p 1 --allx", "unknown option '--allx'" },
	{ "-p 1 --f\33[2J", "unknown option '--f?[2J'" },
	{ "-p 1 --j", "'--j' may be --json or --journal" },
	{ "-p 1 sleep 5",
	  "'sleep' is no command of jankbpf; to start and trace a program, put --" },
	{ "loop", "'loop' is no command of jankbpf" },
	{ "trace doctor", "'doctor' is no command of jankbpf" },
	{ "-p 1 -", "'-' is no command of jankbpf" },
	{ "replay", "replay needs the FILE that --journal wrote" },
	{ "replay a b", "'b' is one word too many after replay" },
	{ "replay a -p 1", "--pid does not go with replay" },
	{ "replay a --hang 1s", "--hang does not go with replay" },
	{ "replay a --backend auto", "--backend does not go with replay" },
	{ "replay a --btf b", "--btf does not go with replay" },
	{ "replay a -F 9", "--frequency does not go with replay" },
	{ "replay a -d 9", "--duration does not go with replay" },
	{ "replay a --journal b", "--journal does not go with replay" },
	{ "replay a --qualifier b", "--qualifier does not go with replay" },
	{ "replay a --disable-feature btf", "--disable-feature does not go with replay" },
	{ "-p 1 replay a", "--pid does not go with replay" },
	{ "doctor x", "'x' is one word too many after doctor" },
	{ "doctor -t 5", "--threshold does not go with doctor" },
	{ "doctor --json", "--json does not go with doctor" },
	{ "doctor -- true", "'true' is one word too many after doctor" },
};

static void test_bad(void)
{
	for (size_t i = 0; i < sizeof(bads) / sizeof(*bads); i++) {
		struct options opts;
		struct err err;
		int code = parse(bads[i].line, &opts, &err);

		is_int(code, -EINVAL, "refused: [%s]", bads[i].line);
		is_int(err.exit, JANK_EXIT_USAGE, "… as wrong usage");
		has_str(err.msg, bads[i].says, "… in words");
		ok(!opts.pids && !opts.disabled && !opts.argv, "… with nothing stored");
	}
}

/* --- what is taken: numbers */

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
	{ "-p 1", U8(json), false },
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
	{ "-p 1 -d 2m", U64(duration_ns), 120 * NS_PER_SEC },
	{ "-p 1 --duration 10s", U64(duration_ns), 10 * NS_PER_SEC },
	{ "-p 1 -n 3", U64(count), 3 },
	{ "-p 1 --count 18446744073709551615", U64(count), UINT64_MAX },
	{ "-p 1 --keep 0", U64(keep_ns), 0 },
	{ "-p 1 --keep 1h", U64(keep_ns), HOUR_NS },
	{ "-p 1 --max-size 0", U64(max_size), 0 },
	{ "-p 1 --max-size 2G", U64(max_size), 2ull << 30 },
	{ "-p 1 --json", U8(json), true },
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
	{ "-a -u 0 -u 65534 -u root", U32(filter.uid_cnt), 3 },
	{ "-a -l qt,glib -l qt", U64(loop_cnt), 2 },
	{ "--loop=epoll -- true", U64(loop_cnt), 1 },
	{ "loops", U32(command), CMD_LOOPS },
	{ "loops -a -d 3s", U64(duration_ns), 3 * NS_PER_SEC },
	{ "loops -p 1,2", U64(pid_cnt), 2 },
	{ "replay f", U32(command), CMD_REPLAY },
	{ "replay f -t 7", U64(threshold_ns), 7 * NS_PER_MS },
	{ "-t 7 replay f", U64(threshold_ns), 7 * NS_PER_MS },
	{ "replay -t 10s f", U64(threshold_ns), 10 * NS_PER_SEC },
	{ "replay f --json", U8(json), true },
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
	{ "-V", U32(command), CMD_VERSION },
	{ "replay --version", U32(command), CMD_VERSION },
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
		int code = parse(goods[i].line, &opts, &err);

		is_int(code, 0, "taken: [%s] %s", goods[i].line, err.msg);
		is_uint(member(&opts, &goods[i]), goods[i].want, "… with its value");
		options__free(&opts);
	}
}

/* --- what is taken: words */

static void test_words(void)
{
	struct options opts;
	struct err err;

	is_int(parse("-p 7,8 -p 9,8 -o dir --journal j.bin --qualifier nightly", &opts, &err), 0,
	       "words: %s", err.msg);
	ok(opts.pid_cnt == 3 && opts.pids[0] == 7 && opts.pids[1] == 8 && opts.pids[2] == 9,
	   "processes in order, without repeats");
	is_str(opts.output_dir, "dir", "-o");
	is_str(opts.journal, "j.bin", "--journal");
	is_str(opts.qualifier, "nightly", "--qualifier");
	ok(!opts.argv, "no COMMAND");
	options__free(&opts);
	ok(!opts.pids && !opts.pid_cnt, "free empties");

	is_int(parse("replay -o out -- -odd", &opts, &err), 0, "replay -- FILE: %s", err.msg);
	is_str(opts.journal, "-odd", "replay's FILE may begin with a minus after --");
	is_str(opts.output_dir, "out", "replay -o");
	options__free(&opts);

	is_int(parse("-p 1", &opts, &err), 0, "no --btf: %s", err.msg);
	ok(!opts.btf_path, "… then no file");
	options__free(&opts);
	is_int(parse("doctor --btf vmlinux.btf", &opts, &err), 0, "doctor --btf: %s", err.msg);
	is_str(opts.btf_path, "vmlinux.btf", "--btf");
	options__free(&opts);

	is_int(parse("-a -c a* -u 7 -u root -l libuv,qt", &opts, &err), 0, "-a: %s", err.msg);
	ok(glob__matches(&opts.filter.globs[0], "abc"), "-c");
	ok(opts.filter.uids[0] == 7 && opts.filter.uids[1] == 0, "-u by number and name");
	is_str(opts.loops[0], "libuv", "-l");
	is_str(opts.loops[1], "qt", "-l, the second");
	options__free(&opts);
	ok(!opts.loops && !opts.loop_cnt, "free empties these, too");
	is_int(parse("-a -u no-such-user", &opts, &err), -EINVAL, "a user that isn't there");
	is_int(err.exit, JANK_EXIT_FAILED, "… is a failure, not wrong usage");

	is_int(parse("-p 1 --disable-feature hw_cycles", &opts, &err), 0, "feature: %s", err.msg);
	is_str(opts.disabled[0], "hw_cycles", "--disable-feature");
	options__free(&opts);
}

static void test_command(void)
{
	int argc;
	char **argv = split("-t 5 -- prog -t 9 -p 1 --foo -- x", &argc);
	struct options opts;
	struct err err = { 0 };

	is_int(options__parse(argc, argv, &opts, &err), 0, "COMMAND: %s", err.msg);
	ok(opts.argv == argv + 4, "COMMAND is borrowed from argv");
	is_str(opts.argv[0], "prog", "… its name");
	is_str(opts.argv[1], "-t", "… its options stay its own");
	is_str(opts.argv[5], "--foo", "… also those unknown to us");
	is_str(opts.argv[6], "--", "… and a second --");
	ok(opts.argv[7] && !opts.argv[8], "… to the end");
	is_uint(opts.threshold_ns, 5 * NS_PER_MS, "our -t is the one before --");
	ok(!opts.pid_cnt, "no -p of ours");
	options__free(&opts);

	is_int(parse("-- replay x", &opts, &err), 0, "a COMMAND called replay: %s", err.msg);
	is_int(opts.command, CMD_TRACE, "… is traced");
	is_str(opts.argv[0], "replay", "… by its name");
	options__free(&opts);
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

/* argv[0] may be missing, and err may be of no interest. */
static void test_edges(void)
{
	char *none[] = { NULL }, *bad[] = { "jankbpf", "--foo", NULL };
	struct options opts;

	is_int(options__parse(0, none, &opts, NULL), -EINVAL, "no argv at all");
	is_int(options__parse(2, bad, &opts, NULL), -EINVAL, "no struct err");
}

/* --- what is printed */

/* Runs fn with stdout in a file and returns what it wrote. */
static char *printed_by(void (*fn)(void))
{
	char path[] = "/tmp/test_options.XXXXXX";
	struct strbuf text = STRBUF_INIT;
	int fd = mkstemp(path), saved;

	fflush(stdout);
	saved = dup(1);
	dup2(fd, 1);
	fn();
	fflush(stdout);
	dup2(saved, 1);
	close(saved);
	close(fd);
	file__read(path, 1 << 20, &text);
	unlink(path);
	return text.data;
}

static const char *const names[] = {
	"--pid",       "--threshold",	"--hang",
	"--fps",       "--debugging",	"--backend",
	"--frequency", "--duration",	"--count",
	"--output",    "--keep",	"--max-size",
	"--qualifier", "--json",	"--journal",
	"--verbose",   "--quiet",	"--schema",
	"--help",      "--version",	"--disable-feature",
	"--btf",       "-- COMMAND",	"--all",
	"--comm",      "--uid",		"--cgroup",
	"--loop",      "--main-thread",
};

static size_t longest_line(const char *text)
{
	size_t longest = 0, n = 0;

	for (; *text; text++) {
		n = *text == '\n' ? 0 : n + ((*text & 0xc0) != 0x80);
		longest = n > longest ? n : longest;
	}
	return longest;
}

static void test_help(void)
{
	char *help = printed_by(options__print_help);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		has_str(help, names[i], "help tells of %s", names[i]);
	has_str(help, "(default 100ms)", "help gives defaults");
	has_str(help, "jankbpf doctor", "help names the commands");
	has_str(help, "e.g. jankbpf -- redis-server", "help has examples");
	ok(longest_line(help) <= 100, "help fits into 100 columns (%zu)", longest_line(help));
	free(help);
}

static void test_man(void)
{
	char *man = printed_by(options__print_man);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct strbuf roff = STRBUF_INIT;

		for (const char *c = names[i]; *c && *c != ' '; c++)
			strbuf__addf(&roff, *c == '-' ? "\\-" : "%c", *c);
		has_str(man, strbuf__str(&roff), "the man page tells of %s", names[i]);
		strbuf__free(&roff);
	}
	has_str(man, ".SS Where blocks go", "the man page has the sections");
	lacks_str(man, "…", "the man page is ASCII");
	free(man);
}

static void test_version(void)
{
	char *version = printed_by(options__print_version);

	is_str(version, "jankbpf " JANK_VERSION "\n", "version");
	free(version);
}

int main(void)
{
	test_bad();
	test_good();
	test_words();
	test_command();
	test_many_pids();
	test_edges();
	test_help();
	test_man();
	test_version();
	return tap__done();
}
