/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BlockCanary's logs, and histories, as files of a directory that no other user can write to. */
#ifndef JANK_EXPORT_BLOCKCANARY_LOG_FILE_H
#define JANK_EXPORT_BLOCKCANARY_LOG_FILE_H

#include "base/strbuf.h"
#include "export/timed_name.h"
#include <stdbool.h>
#include <stdint.h>

struct log_file {
	const struct strbuf *bytes;
	uint64_t real_ns;	/* its time; also its mtime */
	uint64_t *next_sync_ns; /* CLOCK_MONOTONIC; no sync before */
	bool resumed;		/* it may be there already: then nothing is written */
	const struct timed_name *name;
};

/*
 * Writes a log with this time under a unique name, and sets its mtime. One process at a time: DIR
 * of -o has the lock of its records. 0 or -errno; then nothing of it is left.
 */
int log_file__write(int dirfd, const struct log_file *log);

#endif
