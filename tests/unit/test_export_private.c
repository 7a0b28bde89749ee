/* SPDX-License-Identifier: GPL-2.0 */
/* The output directory is ours alone, and a log that has its name is on the disk. */
#include <sys/syscall.h>

#include "base/clock.h"
#include "tests/tap.h"
#include "tests/unit/export_run.h"

static struct err err;

static const char *in(const char *dir, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return scratch__path(path);
}

static int open_sink(const char *dir, struct sink **ret)
{
	struct sink_dir_opts opts = { .dir = scratch__path(dir) };

	*ret = NULL;
	return sink_dir__new(&opts, ret, &err);
}

static void is_mode(const char *path, mode_t want)
{
	struct stat st;

	ok(!lstat(path, &st) && (st.st_mode & 07777) == want, "mode %o of %s", want, path);
}

/* A DIR in which another user could replace our files. */
static void test_shared(void)
{
	struct sink *sink;

	mkdir(scratch__path("shared"), 0700);
	chmod(scratch__path("shared"), 0777);
	is_int(open_sink("shared", &sink), -EPERM, "others can write to DIR");
	has_str(err.msg, "/shared': other users can write to this directory: chmod go-w it",
		"the message has the remedy");
	ok(access(in("shared", "blocks.jsonl"), F_OK), "and nothing is made there");
}

/* Earlier versions created files that all users could read. */
static void test_old_modes(void)
{
	static const char *const names[] = { "blocks.jsonl", "blocks.1.jsonl", "blocks.pb",
					     "looper-2026-01-01_00-00-00.000.log" };

	struct sink *sink;

	mkdir(scratch__path("old"), 0700);
	for (size_t i = 0; i < 4; i++) {
		spew(in("old", names[i]), "");
		chmod(in("old", names[i]), 0644);
	}
	spew(in("old", "notes"), "");
	chmod(in("old", "notes"), 0644);
	is_int(open_sink("old", &sink), 0, "an old directory");
	for (size_t i = 0; i < 4; i++)
		is_mode(in("old", names[i]), 0600);
	is_mode(in("old", "notes"), 0644);
	sink->ops->free(sink);
}

/*
 * --- the disk has a log before the log has its name; these take the place of libc's functions
 */

static unsigned synced, renamed;
static bool sync_before_rename;
static int sync_error;
static useconds_t sync_us;

int fsync(int fd)
{
	struct stat st;

	if (fstat(fd, &st) || !st.st_size)
		abort();
	synced++;
	usleep(sync_us);
	errno = sync_error;
	return sync_error ? -1 : 0;
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	int ret = (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);

	if (!ret)
		sync_before_rename = synced == ++renamed;
	return ret;
}

/* Sends `cnt` blocks to a new sink, which has not synced yet. Returns the last one's result. */
static int send_to_new(unsigned cnt)
{
	struct sink *sink;
	int ret = open_sink("sync", &sink);

	synced = renamed = 0;
	for (unsigned i = 0; i < cnt && !ret; i++)
		ret = send_block(sink, fixture__bare());
	if (sink)
		sink->ops->free(sink);
	return ret;
}

static void test_sync(void)
{
	is_int(send_to_new(1), 0, "a block");
	ok(sync_before_rename && renamed == 1, "the log is on the disk before it has its name");
	sync_us = 200000;
	is_int(send_to_new(2), 0, "two blocks on a slow disk");
	ok(synced == 1 && renamed == 2, "wait for it at most a tenth of the time");
	sync_us = 0;
	sync_error = EINVAL;
	is_int(send_to_new(1), 0, "a file system without fsync is accepted");
	sync_error = EIO;
	is_int(send_to_new(1), -EIO, "a disk error is reported");
	is_uint(renamed, 0, "its log gets no name");
}

int main(void)
{
	scratch__init();
	umask(022);
	test_shared();
	test_old_modes();
	test_sync();
	return tap__done();
}
