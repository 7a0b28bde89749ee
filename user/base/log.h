/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages for the user at the terminal: one line each on stderr, with the prefix "jankbpf: ". Only
 * cli/, session/, options/ and enrich/ call it; other code returns a struct err.
 */
#ifndef JANK_BASE_LOG_H
#define JANK_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_QUIET = -1, LOG_NORMAL = 0, LOG_VERBOSE = 1, LOG_DEBUG = 2 };

void log__set_level(int level); /* from -v and -q; any int, clamped */
int log__level(void);

/*
 * Print at every level (error), unless -q (warn, info), with -v (verbose), with -vv (debug).
 * Control bytes are escaped; the status line is erased first. Thread-safe.
 */
void log__error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log__warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log__info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log__verbose(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log__debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * While held, lines are kept, because the terminal shows something else; then they are printed. At
 * most LOG_HELD_MAX bytes; further ones are counted.
 */
#define LOG_HELD_MAX (64 << 10)
void log__hold(bool on);

/*
 * Draws the live status line in place, cut to the terminal's width; NULL erases it. Does nothing
 * when stderr is not a terminal, or with -q.
 */
void log__status(const char *line);

#endif
