/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files in DIR, and their retention.
 *
 * A file of records in DIR: blocks.jsonl or blocks.pb. It holds only whole records, even when
 * several processes append to it or a writer crashes. Several processes may share a DIR: every
 * change of DIR happens under the lock of this file.
 */
#ifndef JANK_EXPORT_RECORD_FILE_H
#define JANK_EXPORT_RECORD_FILE_H

#include "export/sink.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct record_file {
	int dirfd; /* borrowed */
	int fd;	   /* -1: not open */
	enum record_format format;
	uint64_t whole; /* bytes from the file's start that are known to be whole records */
	bool no_wait;	/* record_file__lock returns -EAGAIN while another process has the lock */
};

const char *record_file__name(const struct record_file *file);	   /* "blocks.jsonl" */
const char *record_file__old_name(const struct record_file *file); /* "blocks.1.jsonl" */

/*
 * Opens or creates the file, locks it and cuts off a torn last record. -EPERM: not a regular file
 * of ours.
 */
int record_file__lock(struct record_file *file);
void record_file__unlock(struct record_file *file);

/* These require the lock. */
int record_file__append(struct record_file *file, const void *record, size_t len);
uint64_t record_file__size(const struct record_file *file);
/* True if the file has these bytes at this offset. Needs no lock; any readable descriptor. */
bool record_file__holds(int fd, uint64_t offset, const void *bytes, size_t len);
/*
 * Renames the file to its old name, replacing the previous one; the lock then belongs to the new
 * file.
 */
int record_file__rotate(struct record_file *file);

void record_file__close(struct record_file *file);

/*
 * True if the name in dirfd is a regular file of ours with one link; sets its size. Follows no
 * link.
 */
bool own_file__size(int dirfd, const char *name, uint64_t *ret_size);

#define MARKS_NAME "serve.marks" /* what the users of `jankbpf serve` marked */

/* True if a sink or `serve` makes files of that name in DIR. */
bool record_dir__knows(const char *name);

/* --- Retention: limits the age and size of DIR. It deletes only files that the sink makes. */

#define RETAIN_TMP_PREFIX ".looper-"
#define RETAIN_TMP_SUFFIX ".tmp"

struct retain {
	int dirfd;	       /* borrowed */
	uint64_t keep_ns;      /* 0: for ever */
	uint64_t max_bytes;    /* 0: no bound */
	uint64_t log_bytes;    /* of all logs: last scan plus our writes since */
	unsigned writes;       /* since the last scan */
	struct timespec mtime; /* of DIR after our last change; detects other processes' changes */
};

/*
 * Deletes logs older than keep_ns by mtime, and temporary files that a crash left. Requires the
 * records' lock.
 */
int retain__clean(struct retain *retain, uint64_t now_real_ns);

/*
 * Sets mode 0600 on our files: earlier versions created them with 0644. Only for a DIR that no
 * other user can write to. Requires the records' lock. Returns 0 or -errno.
 */
int retain__hide(const struct retain *retain);

/*
 * Makes room for a line and a log within max_bytes: deletes the oldest logs first, then rotates
 * blocks.jsonl. Requires the records' lock. -EFBIG: there is not enough room.
 */
int retain__make_room(struct retain *retain, struct record_file *file, uint64_t line_len,
		      uint64_t log_len);

/* Call after a log was written. */
void retain__wrote_log(struct retain *retain, uint64_t len);

/* Call after the last change for this record, before the lock is released. */
void retain__done(struct retain *retain);

#endif
