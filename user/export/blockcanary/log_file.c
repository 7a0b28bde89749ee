/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A log is written under a temporary name, which no reader opens, then renamed. A reader that sees
 * half a log considers it corrupt and deletes it.
 */
#include "export/blockcanary/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "export/record_file.h"

#define NAME_ATTEMPTS 10000
#define SYNC_PART     10

/*
 * Renames; fails with -EEXIST if the target exists. Uses a link where the file system has no such
 * rename.
 */
static int rename_new(int dirfd, const char *from, const char *to)
{
	if (!renameat2(dirfd, from, dirfd, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (linkat(dirfd, from, dirfd, to, 0))
		return -errno;
	unlinkat(dirfd, from, 0);
	return 0;
}

static bool has_content(int dirfd, const char *name, const struct strbuf *bytes)
{
	int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool same = fd >= 0 && record_file__holds(fd, 0, bytes->data, bytes->len);

	if (fd >= 0)
		close(fd);
	return same;
}

/* Two blocks may end in the same millisecond. */
static int give_name(int dirfd, const char *tmp, const struct log_file *log)
{
	struct strbuf name = STRBUF_INIT;
	int err = -EEXIST;

	for (unsigned i = 0; err == -EEXIST && i < NAME_ATTEMPTS; i++) {
		strbuf__reset(&name);
		timed_name__add(&name, log->name, log->real_ns, i);
		err = name.failed ? -ENOMEM : rename_new(dirfd, tmp, strbuf__str(&name));
		if (err == -EEXIST && log->resumed &&
		    has_content(dirfd, strbuf__str(&name), log->bytes))
			err = unlinkat(dirfd, tmp, 0) ? -errno : 0;
	}
	strbuf__free(&name);
	return err;
}

/*
 * Waits until the disk has the log. Else the rename may reach the disk first, and after a power
 * loss an empty log has the final name.
 *
 * A sync takes 5 to 50 ms and makes others' syncs wait. At most a tenth of the time is spent on it:
 * logs in between are renamed unsynced, and their records are in blocks.jsonl anyway.
 */
static int store(int fd, uint64_t *next_ns)
{
	uint64_t begin = clock__mono_ns(), end;
	int err = 0;

	if (begin < *next_ns)
		return 0;
	while (fsync(fd)) {
		err = -errno;
		if (err != -EINTR)
			break;
		err = 0;
	}
	end = clock__mono_ns();
	*next_ns = end + (SYNC_PART - 1) * (end - begin);
	return err == -EINVAL || err == -ENOTSUP || err == -ENOSYS ? 0 : err;
}

static int write_tmp(int dirfd, const char *tmp, const struct log_file *log)
{
	struct timespec when = { (time_t)(log->real_ns / NS_PER_SEC),
				 (long)(log->real_ns % NS_PER_SEC) };
	struct timespec times[2] = { when, when };
	int fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int err;

	if (fd < 0)
		return -errno;
	err = output__write(fd, log->bytes->data, log->bytes->len);
	if (!err && futimens(fd, times))
		err = -errno;
	if (!err)
		err = store(fd, log->next_sync_ns);
	if (close(fd) && !err) /* some file systems report a full disk only here */
		err = -errno;
	if (err)
		unlinkat(dirfd, tmp, 0);
	return err;
}

int log_file__write(int dirfd, const struct log_file *log)
{
	char tmp[48];
	int err;

	snprintf(tmp, sizeof(tmp), RETAIN_TMP_PREFIX "%d" RETAIN_TMP_SUFFIX, (int)getpid());
	err = write_tmp(dirfd, tmp, log);
	if (err)
		return err;
	err = give_name(dirfd, tmp, log);
	if (err)
		unlinkat(dirfd, tmp, 0);
	return err;
}
