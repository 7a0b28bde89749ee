/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of option rows that --help, the man page and the completions share. */
#include "options/options_text.h"

/* Unit of a bare number; NULL: the option takes no time. */
static const char *bare_unit(const struct option_row *row)
{
	if (row->set == option__set_time)
		return "ms";
	return row->set == option__set_long_time ? "s" : NULL;
}

void option__add_note(struct strbuf *sb, const struct option_row *row)
{
	const char *unit = bare_unit(row);

	if (!unit && !row->def)
		return;
	strbuf__adds(sb, " (");
	if (unit)
		strbuf__addf(sb, "in %s", unit);
	if (row->def)
		strbuf__addf(sb, "%sdefault %s", unit ? "; " : "", row->def);
	strbuf__adds(sb, ")");
}

bool option__is_shared(const struct option_row *row)
{
	for (size_t i = 0; i < option_row_cnt; i++)
		if (&option_rows[i] != row && option_rows[i].key == row->key)
			return true;
	return false;
}

bool option__is_of(const struct option_row *row, enum command command)
{
	return row->commands & (1u << command);
}

bool option__is_marked_replay(const struct option_row *row)
{
	return row->section < SECTION_OTHER && option__is_of(row, CMD_REPLAY);
}
