/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands, one row each, and the shells' completions, as schema/options.py makes them. Static
 * storage; any thread.
 */
#ifndef JANK_OPTIONS_COMMAND_TABLE_H
#define JANK_OPTIONS_COMMAND_TABLE_H

#include "options/options.h"
#include <stddef.h>

struct command_row {
	enum command command;
	const char *name;
	const char *help; /* of `help COMMAND` */
};

extern const struct command_row command_rows[];
extern const size_t command_row_cnt;
extern const char help_text[]; /* of --help */

struct completion_script {
	const char *shell, *text;
};

extern const struct completion_script completion_scripts[];
extern const size_t completion_script_cnt;

/* NULL: no command has this name. */
const struct command_row *command__named(const char *name);

/* NULL: the command has no word (CMD_SCHEMA, CMD_VERSION). */
const struct command_row *command__row(enum command command);

#endif
