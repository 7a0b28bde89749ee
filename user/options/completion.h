/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completion scripts for shells, from the tables of commands and options. The printers write the
 * whole script to stdout.
 */
#ifndef JANK_OPTIONS_COMPLETION_H
#define JANK_OPTIONS_COMPLETION_H

#include "base/strbuf.h"
#include "options/command_table.h"
#include "options/options_table.h"
#include <stdbool.h>

enum complete {
	COMPLETE_UNKNOWN, /* the argument's name is in no list of completion.c */
	COMPLETE_NOTHING,
	COMPLETE_WORDS, /* those of row->arg, separated by '|' */
	COMPLETE_FILE,
	COMPLETE_DIR,
	COMPLETE_PID,
	COMPLETE_USER,
	COMPLETE_LOOP,
	COMPLETE_CGROUP,
};

/* How the argument of an option completes, by its name in the table. The row has an argument. */
enum complete option__completes(const struct option_row *row);

/* True if the argument is a list with commas. */
bool option__takes_list(const struct option_row *row);

/* Adds the row's switches ("-p", "--pid") with `between` between them. */
void option__add_switches(struct strbuf *sb, const struct option_row *row, const char *between);

/* Adds the names of the commands that accept the option. */
void option__add_commands(struct strbuf *sb, const struct option_row *row, const char *between);

/* Adds the switches of all options with an argument. */
void completion__add_argument_switches(struct strbuf *sb, const char *between);

/* Adds the names of all commands. */
void completion__add_commands(struct strbuf *sb, const char *between);

/* Adds str with `escaped` before each character of `special`. */
void completion__add_escaped(struct strbuf *sb, const char *str, const char *special,
			     const char *escaped);

/* Adds the words of row->arg with spaces between them. */
void completion__add_words(struct strbuf *sb, const char *words);

/* The shells' names, with '|' between them. */
extern const char completion_shells[];

void completion__print_bash(void);
void completion__print_zsh(void);
void completion__print_fish(void);

#endif
