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
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "export/blockcanary/blockcanary.h"
#include "export/blockcanary/log_file.h"
#include "export/record_file.h"
#include "export/report/report.h"
#include "export/sink.h"
#include "files/own_path.h"

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
	struct strbuf log;   /* of the last block, or the trace of a history */
	bool is_history;     /* the latter: it has no line among the records */
};

/*
 * Held until the descriptor is closed. Nothing depends on it, since each record has a lock of its
 * own; it only shows that there is a second writer.
 */
static void tell_other_writer(const char *dir, int fd, struct err *err)
{
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		err__set(
			err, EAGAIN,
			"'%s': another jankbpf writes there, too, so both runs' records are mixed: "
			"give each a directory of its own",
			dir);
}

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
	tell_other_writer(d->dir, fd, err);
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
	const struct log_file log = { &d->log, real_ns, &d->next_sync_ns, resumed || d->is_history,
				      d->is_history ? &timed_name_history : &timed_name_log };
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

/* Named by its first block, as that block's log. */
static int dir__history(struct sink_dir *d, const Jankbpf__History *history)
{
	struct report_out out = { .fd = -1, .bytes = d->log };
	int err = report__history(&out, history);

	d->log = out.bytes;
	if (!err)
		err = dir__write(d, history->n_blocks ? blockcanary__time_ns(history->blocks[0])
						      : clock__real_ns());
	strbuf__free(&d->log); /* it may have many megabytes */
	d->log = (struct strbuf)STRBUF_INIT;
	return err;
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
	d->is_history = record->type_case == JANKBPF__RECORD__TYPE_HISTORY;
	if (d->is_history)
		return dir__history(d, record->history);
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
	.takes_history = true,
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
