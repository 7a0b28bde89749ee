/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of the parser of a command line, for options.c and options_check.c. */
#ifndef JANK_OPTIONS_OPTIONS_PARSE_H
#define JANK_OPTIONS_OPTIONS_PARSE_H

#include "base/nearest.h"
#include "options/options.h"
#include "options/options_table.h"

struct parse {
	struct options *opts;
	struct err *err;
	int code;		     /* our own error, with its message in err; 0: none */
	int next;		     /* index into argv of the first unparsed word */
	bool named;		     /* a command word was seen */
	bool done;		     /* --help and the like: ignore the rest */
	bool given[OPTION_ROWS_MAX]; /* by the rows of the table */
	/* Of several rows with one name, set before the command; NULL: none. */
	const struct option_row *early;
	const char *early_arg;
	bool no_config; /* agent: its file does not exist */
	char meant[64]; /* what a mistyped word probably means; "": not known */
};

/*
 * --- options_refuse.c. Sets the error: the message, cleaned for a terminal, and where to read on.
 * Returns -EINVAL.
 */
int parse__refuse(struct parse *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Refuses the word at which argp stopped. */
void parse__explain(struct parse *p, const char *word);

/* Keeps the nearest word, if any, with `before` before it, for the next refusal. */
void parse__set_meant(struct parse *p, const char *before, const struct nearest *near);

/* The row of a key that the command takes; else any; else NULL. */
const struct option_row *parse__find_key(const struct parse *p, int key);

/*
 * Checks the whole command line after its last word, and completes the options that depend on
 * others. Returns 0, or -EINVAL with a message.
 */
int parse__check(struct parse *p);

/* options_backend.c: the backends of records; their files exist, and keys are closed to others. */
int parse__check_backends(struct parse *p);

/* Also there: who may read the metrics; its files exist, and secrets are closed to others. */
int parse__check_metrics(struct parse *p);

#endif
