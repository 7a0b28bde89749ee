/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sinks of a run, opened from the options: stdout, and DIR of -o. Each gets every record; one
 * that fails does not keep the record from the others. One thread at a time.
 */
#ifndef JANK_DELIVER_SINKS_H
#define JANK_DELIVER_SINKS_H

#include "base/err.h"
#include "export/sink.h"
#include "options/options.h"
#include "send/send.h"
#include <stdbool.h>
#include <stdint.h>

#define SINK_MAX 4

struct sinks {
	unsigned cnt;
	struct sink *list[SINK_MAX];
	struct send_names names; /* of the backends whose positions the spool reads */
};

/*
 * Opens them; the command `loops` has none. progress: SINK_MAX entries that outlive the process and
 * the sinks, zeroed before the first record; NULL: a record is never resumed. Returns 0, or -errno
 * with a message. Call sinks__close in both cases.
 */
int sinks__open(struct sinks *sinks, const struct options *opts, struct sink_progress *progress,
		struct err *err);
void sinks__close(struct sinks *sinks);

/*
 * Gives the record to each sink. Sets the result of each: 0 or -errno. nr: its number, from 1 on;
 * with progress, a number that was begun before is resumed where it was interrupted.
 */
void sinks__record(struct sinks *sinks, const Jankbpf__Record *record, uint64_t nr, int *results);

/* Records that sinks had taken and dropped, of the whole run. */
uint64_t sinks__dropped(const struct sinks *sinks);

/* True if fd is a terminal and NO_COLOR is not set. */
bool output__wants_color(int fd);

#endif
