/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the completion scripts of all shells have in common. */
#include "options/completion.h"

#include <string.h>

const char completion_shells[] = "bash|zsh|fish";

/* The name of an argument in the table decides how it completes. */
static const struct {
	const char *arg;
	enum complete complete;
} kinds[] = {
	{ "FILE", COMPLETE_FILE },	   { "DIR", COMPLETE_DIR },
	{ "PID[,PID…]", COMPLETE_PID },	   { "USER", COMPLETE_USER },
	{ "UID|NAME", COMPLETE_USER },	   { "PATH", COMPLETE_CGROUP },
	{ "NAME[,NAME…]", COMPLETE_LOOP }, { "GLOB", COMPLETE_NOTHING },
	{ "HEX", COMPLETE_NOTHING },	   { "HZ", COMPLETE_NOTHING },
	{ "N", COMPLETE_NOTHING },	   { "NAME", COMPLETE_NOTHING },
	{ "SIZE", COMPLETE_NOTHING },	   { "TEXT", COMPLETE_NOTHING },
	{ "TIME", COMPLETE_NOTHING },	   { "SHELL-COMMAND", COMPLETE_NOTHING },
	{ "GLOB|SIG", COMPLETE_NOTHING },  { "ADDRESS", COMPLETE_NOTHING },
	{ "URL", COMPLETE_NOTHING },	   { "PERCENT", COMPLETE_NOTHING },
};

/* "WORD|WORD" in lower case */
static bool is_words(const char *arg)
{
	return strchr(arg, '|') &&
	       strspn(arg, "abcdefghijklmnopqrstuvwxyz0123456789_-|") == strlen(arg);
}

enum complete option__completes(const struct option_row *row)
{
	if (is_words(row->arg))
		return COMPLETE_WORDS;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].arg, row->arg))
			return kinds[i].complete;
	return COMPLETE_UNKNOWN;
}

bool option__takes_list(const struct option_row *row)
{
	return row->set == option__set_words || strchr(row->arg, ',');
}

static void add_between(struct strbuf *sb, const char *between, size_t before)
{
	if (sb->len > before)
		strbuf__adds(sb, between);
}

void option__add_switches(struct strbuf *sb, const struct option_row *row, const char *between)
{
	if (OPTION_IS_SHORT(row))
		strbuf__addf(sb, "-%c%s", row->key, between);
	strbuf__addf(sb, "--%s", row->name);
}

void option__add_commands(struct strbuf *sb, const struct option_row *row, const char *between)
{
	size_t before = sb->len;

	for (size_t i = 0; i < command_row_cnt; i++) {
		if (!(row->commands & (1u << command_rows[i].command)))
			continue;
		add_between(sb, between, before);
		strbuf__adds(sb, command_rows[i].name);
	}
}

void completion__add_argument_switches(struct strbuf *sb, const char *between)
{
	size_t before = sb->len;

	for (size_t i = 0; i < option_row_cnt; i++) {
		if (!option_rows[i].name || !option_rows[i].arg)
			continue;
		add_between(sb, between, before);
		option__add_switches(sb, &option_rows[i], between);
	}
}

void completion__add_commands(struct strbuf *sb, const char *between)
{
	size_t before = sb->len;

	for (size_t i = 0; i < command_row_cnt; i++) {
		add_between(sb, between, before);
		strbuf__adds(sb, command_rows[i].name);
	}
}

void completion__add_escaped(struct strbuf *sb, const char *str, const char *special,
			     const char *escaped)
{
	for (; *str; str++) {
		if (strchr(special, *str))
			strbuf__adds(sb, escaped);
		strbuf__addc(sb, *str);
	}
}

void completion__add_words(struct strbuf *sb, const char *words)
{
	for (; *words; words++)
		strbuf__addc(sb, *words == '|' ? ' ' : *words);
}
