/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A sink whose process was killed within a record: another process writes the record to its end,
 * neither torn nor doubled. A kill is simulated by what it leaves: the progress, and the files.
 */
#include "tests/tap.h"
#include "tests/unit/export_run.h"

#define HEAD "first\n"
#define LINE "the second record, which is interrupted\n"
#define LEN  (sizeof(LINE) - 1)

static struct strbuf out = STRBUF_INIT;

static const char *in(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", scratch_dir, name);
	return path;
}

/* The process was killed after `written` bytes of record 2. */
static void test_file(int flags, size_t written, const char *what)
{
	int fd = open(in("file"), O_WRONLY | O_CREAT | O_TRUNC | flags, 0600);
	struct sink_progress p = {};

	ok(sink_progress__begin(&p, 1), "%s: record 1 begins", what);
	is_int(sink_progress__write(&p, fd, HEAD, sizeof(HEAD) - 1), 0, "%s: … and is written",
	       what);
	sink_progress__end(&p, 1, 0);
	ok(!sink_progress__begin(&p, 1), "%s: … and is not begun again", what);
	sink_progress__begin(&p, 2);
	p.base = sizeof(HEAD);
	if (write(fd, LINE, written) != (ssize_t)written)
		abort();
	ok(sink_progress__begin(&p, 2), "%s: record 2 is begun again after %zu bytes", what,
	   written);
	is_int(sink_progress__write(&p, fd, LINE, LEN), 0, "%s: … and written", what);
	sink_progress__end(&p, 2, 0);
	sink_progress__begin(&p, 3);
	sink_progress__write(&p, fd, HEAD, sizeof(HEAD) - 1);
	close(fd);
	slurp(in("file"), &out);
	is_str(strbuf__str(&out), HEAD LINE HEAD, "%s: each record is there once", what);
}

static void test_result_kept(void)
{
	struct sink_progress p = {};

	sink_progress__begin(&p, 7);
	sink_progress__end(&p, 7, -ENOSPC);
	ok(!sink_progress__begin(&p, 7), "a finished record is not written again");
	is_int(p.result, -ENOSPC, "… and its result is kept");
	ok(sink_progress__begin(NULL, 7), "without progress each record is written");
}

static void test_pipe(void)
{
	struct sink_progress p = {};
	char got[2 * LEN] = "";
	int fds[2];

	if (pipe(fds))
		abort();
	sink_progress__begin(&p, 1);
	p.sent = 10;
	sink_progress__begin(&p, 1);
	is_int(sink_progress__write(&p, fds[1], LINE, LEN), 0, "a pipe gets the rest");
	is_int(read(fds[0], got, sizeof(got)), LEN - 10, "… and no more");
	is_str(got, LINE + 10, "… from where it stopped");
	close(fds[0]);
	sink_progress__begin(&p, 2);
	is_int(sink_progress__write(&p, fds[1], LINE, LEN), -EPIPE, "no reader");
	close(fds[1]);
}

/* --- the directory sink */

static void files_are(int lines, int logs, const char *when)
{
	run(&out, "cat %s/dir/blocks.jsonl | wc -l", scratch_dir);
	is_int(atoi(strbuf__str(&out)), lines, "%s: lines", when);
	run(&out, "ls %s/dir | grep -c 'log$'", scratch_dir);
	is_int(atoi(strbuf__str(&out)), logs, "%s: logs", when);
	run(&out, "tail -c 1 %s/dir/blocks.jsonl | od -An -c", scratch_dir);
	has_str(strbuf__str(&out), "\\n", "%s: the last line is whole", when);
}

/* Sends record `nr` with a new sink, as another process does; it is killed before it is done. */
static void send_killed(struct sink_progress *p, uint64_t nr)
{
	const struct sink_dir_opts opts = { .dir = in("dir") };
	struct sink *sink;
	struct err err;

	if (sink_dir__new(&opts, &sink, &err))
		abort();
	sink->progress = p;
	ok(sink_progress__begin(p, nr), "record %d is begun", (int)nr);
	is_int(send_block(sink, fixture__bare()), 0, "… and written");
	sink->ops->free(sink);
}

static void test_dir(void)
{
	struct sink_progress p = {};
	struct stat st;

	send_killed(&p, 1);
	files_are(1, 1, "killed after all of it");
	send_killed(&p, 1);
	files_are(1, 1, "the same record again");
	sink_progress__end(&p, 1, 0);
	send_killed(&p, 2);
	files_are(2, 2, "an equal record of another number");
	if (stat(in("dir/blocks.jsonl"), &st) || truncate(in("dir/blocks.jsonl"), st.st_size - 9))
		abort();
	send_killed(&p, 2);
	files_are(2, 2, "killed within the line");
	run(&out, "cd %s/dir && rm \"$(ls *.log | tail -1)\"", scratch_dir);
	send_killed(&p, 2);
	files_are(2, 2, "killed between line and log");
}

int main(void)
{
	scratch__init();
	ignore_signals();
	for (size_t written = 0; written <= LEN; written += LEN / 4) {
		test_file(0, written, "a file");
		test_file(O_APPEND, written, "an appended file");
	}
	test_result_kept();
	test_pipe();
	test_dir();
	strbuf__free(&out);
	return tap__done();
}
