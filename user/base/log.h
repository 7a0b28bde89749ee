/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages for the person at the terminal: stderr, one line each, prefixed "jankbpf: ". Only app/
 * and the two threads' top loops call it; everything below returns a struct err.
 */
#ifndef JANK_BASE_LOG_H
#define JANK_BASE_LOG_H

enum log_level { LOG_QUIET = -1, LOG_NORMAL = 0, LOG_VERBOSE = 1, LOG_DEBUG = 2 };

void log__set_level(int level); /* from -v and -q; any int, clamped */
int log__level(void);

/* Printed at every level (error), unless -q (warn, info), with -v (verbose), with -vv (debug).
 * Control bytes in the text are escaped; a status line in place is erased first. Thread-safe. */
void log__error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log__warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log__info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log__verbose(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log__debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The live status line: redrawn in place on a terminal's stderr, cut to its width; NULL erases it.
 * Nothing happens when stderr is no terminal or with -q. */
void log__status(const char *line);

#endif
