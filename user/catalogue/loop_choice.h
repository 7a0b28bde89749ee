/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kinds of loop to trace: those that -l names, or all except those that are off by default. */
#ifndef JANK_CATALOGUE_LOOP_CHOICE_H
#define JANK_CATALOGUE_LOOP_CHOICE_H

#include "base/err.h"
#include "catalogue/catalogue.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct loop_choice {
	bool any;	/* -l was not given */
	uint32_t waits; /* 1 << JANK_LOOP_*: waits that -l names ("epoll"), any owner */
	const struct catalogue_row *rows[CATALOGUE_ROW_MAX];
	size_t row_cnt;
};

/* 0, or -EINVAL with JANK_EXIT_USAGE and a message that lists the valid names. */
int loop_choice__init(struct loop_choice *ret, const struct catalogue *cat, char *const *names,
		      size_t cnt, struct err *err);

/* The kinds of wait to trace for this choice: struct filter's loops. 0: all. */
uint32_t loop_choice__waits(const struct loop_choice *choice);

/* True if the choice includes the loop. row: the loop's owner, NULL: not known. */
bool loop_choice__takes(const struct loop_choice *choice, const struct catalogue_row *row,
			uint32_t loop);

/* --- processes that map a library with a poll loop, by the catalogue's rows */

/* Reads /proc/PID/maps. Also false when the process has ended. */
bool pollers__is_one(const struct catalogue *cat, pid_t pid);

#endif
