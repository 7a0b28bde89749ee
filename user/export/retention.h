/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long and how much DIR keeps. Only files that the sink itself makes are ever deleted. */
#ifndef JANK_EXPORT_RETENTION_H
#define JANK_EXPORT_RETENTION_H

#include "export/record_file.h"
#include <stdint.h>
#include <time.h>

#define RETAIN_TMP_PREFIX ".looper-"
#define RETAIN_TMP_SUFFIX ".tmp"

struct retain {
	int dirfd;	       /* borrowed */
	uint64_t keep_ns;      /* 0: for ever */
	uint64_t max_bytes;    /* 0: no bound */
	uint64_t log_bytes;    /* of all logs, as of the last look and our own writes since */
	unsigned writes;       /* since the last look */
	struct timespec mtime; /* of DIR after our last change: another one was somebody else's */
};

/*
 * Deletes logs older than keep_ns by mtime, and what a crash left half-made. Needs the records'
 * lock.
 */
int retain__clean(struct retain *retain, uint64_t now_real_ns);

/*
 * Makes room for a line and a log within max_bytes: the oldest logs go first, then blocks.jsonl is
 * rotated. Needs the records' lock. -EFBIG: there can't be room.
 */
int retain__make_room(struct retain *retain, struct record_file *file, uint64_t line_len,
		      uint64_t log_len);

/* A log was written. */
void retain__wrote_log(struct retain *retain, uint64_t len);

/* All changes for this record are made: before the lock is let go. */
void retain__done(struct retain *retain);

#endif
