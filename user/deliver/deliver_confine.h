/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the processes of this room give up. Called once, with one thread. */
#ifndef JANK_DELIVER_DELIVER_CONFINE_H
#define JANK_DELIVER_DELIVER_CONFINE_H

#include "base/err.h"
#include "base/syscall_filter.h"
#include "deliver/deliver.h"
#include <signal.h>

#define CONFINE_ORPHANED SIGUSR1 /* the signal of the parent's death */

/*
 * Become the user of sudo, if there is one; drop all capabilities and the means to get new ones;
 * limit descriptors and system calls; ask for CONFINE_ORPHANED, the downloader for SIGKILL. Return
 * 0, or -errno with a message; then the process must end.
 */
int confine__deliver(enum deliver_kind kind, const struct options *opts, struct err *err);
int confine__downloader(struct err *err);

/*
 * The same for the process that sends records: as the user that writes them. Of opts it needs the
 * command and records_user.
 */
int confine__sender(const struct options *opts, struct err *err);

/*
 * The same for the process that runs commands, as far as its commands may inherit it: it becomes
 * the user of sudo; another user than root has no capability then. Root keeps its own. No filter.
 */
int confine__react(struct err *err);

/* --- deliver_calls.c: the system calls, beyond those of every process */

/* The sinks: once the process has given up its privileges. */
extern const struct syscall_list deliver_calls;
/* Besides these, those of a screen. */
extern const struct syscall_list deliver_screen_calls;

/* Besides deliver_calls, those of the kind: of a screen, or of connections; NULL: none. */
const struct syscall_list *deliver__more_calls(enum deliver_kind kind);

/* libdebuginfod and libcurl, which load code; the sender, which has a child and locks its spool. */
extern const struct syscall_list fetch_calls;
/* The start of one of our processes: from the tracer's clone to a filter of its own. */
extern const struct syscall_list deliver_start_calls;

#endif
