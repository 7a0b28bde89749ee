/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of the files in DIR that are named by a time:
 * PREFIXyyyy-MM-dd_HH-mm-ss.SSS[-ATTEMPT]SUFFIX.
 */
#ifndef JANK_EXPORT_TIMED_NAME_H
#define JANK_EXPORT_TIMED_NAME_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <stdint.h>

struct timed_name {
	const char *prefix, *suffix;
};

extern const struct timed_name timed_name_log;	   /* "looper-….log", as of BlockCanary */
extern const struct timed_name timed_name_history; /* "history-….pftrace" */

/* attempt 0 adds none. */
void timed_name__add(struct strbuf *sb, const struct timed_name *kind, uint64_t real_ns,
		     unsigned attempt);

/* True if timed_name__add makes such names. Files with other names are never touched. */
bool timed_name__is(const struct timed_name *kind, const char *name);

#endif
