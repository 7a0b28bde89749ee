/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The output directory in normal use and with foreign files in it: modes, repair, age, size, two
 * writers.
 */
#include <limits.h>
#include <time.h>

#include "base/clock.h"
#include "export/blockcanary/blockcanary.h"
#include "export/timed_name.h"
#include "tests/tap.h"
#include "tests/unit/export_run.h"

#define JSON_CHECK "python3 -c 'import json,sys; [json.loads(l) for l in sys.stdin]; print(1)'"

static struct strbuf out = STRBUF_INIT;
static struct err err;

/* Each test has its own directory in the scratch directory. */
static const char *in(const char *dir, const char *name)
{
	static char paths[64][512];
	static unsigned next;
	char *path = paths[next++ % 64];

	snprintf(path, sizeof(paths[0]), "%s/%s%s%s", scratch_dir, dir, *name ? "/" : "", name);
	return path;
}

static int open_sink(const char *dir, uint64_t keep_ns, uint64_t max_bytes, struct sink **ret)
{
	struct sink_dir_opts opts = { .dir = in(dir, ""),
				      .keep_ns = keep_ns,
				      .max_bytes = max_bytes };

	*ret = NULL;
	return sink_dir__new(&opts, ret, &err);
}

static struct sink *must_open(const char *dir)
{
	struct sink *sink;

	if (open_sink(dir, 0, 0, &sink))
		abort();
	return sink;
}

static void close_sink(struct sink *sink)
{
	sink->ops->free(sink);
}

/* A recent time, so that no file is too old; i adds milliseconds. */
static struct block *block_of_now(unsigned i)
{
	struct block *b = fixture__bare();

	b->start_ns = clock__mono_ns() + i * FIXTURE_MS;
	b->real_offset_ns = clock__real_offset_ns();
	return b;
}

/* The number that `before PATH after` prints. */
static long shell_number(const char *before, const char *path, const char *after)
{
	run(&out, "%s%s%s", before, path, after);
	return strtol(strbuf__str(&out), NULL, 10);
}

static long line_cnt(const char *path)
{
	return shell_number("wc -l <", path, "");
}

static long log_cnt(const char *dir)
{
	return shell_number("ls ", in(dir, ""), " | grep -c '^looper-.*[.]log$'");
}

static long total_bytes(const char *dir)
{
	return shell_number("cat ", in(dir, ""), "/* | wc -c");
}

static void is_mode(const char *path, mode_t want)
{
	struct stat st;

	ok(!lstat(path, &st) && (st.st_mode & 07777) == want, "mode %o of %s", want, path);
}

static bool is_json(const char *path)
{
	return run(&out, JSON_CHECK " <%s 2>&1", path) == 0;
}

static bool is_there(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

static void test_modes(void)
{
	struct sink *sink;

	umask(0);
	sink = must_open("a/b/c");
	is_int(send_block(sink, fixture__cpu()), 0, "a block");
	is_int(send_block(sink, fixture__hang()), 0, "a hang");
	is_int(send_summary(sink, false), 0, "a summary");
	close_sink(sink);
	umask(022);
	is_mode(in("a", ""), 0700);
	is_mode(in("a/b/c", ""), 0700);
	is_mode(in("a/b/c", "blocks.jsonl"), 0600);
	is_mode(in("a/b/c", "looper-2026-01-02_03-04-05.990.log"), 0600);
	is_int(line_cnt(in("a/b/c", "blocks.jsonl")), 3, "three lines");
	is_int(log_cnt("a/b/c"), 1, "one log");
	sink = must_open("a/b/c");
	is_int(send_block(sink, fixture__bare()), 0, "a later run");
	close_sink(sink);
	is_int(line_cnt(in("a/b/c", "blocks.jsonl")), 4, "appends");
	ok(is_json(in("a/b/c", "blocks.jsonl")), "every line is JSON");
}

/* The rest of the last line after a crash. */
static void test_repair(void)
{
	const char *path = in("repair", "blocks.jsonl");
	struct sink *sink = must_open("repair"), *other = must_open("repair");
	char *torn;

	spew(path, "{\"whole\":1}\n{\"torn\":");
	is_int(send_block(sink, fixture__bare()), 0, "a block after a torn line");
	is_int(line_cnt(path), 2, "the torn line is gone");
	ok(is_json(path), "the others are whole");
	close_sink(sink);

	torn = malloc(200001);
	memset(torn, 'x', 200000);
	torn[200000] = '\0';
	memcpy(torn, "{\"whole\":1}\n", 12);
	spew(path, torn);
	sink = must_open("repair");
	slurp(path, &out);
	is_str(out.data, "{\"whole\":1}\n", "at the start, a long torn line");
	spew(path, torn + 12);
	is_int(send_summary(other, false), 0, "another one, in a file that stayed open");
	is_int(line_cnt(path), 1, "a file with only a torn line becomes empty");
	ok(is_json(path), "and the new line is whole");
	free(torn);
	close_sink(other);
	close_sink(sink);
}

/* Names that we must not write to. */
static void test_strangers(void)
{
	const char *path = in("strangers", "blocks.jsonl"), *victim = in("", "victim");
	struct sink *sink;

	mkdir(in("strangers", ""), 0700);
	spew(victim, "precious");
	if (symlink(victim, path))
		abort();
	is_int(open_sink("strangers", 0, 0, &sink), -EPERM, "blocks.jsonl is a symbolic link");
	has_str(err.msg, "/strangers/blocks.jsonl' is no regular file of this user: remove it",
		"and the message names it");
	unlink(path);
	if (symlink("nothing-there", path))
		abort();
	is_int(open_sink("strangers", 0, 0, &sink), -EPERM, "a dangling link");
	ok(!is_there(in("strangers", "nothing-there")), "its target is not created");
	unlink(path);
	if (link(victim, path))
		abort();
	is_int(open_sink("strangers", 0, 0, &sink), -EPERM, "a hard link");
	unlink(path);
	if (mkfifo(path, 0600))
		abort();
	is_int(open_sink("strangers", 0, 0, &sink), -EPERM, "a FIFO, without a hang");
	unlink(path);
	mkdir(path, 0700);
	ok(open_sink("strangers", 0, 0, &sink) < 0, "a directory");
	rmdir(path);
	is_int(open_sink("victim", 0, 0, &sink), -ENOTDIR, "DIR is a file");
	slurp(victim, &out);
	is_str(out.data, "precious", "the victim file is unchanged");
}

static void test_foreign_owner(void)
{
	const char *path = in("strangers", "blocks.jsonl");
	struct sink *sink;

	if (geteuid()) {
		skip(2, "needs root to make another user's file");
		return;
	}
	spew(path, "");
	if (chown(path, 65534, 65534))
		abort();
	is_int(open_sink("strangers", 0, 0, &sink), -EPERM, "another user's file");
	unlink(path);
	is_int(open_sink("strangers", 0, 0, &sink), 0, "without it all is well");
	close_sink(sink);
}

/* If a link has the log's name, it is not followed: the log gets another name. */
static void test_taken_name(void)
{
	const char *name = "looper-2026-01-02_03-04-05.779.log", *victim = in("", "victim2");
	struct sink *sink = must_open("taken");

	spew(victim, "precious");
	if (symlink(victim, in("taken", name)))
		abort();
	is_int(send_block(sink, fixture__bare()), 0, "a block");
	slurp(victim, &out);
	is_str(out.data, "precious", "the link's target is unchanged");
	ok(is_there(in("taken", "looper-2026-01-02_03-04-05.779-1.log")),
	   "the log has the next name");
	close_sink(sink);
}

static void age(const char *path, uint64_t hours)
{
	struct timespec when = { time(NULL) - (time_t)hours * 3600, 0 };
	struct timespec times[2] = { when, when };

	if (utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW))
		abort();
}

static const struct {
	const char *name;
	unsigned hours;
	bool stays;
} aged[] = {
	{ "looper-2026-01-01_00-00-00.000.log", 49, false },
	{ "looper-2026-01-01_00-00-00.000-7.log", 1000, false },
	{ "looper-2026-01-01_00-00-00.001.log", 47, true },
	{ ".looper-12345.tmp", 0, false },
	{ ".looper-x.tmp", 1000, true },
	{ "my.log", 1000, true },
	{ "looper-notes.log", 1000, true },
	{ "blocks.jsonl", 1000, true },
	{ "blocks.1.jsonl", 1000, true },
};

static void test_age(void)
{
	const char *link_name = in("age", "looper-2026-01-01_00-00-00.002.log");
	const char *dir_name = in("age", "looper-2026-01-01_00-00-00.003.log");
	struct sink *sink;

	mkdir(in("age", ""), 0700);
	for (size_t i = 0; i < sizeof(aged) / sizeof(*aged); i++) {
		spew(in("age", aged[i].name), "x\n");
		age(in("age", aged[i].name), aged[i].hours);
	}
	if (symlink("my.log", link_name) || mkdir(dir_name, 0700))
		abort();
	age(link_name, 1000);
	age(dir_name, 1000);
	is_int(open_sink("age", 48 * 3600 * NS_PER_SEC, 0, &sink), 0, "keeps files of 48 hours");
	for (size_t i = 0; i < sizeof(aged) / sizeof(*aged); i++)
		is_int(is_there(in("age", aged[i].name)), aged[i].stays, "%s, %u h old, %s",
		       aged[i].name, aged[i].hours, aged[i].stays ? "stays" : "goes");
	ok(is_there(link_name), "a link stays");
	ok(is_there(dir_name), "a directory stays");
	close_sink(sink);
	is_int(open_sink("age", 0, 0, &sink), 0, "keeps files for ever");
	ok(is_there(in("age", aged[2].name)), "then nothing is removed");
	close_sink(sink);
}

static void test_foreign_log(void)
{
	const char *path = in("age", "looper-2026-01-01_00-00-00.004.log");
	struct sink *sink;

	if (geteuid()) {
		skip(1, "needs root to make another user's file");
		return;
	}
	spew(path, "x");
	age(path, 1000);
	if (chown(path, 65534, 65534) || open_sink("age", 1, 0, &sink))
		abort();
	ok(is_there(path), "another user's old log stays");
	close_sink(sink);
}

static void test_size(void)
{
	const long max = 40000;
	long most = 0, whole = 0, old_seen = 0;
	struct sink *sink;

	is_int(open_sink("size", 0, max, &sink), 0, "opens with a bound");
	for (unsigned i = 0; i < 200; i++) {
		struct block *b = block_of_now(i);
		struct strbuf name = STRBUF_INIT;
		long bytes;

		timed_name__add(&name, &timed_name_log,
				blockcanary__time_ns(fixture__record(b)->block), 0);
		if (send_block(sink, b))
			break;
		bytes = total_bytes("size");
		most = bytes > most ? bytes : most;
		old_seen += is_there(in("size", "blocks.1.jsonl"));
		whole += is_there(in("size", name.data));
		strbuf__free(&name);
	}
	ok(most <= max && most > max * 3 / 4, "never above the bound, and close to it: %ld of %ld",
	   most, max);
	is_int(whole, 200, "the newest log always exists");
	ok(old_seen > 100, "blocks.jsonl was rotated");
	ok(is_json(in("size", "blocks.jsonl")) && is_json(in("size", "blocks.1.jsonl")),
	   "both are whole");
	ok(logs_pass(in("size", "")), "the logs too");
	is_int(send_block(sink, fixture__cpu()), -EFBIG,
	       "a record larger than the bound is an error");
	ok(total_bytes("size") <= max, "and leaves nothing");
	is_int(send_block(sink, block_of_now(999)), 0, "the next record is written");
	close_sink(sink);
}

/* Logs are removed before records. */
static struct block *block_of_user(unsigned i, uint32_t uid)
{
	struct block *b = block_of_now(i);

	b->process->has_uid = true;
	b->process->uid = uid;
	return b;
}

static long logs_of_user(const char *dir, uint32_t uid)
{
	char uids[64];

	snprintf(uids, sizeof(uids), "/looper-*.log | grep -c '^uid = %u.$'", uid);
	return shell_number("cat ", in(dir, ""), uids);
}

/* One user's blocks do not evict the logs of others. */
static void test_size_users(void)
{
	struct sink *sink;
	long quiet = 0;

	is_int(open_sink("users", 0, 200000, &sink), 0, "opens with a bound");
	for (unsigned i = 0; i < 5; i++)
		quiet += !send_block(sink, block_of_user(i, 61002));
	for (unsigned i = 5; i < 300; i++)
		send_block(sink, block_of_user(i, 61001));
	is_int(quiet, 5, "five blocks of a user");
	is_int(logs_of_user("users", 61002), 5, "are kept beside those of a user with 295");
	ok(logs_of_user("users", 61001) > 10, "who has the rest: %ld",
	   logs_of_user("users", 61001));
	ok(logs_of_user("users", 61001) < 295, "but not all");
	close_sink(sink);
}

static void test_size_order(void)
{
	struct sink *sink = must_open("order");
	long logs, lines;

	for (unsigned i = 0; i < 20; i++)
		send_block(sink, block_of_now(i));
	close_sink(sink);
	logs = log_cnt("order");
	lines = line_cnt(in("order", "blocks.jsonl"));
	is_int(open_sink("order", 0, total_bytes("order"), &sink), 0, "a bound that is reached");
	is_int(send_block(sink, block_of_now(50)), 0, "one more block");
	ok(log_cnt("order") <= logs, "logs are removed: %ld of %ld", log_cnt("order"), logs);
	is_int(line_cnt(in("order", "blocks.jsonl")), lines + 1, "no record is");
	close_sink(sink);
}

/* If blocks.1.jsonl belongs to another user, it is not replaced. */
static void test_foreign_old(void)
{
	const char *old = in("old", "blocks.1.jsonl");
	struct sink *sink;
	int code = 0;

	mkdir(in("old", ""), 0700);
	if (symlink("../victim2", old) || open_sink("old", 0, 10000, &sink))
		abort();
	for (unsigned i = 0; i < 40 && !code; i++)
		code = send_block(sink, block_of_now(i));
	is_int(code, -EPERM, "no rotation over a foreign file");
	slurp(old, &out);
	is_str(out.data, "precious", "which is unchanged");
	close_sink(sink);
}

/* The disk is full in the middle of a line, then in the middle of a log. */
static void test_cut_short(void)
{
	const char *path = in("cut", "blocks.jsonl");
	struct sink *sink = must_open("cut");
	struct block *hang = fixture__cpu();
	struct stat before, after;

	hang->type = BLOCK_HANG; /* a summary has no log */
	is_int(send_block(sink, fixture__cpu()), 0, "a block");
	stat(path, &before);
	limit_file_size(before.st_size + 30000);
	is_int(send_block(sink, fixture__cpu()), -EFBIG, "the line is cut short");
	limit_file_size(RLIM_INFINITY);
	stat(path, &after);
	is_int(after.st_size, before.st_size, "nothing of it remains");
	is_int(truncate(path, 0), 0, "an empty file");
	limit_file_size(20000);
	is_int(send_block(sink, hang), -EFBIG, "no room for a hang");
	is_int(send_summary(sink, false), 0, "room for a summary");
	limit_file_size(RLIM_INFINITY);
	is_int(line_cnt(path), 1, "which is the only line");
	close_sink(sink);
	is_int(shell_number("ls -A ", in("cut", ""), " | wc -l"), 3, "no partial log remains");
	ok(logs_pass(in("cut", "")), "and the logs are whole");
}

static void test_removed(void)
{
	struct sink *sink = must_open("removed");

	is_int(send_block(sink, fixture__bare()), 0, "a block");
	unlink(in("removed", "blocks.jsonl"));
	is_int(send_block(sink, fixture__bare()), 0,
	       "blocks.jsonl was removed: it is created again");
	is_int(line_cnt(in("removed", "blocks.jsonl")), 1, "with the new line");
	run(&out, "rm -rf %s", in("removed", ""));
	is_int(send_block(sink, fixture__bare()), 0, "DIR was removed: it is created again");
	is_int(line_cnt(in("removed", "blocks.jsonl")), 1, "with the line");
	is_int(log_cnt("removed"), 1, "and the log");
	close_sink(sink);
}

#define WRITERS	      3
#define WRITER_BLOCKS 40

static void write_many(uint64_t max_bytes)
{
	struct sink *sink;

	if (open_sink("shared", 0, max_bytes, &sink))
		_exit(1);
	for (unsigned i = 0; i < WRITER_BLOCKS; i++)
		if (send_block(sink, fixture__bare()))
			_exit(2);
	_exit(0);
}

static void run_writers(uint64_t max_bytes)
{
	int failed = 0, status;

	fflush(stdout);
	for (int i = 0; i < WRITERS; i++)
		if (!fork())
			write_many(max_bytes);
	while (wait(&status) > 0)
		failed += status != 0;
	is_int(failed, 0, "%d writers at once", WRITERS);
}

static void test_shared(void)
{
	run_writers(0);
	is_int(line_cnt(in("shared", "blocks.jsonl")), WRITERS * WRITER_BLOCKS, "no line is lost");
	ok(is_json(in("shared", "blocks.jsonl")), "no line is mixed with another");
	is_int(log_cnt("shared"), WRITERS * WRITER_BLOCKS,
	       "no log is lost, though all are of one millisecond");
	ok(logs_pass(in("shared", "")), "each whole");
	run_writers(30000);
	ok(total_bytes("shared") <= 30000, "the bound holds for all together: %ld",
	   total_bytes("shared"));
	ok(is_json(in("shared", "blocks.jsonl")) && is_json(in("shared", "blocks.1.jsonl")),
	   "all whole");
}

int main(void)
{
	ignore_signals();
	scratch__init();
	test_modes();
	test_repair();
	test_strangers();
	test_foreign_owner();
	test_taken_name();
	test_age();
	test_foreign_log();
	test_size();
	test_size_users();
	test_size_order();
	test_foreign_old();
	test_cut_short();
	test_removed();
	test_shared();
	strbuf__free(&out);
	return tap__done();
}
