/* SPDX-License-Identifier: GPL-2.0 */
/* The output directory on a disk that is full, read-only, or not writable. */
#include <sched.h>
#include <sys/mount.h>

#include "tests/tap.h"
#include "tests/unit/export_run.h"

static struct strbuf out = STRBUF_INIT;
static struct err err;

static const char *in(const char *name)
{
	static char paths[16][512];
	static unsigned next;
	char *path = paths[next++ % 16];

	snprintf(path, sizeof(paths[0]), "%s%s%s", scratch_dir, *name ? "/" : "", name);
	return path;
}

static int open_sink(const char *name, struct sink **ret)
{
	struct sink_dir_opts opts = { .dir = in(name) };

	*ret = NULL;
	return sink_dir__new(&opts, ret, &err);
}

/* Fills the disk except for about `room` bytes. */
static void fill(size_t room)
{
	int fd = open(in("ballast"), O_WRONLY | O_CREAT, 0600);
	static char page[4096];
	off_t size;

	while (write(fd, page, sizeof(page)) > 0)
		;
	size = lseek(fd, 0, SEEK_CUR);
	if (room && ftruncate(fd, size - (off_t)room))
		abort();
	close(fd);
}

static long size_of(const char *name)
{
	struct stat st;

	return stat(in(name), &st) ? -1 : (long)st.st_size;
}

static void lines_are_whole(const char *name, int want, const char *when)
{
	run(&out,
	    "python3 -c 'import json,sys; print(len([json.loads(l) for l in sys.stdin]))' <%s 2>&1",
	    in(name));
	is_int(atoi(strbuf__str(&out)), want, "whole lines %s", when);
}

static void names_are(const char *name, const char *want, const char *when)
{
	run(&out, "ls -A %s | tr '\\n' ' '", in(name));
	is_str(strbuf__str(&out), want, "files %s", when);
}

/* The cpu fixture's line takes 55 kB, its log 14 kB. */
static void test_fills_up(void)
{
	struct sink *sink;

	is_int(open_sink("full", &sink), 0, "opens while there is room");
	is_int(send_block(sink, fixture__bare()), 0, "a block");
	fill(16384);
	is_int(send_block(sink, fixture__cpu()), -ENOSPC, "the disk fills up within the line");
	lines_are_whole("full/blocks.jsonl", 1, "after that");
	fill(0);
	is_int(send_block(sink, fixture__cpu()), -ENOSPC, "nothing fits");
	is_int(send_summary(sink, false), 0, "except in the last page of the file");
	lines_are_whole("full/blocks.jsonl", 2, "after that");
	unlink(in("ballast"));
	is_int(send_block(sink, fixture__hang_end()), 0, "with room it goes on");
	lines_are_whole("full/blocks.jsonl", 3, "after that");
	ok(logs_pass(in("full")), "every log is whole");
	run(&out, "ls -A %s | grep -c tmp", in("full"));
	is_int(atoi(strbuf__str(&out)), 0, "no partial log");
	sink->ops->free(sink);
	run(&out, "rm -rf %s", in("full"));
}

/* Room for the line but not for the log: an error, but the line is written. */
static void test_log_only(void)
{
	struct sink *sink;

	is_int(open_sink("log", &sink), 0, "opens");
	fill(57344);
	is_int(send_block(sink, fixture__cpu()), -ENOSPC, "room for the line alone");
	lines_are_whole("log/blocks.jsonl", 1, "after that");
	names_are("log", "blocks.jsonl ", "after that: no half log");
	sink->ops->free(sink);
	unlink(in("ballast"));
	run(&out, "rm -rf %s", in("log"));
}

static void test_full_at_start(void)
{
	struct sink *sink;

	fill(0);
	is_int(open_sink("late/x", &sink), 0, "a full disk does not prevent the start");
	unlink(in("ballast"));
	if (!sink)
		return;
	is_int(send_block(sink, fixture__bare()), 0, "a block when there is room");
	lines_are_whole("late/x/blocks.jsonl", 1, "after that");
	sink->ops->free(sink);
	run(&out, "rm -rf %s", in("late"));
}

static void test_read_only(void)
{
	struct sink *sink, *other;

	is_int(open_sink("ro", &sink), 0, "opens while it is writable");
	is_int(send_block(sink, fixture__bare()), 0, "a block");
	sink->ops->free(sink); /* a file that is open keeps the disk writable */
	if (mount(NULL, scratch_dir, NULL, MS_REMOUNT | MS_RDONLY, NULL))
		abort();
	is_int(open_sink("ro", &sink), 0, "a read-only disk does not prevent the start");
	has_str(err.msg, "Read-only file system: no record can be written there now",
		"but is reported");
	is_int(send_block(sink, fixture__bare()), -EROFS, "a block is an error");
	is_int(send_summary(sink, false), -EROFS, "a summary too");
	is_int(open_sink("new", &other), 0, "DIR does not exist yet");
	is_int(send_block(other, fixture__bare()), -EROFS, "the same");
	other->ops->free(other);
	if (mount(NULL, scratch_dir, NULL, MS_REMOUNT, NULL))
		abort();
	is_int(send_block(sink, fixture__bare()), 0, "writable again");
	sink->ops->free(sink);
	ok(size_of("ro/blocks.jsonl") > 0, "and written");
	lines_are_whole("ro/blocks.jsonl", 2, "in the end");
}

static void test_tmpfs(void)
{
	if (geteuid() || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", scratch_dir, "tmpfs", 0, "size=128k,mode=700")) {
		skip(1, "needs root, and a mount of its own, for a small tmpfs: %s",
		     strerror(errno));
		return;
	}
	test_fills_up();
	test_log_only();
	test_full_at_start();
	test_read_only();
	umount2(scratch_dir, MNT_DETACH);
}

/* Root may write anywhere, so this runs as `nobody`. */
static int as_nobody(void)
{
	struct sink *sink;
	int code;

	if (!geteuid() && (setgid(65534) || setuid(65534)))
		_exit(1);
	code = open_sink("closed/DIR", &sink);
	if (code == -EACCES &&
	    strstr(err.msg, "closed/DIR': Permission denied: choose a directory"))
		_exit(0);
	_exit(code ? 2 : 3);
}

static void test_permission(void)
{
	int status = 0;
	pid_t pid;

	chmod(scratch_dir, 0755);
	mkdir(in("closed"), 0555);
	fflush(stdout);
	pid = fork();
	if (!pid)
		as_nobody();
	waitpid(pid, &status, 0);
	is_int(WEXITSTATUS(status), 0,
	       "a directory without write permission prevents the start, with the reason");
}

int main(void)
{
	ignore_signals();
	scratch__init();
	test_permission();
	test_tmpfs();
	strbuf__free(&out);
	return tap__done();
}
