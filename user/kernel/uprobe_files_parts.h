/* SPDX-License-Identifier: GPL-2.0 */
/* What uprobe_files.c and uprobe_files_run.c share: what happens to a file, and when. */
#ifndef JANK_UPROBE_FILES_PARTS_H
#define JANK_UPROBE_FILES_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "kernel/mmaps.h"
#include "kernel/uprobe_files.h"
#include "kernel/uprobe_table.h"

/* Detaching waits for the kernel's grace periods, which nobody else shall wait for. */
struct reaper {
	pthread_t thread;
	bool started;
	atomic_bool done;
	struct held_link *links;
	size_t cnt;
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
	struct reaper reaper;
	bool scan_due;
};

/* What the rings tell; their context is the struct uprobe_files. */
struct mmaps_ops uprobe_files__ops(struct uprobe_files *files);

#endif
