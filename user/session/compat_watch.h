/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watch for 32-bit programs that start during the run. Their waits have separate probes, attached
 * while such programs exist. All functions run on the intake thread.
 */
#ifndef JANK_SESSION_COMPAT_WATCH_H
#define JANK_SESSION_COMPAT_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct filter;
struct loader;
struct process_table;

struct compat_watch {
	struct loader *loader; /* borrowed, as are filter and processes */
	const struct filter *filter;
	const struct process_table *processes;
	bool some;	    /* there are such programs, wanted or not, or were at the last look */
	bool attached;	    /* the probes are */
	bool reported;	    /* the log has a line on them */
	pid_t last;	    /* a wanted one, as of the last look; 0: none */
	unsigned empty_cnt; /* looks in a row without a wanted one */
	uint64_t look_ns, cost_ns; /* time of the last look; CPU time that it cost us */
};

#ifdef __aarch64__
#define COMPAT_NO_UPROBES "the kernel has no uprobes in those"
#else
#define COMPAT_NO_UPROBES "uprobes are for 64-bit ones"
#endif

void compat_watch__on_exec(struct compat_watch *watch, uint32_t pid); /* it runs one now */
void compat_watch__look(struct compat_watch *watch); /* at the start and periodically */

#endif
