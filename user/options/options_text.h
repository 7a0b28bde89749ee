/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of option rows that --help, the man page and the completions share. */
#ifndef JANK_OPTIONS_OPTIONS_TEXT_H
#define JANK_OPTIONS_OPTIONS_TEXT_H

#include "base/strbuf.h"
#include "options/options_table.h"
#include <stdbool.h>

/* Adds " (in s; default 5s)": the unit of a bare number and the default, if any. */
void option__add_note(struct strbuf *sb, const struct option_row *row);

/* True if the command accepts the option. */
/* True if several rows have its name, each for other commands. */
bool option__is_shared(const struct option_row *row);

bool option__is_of(const struct option_row *row, enum command command);

/* True if the general help and the man page mark the option as one of replay. */
bool option__is_marked_replay(const struct option_row *row);

#endif
