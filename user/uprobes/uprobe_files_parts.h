/* SPDX-License-Identifier: GPL-2.0 */
/* What uprobe_files.c and uprobe_files_run.c share: what happens to a file, and when. */
#ifndef JANK_UPROBES_UPROBE_FILES_PARTS_H
#define JANK_UPROBES_UPROBE_FILES_PARTS_H

#include "uprobes/mmaps.h"
#include "uprobes/reaper.h"
#include "uprobes/uprobe_files.h"
#include "uprobes/uprobe_table.h"
#include <pthread.h>
#include <uthash.h>

/* A process that is too busy for probes that can be paused. */
struct busy_process {
	pid_t pid;
	UT_hash_handle hh;
};

struct uprobe_files {
	struct uprobe_programs progs;
	struct target_wants wants;
	struct mmaps_ops ops;
	struct mmaps *mmaps;
	struct uprobe_table table;
	struct uprobe_files_stats stats;
	struct uprobe_files_stats shown; /* to others; by the lock */
	pthread_mutex_t lock;
	pthread_t thread;
	bool started;
	int stop_fd;
	struct reaper *reaper;
	bool scan_due;
	struct busy_process *busy; /* by the lock */
};

/* uprobe_files_pause.c: puts a file's pausable probes on, unless a user of it is busy. 0 or -ENOMEM. */
int uprobe_files__put_marks(struct uprobe_files *files, struct probed_file *file);
/* Takes them off, and puts them on, where somebody became busy or is no more. The reaper must be free. */
void uprobe_files__follow_busy(struct uprobe_files *files);
void uprobe_files__forget_busy(struct uprobe_files *files);

/* What the rings tell; their context is the struct uprobe_files. */
struct mmaps_ops uprobe_files__ops(struct uprobe_files *files);

#endif
