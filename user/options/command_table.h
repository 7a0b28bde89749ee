/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Table of commands, one row each: the parser, --help, `help COMMAND`, the man page and the
 * completions iterate over it. Static storage; any thread.
 */
#ifndef JANK_OPTIONS_COMMAND_TABLE_H
#define JANK_OPTIONS_COMMAND_TABLE_H

#include "options/options.h"
#include <stddef.h>

#define COMMAND_USAGE_MAX 3

/* What the words of a command are that are not options; for completions. */
enum operand { OPERAND_NONE, OPERAND_FILES, OPERAND_COMMAND, OPERAND_SHELL };

struct command_row {
	enum command command;
	const char *name;
	const char *usage[COMMAND_USAGE_MAX]; /* after "jankbpf "; NULL: no more */
	const char *summary;		      /* part of a sentence, for lists */
	const char *details;		      /* two or three sentences */
	const char *more;		      /* further sentences for the man page; NULL: none */
	const char *example, *example_is;     /* a command line, and its effect */
	enum operand operand;
};

extern const struct command_row command_rows[];
extern const size_t command_row_cnt;

/* NULL: no command has this name. */
const struct command_row *command__named(const char *name);

/* NULL: the command has no word (CMD_SCHEMA, CMD_VERSION). */
const struct command_row *command__row(enum command command);

#endif
