/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An error that is returned upwards: a negative errno as the return value, and one sentence for the
 * user that quotes the object and names the remedy. Library code fills it in; only cli/, session/,
 * options/ and enrich/ print it.
 */
#ifndef JANK_BASE_ERR_H
#define JANK_BASE_ERR_H

/* Exit statuses, part of the user interface. */
#define JANK_EXIT_OK	 0
#define JANK_EXIT_FAILED 1
#define JANK_EXIT_USAGE	 2
#define JANK_EXIT_CANNOT 77 /* this kernel or user cannot run it */

struct err {
	int exit; /* JANK_EXIT_*: exit status of the program; JANK_EXIT_FAILED unless set */
	char msg[480];
};

/* Formats the message, sets exit to JANK_EXIT_FAILED, and returns -code. err may be NULL. */
int err__set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Like err__set, with another exit status. */
int err__set_exit(struct err *err, int exit, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
