/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --help, `help COMMAND` and `completion SHELL`, from the tables of commands and options. stdout.
 */
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "options/command_table.h"
#include "options/completion.h"
#include "options/options_table.h"
#include "options/options_text.h"

#define HELP_COLUMN 29
#define NAME_COLUMN 12 /* of the list of commands */
#define COLUMNS	    90 /* of wrapped text */
#define ANY_COMMAND (-1)

static const char intro[] = "Times each dispatch of a program's event loops and shows those that "
			    "took too long: where the time went, with what stacks, and what the "
			    "machine did meanwhile.";

static const char time_note[] = "TIME is a number with us, ms, s, m or h; a bare number has the "
				"unit named beside the option.";

static const char footer[] =
	"`jankbpf help COMMAND` shows one command; those marked * go with replay, too. Exit "
	"status: 0 done, 1 failed, 2 wrong usage, 77 this kernel or user cannot; with -- COMMAND, "
	"COMMAND's own.";

/* Prints text in lines of at most COLUMNS columns. */
static void print_wrapped(const char *text)
{
	size_t column = 0;

	while (*text) {
		int len = (int)strcspn(text, " ");
		struct strbuf word = STRBUF_INIT;
		size_t width;

		strbuf__addf(&word, "%.*s", len, text);
		width = cells__width(strbuf__str(&word));
		if (column && column + 1 + width > COLUMNS) {
			putchar('\n');
			column = 0;
		}
		printf("%s%s", column ? " " : "", strbuf__str(&word));
		column += width + (column ? 1 : 0);
		strbuf__free(&word);
		text += len;
		text += strspn(text, " ");
	}
	putchar('\n');
}

/* --- options */

static void add_names(struct strbuf *sb, const struct option_row *row)
{
	if (!row->name) {
		strbuf__addf(sb, "-- %s", row->arg);
		return;
	}
	if (OPTION_IS_SHORT(row))
		strbuf__addf(sb, "-%c, --%s", row->key, row->name);
	else
		strbuf__addf(sb, "    --%s", row->name);
	if (row->arg)
		strbuf__addf(sb, " %s", row->arg);
}

static void print_option(const struct option_row *row, bool marked)
{
	struct strbuf names = STRBUF_INIT; /* then the help text */
	int pad;

	add_names(&names, row);
	pad = HELP_COLUMN - (int)cells__width(strbuf__str(&names));
	printf(" %c%s", marked ? '*' : ' ', strbuf__str(&names));
	/* Names that are too long for the column get a line of their own. */
	if (pad < 1)
		printf("\n%*s", HELP_COLUMN + 2, "");
	else
		printf("%*s", pad, "");
	strbuf__reset(&names);
	strbuf__adds(&names, row->help);
	option__add_note(&names, row);
	puts(strbuf__str(&names));
	strbuf__free(&names);
}

/* Prints the options of a section that the command takes; true if there are any. */
static bool print_section(enum section section, int command)
{
	bool any = false;

	for (size_t i = 0; i < option_row_cnt; i++) {
		const struct option_row *row = &option_rows[i];

		if (row->section != section ||
		    (command != ANY_COMMAND && !option__is_of(row, (enum command)command)))
			continue;
		if (!any)
			printf("\n%s\n", option_sections[section].title);
		any = true;
		print_option(row, command == ANY_COMMAND && option__is_marked_replay(row));
	}
	return any;
}

/* --- commands */

/* Prints the usage; returns the word before the next usage line. */
static const char *print_usage(const struct command_row *row, const char *before)
{
	for (int i = 0; i < COMMAND_USAGE_MAX && row->usage[i]; i++) {
		printf("%s jankbpf %s\n", before, row->usage[i]);
		before = "      ";
	}
	return before;
}

static void print_all(void)
{
	const char *before = "Usage:";

	for (size_t i = 0; i < command_row_cnt; i++)
		before = print_usage(&command_rows[i], before);
	putchar('\n');
	print_wrapped(intro);
	putchar('\n');
	for (size_t i = 0; i < command_row_cnt; i++)
		printf("  %-*s%s\n", NAME_COLUMN, command_rows[i].name, command_rows[i].summary);
	for (int section = 0; section < SECTION_CNT; section++) {
		print_section((enum section)section, ANY_COMMAND);
		printf("    e.g. %s\n", option_sections[section].example);
	}
	putchar('\n');
	print_wrapped(time_note);
	print_wrapped(footer);
}

static bool takes_time(enum command command)
{
	for (size_t i = 0; i < option_row_cnt; i++)
		if (option_rows[i].arg && !strcmp(option_rows[i].arg, "TIME") &&
		    option__is_of(&option_rows[i], command))
			return true;
	return false;
}

static void print_command(const struct command_row *row)
{
	print_usage(row, "Usage:");
	putchar('\n');
	print_wrapped(row->details);
	for (int section = 0; section < SECTION_CNT; section++)
		print_section((enum section)section, (int)row->command);
	if (takes_time(row->command)) {
		putchar('\n');
		print_wrapped(time_note);
	}
	printf("\nExample: %s\n  %s\n", row->example_is, row->example);
}

void options__print_help(const char *topic)
{
	const struct command_row *row = topic ? command__named(topic) : NULL;

	if (row)
		print_command(row);
	else
		print_all();
}

void options__print_version(void)
{
	puts("jankbpf " JANK_VERSION);
}

bool options__print_completion(const char *shell)
{
	if (!strcmp(shell, "bash"))
		completion__print_bash();
	else if (!strcmp(shell, "zsh"))
		completion__print_zsh();
	else if (!strcmp(shell, "fish"))
		completion__print_fish();
	else
		return false;
	return true;
}
