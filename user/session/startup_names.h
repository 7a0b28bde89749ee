/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of programs that end without a loop: compilers, shells. Their start-ups are not watched
 * any more, so that a build costs nothing.
 */
#ifndef JANK_SESSION_STARTUP_NAMES_H
#define JANK_SESSION_STARTUP_NAMES_H

#include <stdbool.h>

struct startup_names;

struct startup_names *startup_names__new(void);	       /* NULL: out of memory */
void startup_names__free(struct startup_names *names); /* accepts NULL */

/* A program of that name has reached its loop, or has ended without. name: JANK_COMM_SZ bytes. */
void startup_names__add(struct startup_names *names, const char *name, bool looped);

/* Have three of that name ended without a loop, and none reached one? */
bool startup_names__skips(const struct startup_names *names, const char *name);

#endif
