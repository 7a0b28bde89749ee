/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Uprobes for all present and future processes: attached to files, not to processes, each site
 * once. A file is probed when a process first maps it, by any path and in any mount namespace. Its
 * uprobes are detached some time after the last such process ended.
 *
 * Every process that maps the file pays for a hit, traced or not: the programs must filter first.
 */
#ifndef JANK_UPROBES_UPROBE_FILES_H
#define JANK_UPROBES_UPROBE_FILES_H

#include "base/err.h"
#include "uprobes/uprobes.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct uprobe_files;

/* Counters; all but the last three count from the start. */
struct uprobe_files_stats {
	uint64_t searched_cnt; /* files opened and searched for sites */
	uint64_t missed_cnt;   /* files that could not be opened in time, or refused a uprobe */
	uint64_t lost_cnt;     /* lost records of mappings; those mappings are searched for again */
	size_t file_cnt;       /* files with uprobes, now */
	size_t link_cnt;       /* uprobes, now */
	size_t process_cnt;    /* processes known to map such files, now */
};

/*
 * Probes the processes that run now. Borrows the programs and the catalogue. Returns 0 or -errno
 * (-EACCES, -EPERM with JANK_EXIT_CANNOT: see mmaps__new).
 */
int uprobe_files__new(const struct uprobe_programs *progs, struct uprobe_files **ret,
		      struct err *err);

/* Follows all processes from now on, in its own thread. */
int uprobe_files__start(struct uprobe_files *files, struct err *err);

/*
 * The thread follows no process, or does so again and finds those that came meanwhile. Probes stay
 * where they are. Any thread.
 */
void uprobe_files__rest(struct uprobe_files *files, bool rest);

void uprobe_files__free(struct uprobe_files *files); /* stops the thread, detaches; accepts NULL */

/*
 * pause: the probes at pausable sites cost pid too much. They are removed at once from its
 * files, for all processes that map them; they return when no process needs the pause. May be
 * called from any thread. Returns 0 or -ENOMEM.
 */
int uprobe_files__pause(struct uprobe_files *files, pid_t pid, bool pause);

/* Whether there was something to pause yet. Any thread. */
bool uprobe_files__has_marks(const struct uprobe_files *files);

struct uprobe_files_stats uprobe_files__stats(struct uprobe_files *files);

/*
 * The work of that thread, for callers that do not start it. Call consume when fd is readable. Call
 * tick about once a second: it looks for files that no process maps any more, and for losses.
 */
int uprobe_files__fd(const struct uprobe_files *files);
void uprobe_files__consume(struct uprobe_files *files);
void uprobe_files__tick(struct uprobe_files *files);

#endif
