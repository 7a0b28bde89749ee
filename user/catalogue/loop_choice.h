/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which kinds of loop are wanted: those that -l names, or all but those that are off unless named.
 */
#ifndef JANK_CATALOGUE_LOOP_CHOICE_H
#define JANK_CATALOGUE_LOOP_CHOICE_H

#include "base/err.h"
#include "catalogue/catalogue.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct loop_choice {
	bool any;	/* none was named */
	uint32_t waits; /* 1 << JANK_LOOP_*: named as such ("epoll"), whosever they are */
	const struct catalogue_row *rows[CATALOGUE_ROW_MAX];
	size_t row_cnt;
};

/* 0, or -EINVAL with JANK_EXIT_USAGE and the names that there are. */
int loop_choice__init(struct loop_choice *ret, const struct catalogue *cat, char *const *names,
		      size_t cnt, struct err *err);

/* The kinds of wait that must be seen for that: struct filter's loops. 0: all. */
uint32_t loop_choice__waits(const struct loop_choice *choice);

/* row: whose loop it is, NULL when that is not known. */
bool loop_choice__takes(const struct loop_choice *choice, const struct catalogue_row *row,
			uint32_t loop);

/* Does a process map a library whose loop waits in poll or its kin? By the catalogue's rows. */

/* Reads /proc/PID/maps; false also when pid is gone. */
bool pollers__is_one(const struct catalogue *cat, pid_t pid);

#endif
