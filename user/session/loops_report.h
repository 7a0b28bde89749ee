/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `jankbpf loops` tells of running processes: each loop, by which evidence it is one, and what
 * can be read of its messages, or why not.
 */
#ifndef JANK_SESSION_LOOPS_REPORT_H
#define JANK_SESSION_LOOPS_REPORT_H

#include "catalogue/loop_choice.h"
#include "catalogue/loop_owner.h"
#include "options/filter.h"
#include <stdbool.h>
#include <sys/types.h>

struct found_opts {
	const struct catalogue *catalogue;
	struct symbolizer *symbolizer;
	const struct loop_choice *choice;
	const struct filter *filter;
	const pid_t *pids; /* or, with the filter's `all`, none */
	size_t pid_cnt;
	bool verbose;
};

/* On stdout. whose has what was seen; those that wait all the while are added. */
void loops_report__report(const struct found_opts *opts, struct loop_owner *whose);

#endif
