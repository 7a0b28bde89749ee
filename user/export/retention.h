/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Retention: limits the age and size of DIR. It deletes only files that the sink makes. */
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
