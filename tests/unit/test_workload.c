/* SPDX-License-Identifier: GPL-2.0 */
/*
 * COMMAND waits until it may run, runs as from a shell, and its status is reported as a shell does.
 */
#include "session/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "files/file.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#define ARGV(...) ((char *[]){ __VA_ARGS__, NULL })
#define SH(text)  ARGV((char *)"sh", (char *)"-c", (char *)text)

static bool exists(const char *path)
{
	return !access(path, F_OK);
}

static void wait_for_end(struct workload *wl)
{
	const struct timespec step = { .tv_nsec = 2 * 1000 * 1000 };

	for (int i = 0; i < 5000 && !wl->ended; i++) {
		workload__reap(wl);
		nanosleep(&step, NULL);
	}
}

/* Runs a command to its end; returns its exit status. */
static int status_of(char **argv)
{
	struct workload wl;
	struct err err = { 0 };

	if (workload__prepare(argv, NULL, &wl, &err) || workload__go(&wl, argv, &err)) {
		ok(false, "%s runs: %s", argv[0], err.msg);
		return -1;
	}
	wait_for_end(&wl);
	workload__stop(&wl);
	return wl.ended ? workload__exit_status(&wl) : -1;
}

static void test_status(void)
{
	is_int(status_of(ARGV((char *)"true")), 0, "the status of a command found by PATH");
	is_int(status_of(SH("exit 3")), 3, "another status");
	is_int(status_of(SH("exit 255")), 255, "the largest");
	is_int(status_of(SH("kill -9 $$")), 128 + SIGKILL, "128 + the signal that killed it");
	is_int(status_of(SH("kill -TERM $$")), 128 + SIGTERM, "whichever signal it was");
}

static void test_waits(void)
{
	char text[300];
	char **argv = SH(text);
	struct workload wl;
	struct err err = { 0 };

	snprintf(text, sizeof(text), "echo ran >%s", scratch__path("ran"));
	is_int(workload__prepare(argv, NULL, &wl, &err), 0, "a command is prepared");
	usleep(50000);
	workload__reap(&wl);
	ok(!wl.ended && !exists(scratch__path("ran")), "it does not run before it may");
	is_int(workload__go(&wl, argv, &err), 0, "then it does");
	wait_for_end(&wl);
	ok(exists(scratch__path("ran")) && !workload__exit_status(&wl), "to its end");
	unlink(scratch__path("ran"));
	is_int(workload__prepare(argv, NULL, &wl, &err), 0, "another one is prepared");
	workload__stop(&wl);
	ok(wl.ended && !exists(scratch__path("ran")), "and stopped: it never ran");
}

static void cannot_run(const char *command, int code)
{
	char **argv = ARGV((char *)command);
	char want[300];
	struct workload wl;
	struct err err = { 0 };

	snprintf(want, sizeof(want), "cannot run '%s': %s", command, strerror(code));
	is_int(workload__prepare(argv, NULL, &wl, &err), 0, "'%s' is prepared", command);
	is_int(workload__go(&wl, argv, &err), -code, "it cannot be run");
	is_str(err.msg, want, "the message says so");
	workload__stop(&wl);
	ok(wl.ended && wl.go_fd < 0 && wl.failed_fd < 0, "no child is left");
}

static void test_failures(void)
{
	const char *text = scratch__write_text("text", "no program\n");

	cannot_run("/nonexistent/program", ENOENT);
	cannot_run("surely-not-in-PATH", ENOENT);
	cannot_run(scratch_dir, EACCES);
	cannot_run(text, EACCES);
	cannot_run("", ENOENT);
}

/* Killed between fork and exec: no success, and no hang. */
static void test_lost_child(void)
{
	char **argv = ARGV((char *)"true");
	struct workload wl;
	struct err err = { 0 };

	workload__prepare(argv, NULL, &wl, &err);
	kill(wl.pid, SIGKILL);
	wait_for_end(&wl);
	is_int(workload__go(&wl, argv, &err), -EPIPE,
	       "a command that was killed before cannot run");
	has_str(err.msg, "cannot run 'true'", "the message says so");
	workload__stop(&wl);
}

static void take_signals(void)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGXFSZ, SIG_IGN);
}

static void leave_signals(void)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	signal(SIGXFSZ, SIG_DFL);
}

/* A line of our own status, before this test changed anything. */
static const char *own(const char *name)
{
	static char line[64];
	struct strbuf status = STRBUF_INIT;
	const char *begin;

	signal(SIGPIPE, SIG_DFL);
	file__read("/proc/self/status", 65536, &status);
	signal(SIGPIPE, SIG_IGN);
	begin = strstr(strbuf__str(&status), name);
	snprintf(line, sizeof(line), "%.*s", begin ? (int)strcspn(begin, "\n") + 1 : 0, begin);
	strbuf__free(&status);
	return line;
}

/* The command's output when we change our signals before it may run, as a session does. */
static const char *said(const char *command)
{
	static struct strbuf out = STRBUF_INIT;
	char text[400];
	char **argv = SH(text);
	struct workload wl;
	struct err err = { 0 };

	snprintf(text, sizeof(text), "exec %s >%s", command, scratch__path("out"));
	signal(SIGPIPE, SIG_DFL);
	workload__prepare(argv, NULL, &wl, &err);
	signal(SIGPIPE, SIG_IGN);
	take_signals();
	workload__go(&wl, argv, &err);
	wait_for_end(&wl);
	leave_signals();
	strbuf__reset(&out);
	file__read(scratch__path("out"), 4096, &out);
	unlink(scratch__path("out"));
	return strbuf__str(&out);
}

/* The command does not inherit jankbpf's changes to signals and descriptors. */
static void test_clean(void)
{
	is_str(said("grep SigBlk /proc/self/status"), own("SigBlk"), "no signal is blocked in it");
	is_str(said("grep SigIgn /proc/self/status"), own("SigIgn"),
	       "or ignored, except those from before");
	is_str(said("ls /proc/self/fd"), "0\n1\n2\n3\n", "no descriptor is left in it");
}

static void test_stop(void)
{
	char **argv = SH("trap '' TERM; while :; do sleep 0.05; done");
	struct workload wl;
	struct err err = { 0 };
	uint64_t start;

	workload__prepare(argv, NULL, &wl, &err);
	workload__go(&wl, argv, &err);
	usleep(100000);
	start = clock__mono_ns();
	workload__stop(&wl);
	ok(wl.ended && workload__exit_status(&wl) == 128 + SIGKILL,
	   "a command that ignores SIGTERM is killed");
	ok(clock__mono_ns() - start >= 1900 * NS_PER_MS, "after two seconds");
	argv = ARGV((char *)"sleep", (char *)"100");
	workload__prepare(argv, NULL, &wl, &err);
	workload__go(&wl, argv, &err);
	kill(wl.pid, SIGSTOP);
	start = clock__mono_ns();
	workload__stop(&wl);
	ok(wl.ended && workload__exit_status(&wl) == 128 + SIGTERM,
	   "a stopped one ends by SIGTERM");
	ok(clock__mono_ns() - start < 1900 * NS_PER_MS, "at once");
	workload__stop(&wl);
	ok(wl.ended, "a second stop does nothing");
}

static void test_none(void)
{
	struct workload wl = { .go_fd = -1, .failed_fd = -1 };

	workload__reap(&wl);
	workload__stop(&wl);
	ok(!wl.ended && !wl.pid, "without a command there is nothing to stop");
}

/*
 * Close the descriptors that the test itself inherited. One at a time if the flag is unknown
 * (before 5.11).
 */
static void keep_descriptors(void)
{
	if (!close_range(3, ~0u, CLOSE_RANGE_CLOEXEC))
		return;
	for (int fd = 3; fd < 1024; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

int main(void)
{
	scratch__init();
	keep_descriptors();
	signal(SIGPIPE, SIG_IGN);
	test_status();
	test_waits();
	test_failures();
	test_lost_child();
	test_clean();
	test_stop();
	test_none();
	return tap__done();
}
