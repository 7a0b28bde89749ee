/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Uprobes for every process there is and will be: attached to files, not to processes, each site
 * once. A file's are attached when somebody first maps it, by whatever path and in whatever mount
 * namespace, and detached some time after the last such process ended.
 *
 * Every process that maps the file pays for a hit, traced or not: the programs must look first.
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

/* How it goes; all but the last three since the start. */
struct uprobe_files_stats {
	uint64_t searched_cnt; /* files opened and searched for sites */
	uint64_t missed_cnt;   /* files that could not be opened in time, or refused a uprobe */
	uint64_t lost_cnt;     /* records of mappings; what was missed is looked for again */
	size_t file_cnt;       /* with uprobes, now */
	size_t link_cnt;       /* uprobes, now */
	size_t process_cnt;    /* processes known to map such files, now */
};

/* Probes what runs now. The programs are borrowed, and so is the catalogue. -EACCES, -EPERM with
 * JANK_EXIT_CANNOT: mmaps__new. */
int uprobe_files__new(const struct uprobe_programs *progs, struct uprobe_files **ret,
		      struct err *err);

/* Follows all processes from then on, in a thread of its own. */
int uprobe_files__start(struct uprobe_files *files, struct err *err);

void uprobe_files__free(struct uprobe_files *files); /* ends the thread, detaches; accepts NULL */

/*
 * Are the probes at pausable sites too much for pid? In a second they are off its files, for all
 * who map them, or on again once they are for nobody. From any thread. 0 or -ENOMEM.
 */
int uprobe_files__pause(struct uprobe_files *files, pid_t pid, bool pause);

struct uprobe_files_stats uprobe_files__stats(struct uprobe_files *files);

/*
 * What that thread does, for those who start none: take what there is when fd is readable; and
 * about once a second look for files that nobody maps any more, and for what was lost.
 */
int uprobe_files__fd(const struct uprobe_files *files);
void uprobe_files__consume(struct uprobe_files *files);
void uprobe_files__tick(struct uprobe_files *files);

#endif
