/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Report of `jankbpf loops` on running processes: each loop, its evidence, and the readable parts
 * of its messages or why there are none.
 */
#ifndef JANK_SESSION_LOOPS_REPORT_H
#define JANK_SESSION_LOOPS_REPORT_H

#include "catalogue/catalogue.h"
#include "catalogue/loop_owner.h"
#include "options/filter.h"
#include <stdbool.h>
#include <sys/types.h>

struct found_opts {
	const struct catalogue *catalogue;
	struct symbolizer *symbolizer;
	const struct loop_choice *choice;
	const struct filter *filter;
	const pid_t *pids; /* none with the filter's `all` */
	size_t pid_cnt;
	bool verbose;
};

/* Prints on stdout. whose holds the loops seen; loops that waited all the time are added. */
void loops_report__report(const struct found_opts *opts, struct loop_owner *whose);

#endif
