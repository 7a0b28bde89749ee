/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The output directory: each record is appended to blocks.jsonl or blocks.pb; each ended block also
 * gets a BlockCanary log.
 *
 * A full or read-only disk does not stop tracing, not even at the start: every record tries again,
 * and the caller counts its error. A DIR that cannot be ours is an error.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "export/blockcanary/blockcanary.h"
#include "export/record_file.h"
#include "export/sink.h"
#include "files/own_path.h"

/*
 * --- one log: written under a temporary name, which no reader opens, then renamed. A reader that
 * sees half a log considers it corrupt and deletes it.
 */

#define NAME_ATTEMPTS 10000
#define SYNC_PART     10

struct log_file {
	const struct strbuf *bytes;
	uint64_t real_ns;	/* its time; also its mtime */
	uint64_t *next_sync_ns; /* CLOCK_MONOTONIC; no sync before */
	bool resumed;		/* an earlier process may have written it */
};

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
		blockcanary__add_name(&name, log->real_ns, i);
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

/*
 * Writes a log with this time under a unique name, and sets its mtime. Requires the records' lock.
 */
static int log_file__write(int dirfd, const struct log_file *log)
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

#define CLEAN_EVERY_NS (3600 * NS_PER_SEC)

struct sink_dir {
	struct sink sink;
	char *dir, *qualifier;
	int dirfd; /* -1: not open yet */
	struct record_file file;
	struct retain retain;
	bool hidden;		/* files of earlier versions have mode 0600 */
	uint64_t next_clean_ns; /* CLOCK_MONOTONIC */
	uint64_t next_sync_ns;
	struct strbuf bytes; /* of the last record */
	struct strbuf log;   /* of the last block */
};

static int dir__open(struct sink_dir *d, struct err *err)
{
	int fd;

	if (d->dirfd >= 0)
		return 0;
	fd = own_path__dir(d->dir, 0700, err);
	if (fd < 0)
		return fd;
	d->dirfd = d->file.dirfd = d->retain.dirfd = fd;
	d->hidden = false;
	return 0;
}

/* Cleans at the start and about hourly. Its errors do not fail the record. */
static void dir__clean(struct sink_dir *d)
{
	uint64_t now = clock__mono_ns();

	if (now < d->next_clean_ns)
		return;
	d->next_clean_ns = now + CLEAN_EVERY_NS;
	retain__clean(&d->retain, clock__real_ns());
}

/* Creates DIR again if another process has removed it. err: of DIR itself; may be NULL. */
static int dir__lock(struct sink_dir *d, struct err *err)
{
	int code = dir__open(d, err);

	if (!code)
		code = record_file__lock(&d->file);
	if (code == -ENOENT && d->dirfd >= 0) {
		close(d->dirfd);
		d->dirfd = -1;
		code = dir__open(d, err);
		if (!code)
			code = record_file__lock(&d->file);
	}
	if (code)
		return code;
	/* A read-only disk cannot change them now: tried again with the next record. */
	if (!d->hidden)
		d->hidden = !retain__hide(&d->retain);
	dir__clean(d);
	return 0;
}

static int dir__write_log(struct sink_dir *d, uint64_t real_ns, bool resumed)
{
	const struct log_file log = { &d->log, real_ns, &d->next_sync_ns, resumed };
	int err = log_file__write(d->dirfd, &log);

	if (!err)
		retain__wrote_log(&d->retain, d->log.len);
	return err;
}

/* The lock has cut off what a killed process left of a record. */
static int dir__append(struct sink_dir *d)
{
	const struct strbuf *bytes = &d->bytes;

	if (d->sink.progress)
		d->sink.progress->base = record_file__size(&d->file) + 1;
	return record_file__append(&d->file, bytes->data, bytes->len);
}

/* True if an earlier process, which was killed in this record, appended all of it. */
static bool dir__has_appended(const struct sink_dir *d, uint64_t base)
{
	return base && record_file__holds(d->file.fd, base - 1, d->bytes.data, d->bytes.len);
}

/* Writes the record, and the log if there is one. Each is tried, even if the other fails. */
static int dir__write(struct sink_dir *d, uint64_t real_ns)
{
	uint64_t base = d->sink.progress ? d->sink.progress->base : 0;
	size_t len = d->bytes.len;
	int err, log_err = 0;

	if (d->log.failed)
		return -ENOMEM;
	err = dir__lock(d, NULL);
	if (err)
		return err;
	if (dir__has_appended(d, base))
		len = 0;
	err = retain__make_room(&d->retain, &d->file, len, d->log.len);
	if (!err) {
		err = len ? dir__append(d) : 0;
		if (d->log.len)
			log_err = dir__write_log(d, real_ns, base);
	}
	retain__done(&d->retain);
	record_file__unlock(&d->file);
	return err ? err : log_err;
}

/*
 * A hang has no log: BlockCanary's record describes an ended block, and its reader would show the
 * same block twice. The only log is written at the end, with severity "hang".
 */
static int dir__record(struct sink *sink, const Jankbpf__Record *record)
{
	struct sink_dir *d = (struct sink_dir *)sink;
	uint64_t real_ns = 0;
	int err;

	strbuf__reset(&d->bytes);
	strbuf__reset(&d->log);
	err = stream__add(&d->bytes, d->file.format, record);
	if (record->type_case == JANKBPF__RECORD__TYPE_BLOCK) {
		blockcanary__add_log(&d->log, record->block, d->qualifier);
		real_ns = blockcanary__time_ns(record->block);
	}
	return err ? err : dir__write(d, real_ns);
}

static void dir__free(struct sink *sink)
{
	struct sink_dir *d = (struct sink_dir *)sink;

	record_file__close(&d->file);
	if (d->dirfd >= 0)
		close(d->dirfd);
	strbuf__free(&d->bytes);
	strbuf__free(&d->log);
	free(d->qualifier);
	free(d->dir);
	free(d);
}

static const struct sink_ops dir_ops = {
	.name = "directory",
	.record = dir__record,
	.free = dir__free,
};

static struct sink_dir *dir__alloc(const struct sink_dir_opts *opts)
{
	struct sink_dir *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->sink.ops = &dir_ops;
	d->dirfd = d->file.fd = -1;
	d->file.format = opts->format;
	d->retain.keep_ns = opts->keep_ns;
	d->retain.max_bytes = opts->max_bytes;
	d->dir = strdup(opts->dir);
	d->qualifier = opts->qualifier ? strdup(opts->qualifier) : NULL;
	if (d->dir && (d->qualifier || !opts->qualifier))
		return d;
	dir__free(&d->sink);
	return NULL;
}

static bool may_pass(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EROFS;
}

static int dir__error(const struct sink_dir *d, int code, struct err *err)
{
	struct stat st;

	if (code == -EACCES && d->dirfd >= 0 && !fstat(d->dirfd, &st) && st.st_uid != geteuid())
		return own_path__refuse(d->dir, st.st_uid, err);
	if (code == -EPERM && d->dirfd >= 0)
		return err__set(err, -code,
				"'%s/%s' is no regular file of this user: remove it, or choose "
				"another directory",
				d->dir, record_file__name(&d->file));
	if (may_pass(code))
		return err__set(err, -code, "'%s': %s: no record can be written there now", d->dir,
				strerror(-code));
	if (d->dirfd < 0)
		return code; /* own_path.c has set the message */
	return err__set(err, -code, "'%s': %s: choose a directory that can be written", d->dir,
			strerror(-code));
}

int sink_dir__new(const struct sink_dir_opts *opts, struct sink **ret, struct err *err)
{
	struct sink_dir *d = dir__alloc(opts);
	int code;

	if (!d)
		return err__set(err, ENOMEM, "out of memory");
	if (err)
		err->msg[0] = '\0';
	code = dir__lock(d, err);
	if (!code) {
		retain__done(&d->retain);
		record_file__unlock(&d->file);
	} else {
		dir__error(d, code, err);
	}
	if (code && !may_pass(code)) {
		dir__free(&d->sink);
		return code;
	}
	*ret = &d->sink;
	return 0;
}
