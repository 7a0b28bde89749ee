/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Downloads of debug files by a process of its own, jankbpf-fetch: the only one of ours with a
 * network. It has the identity of the user of sudo, whose cache it fills, and no capability; it
 * gets build ids and returns descriptors, and parses no file. It is this program, executed again.
 *
 * It is not started again: the tracer's filter of system calls, which a new process would inherit,
 * allows no internet socket. Names of later files are then missing, which is said and counted.
 */
#ifndef JANK_DELIVER_DOWNLOADER_H
#define JANK_DELIVER_DOWNLOADER_H

#include "base/err.h"
#include "symbol/modules/fetch.h"
#include <sys/types.h>

/* The only argument of the process; not for users. */
#define DOWNLOADER_WORD "--download"

struct downloader;

/*
 * Starts the process, if DEBUGINFOD_URLS is set; *ret: else NULL. Needs the capabilities of root's
 * start, and no filter. Returns 0, or -errno with a message.
 */
int downloader__start(struct downloader **ret, struct err *err);

/* Ends the process. After the users of its source. Accepts NULL. */
void downloader__free(struct downloader *downloader);

/* For fetch__new: get waits on one thread. Accepts NULL: the source has no get. */
struct fetch_source downloader__source(struct downloader *downloader);

/* The process; 0: none. Any thread. Accepts NULL. */
pid_t downloader__pid(const struct downloader *downloader);

/* The process itself. Returns its exit status. */
int downloader__main(void);

#endif
