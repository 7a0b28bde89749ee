/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of the man page, from the tables of commands and options. stdout. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "options/command_table.h"
#include "options/options_table.h"
#include "options/options_text.h"

static const char dots[] = "…";

/* Prints a character as roff; returns the first one after it. "…" becomes "...". */
static const char *print_char(const char *text)
{
	if (*text == '-')
		fputs("\\-", stdout);
	else if (*text == '\\')
		fputs("\\e", stdout);
	else if (*text == '\'')
		fputs("\\(aq", stdout);
	else if (!strncmp(text, dots, strlen(dots))) {
		fputs("...", stdout);
		return text + strlen(dots);
	} else
		putchar(*text);
	return text + 1;
}

/*
 * Prints text as roff: a minus sign and a quote that can be copied, "..." for "…", and no line that
 * starts with a request.
 */
static void print_roff(const char *text)
{
	if (*text == '.')
		fputs("\\&", stdout);
	while (*text)
		text = print_char(text);
}

/* Length of the option at text ("-p", "--json"), or 0. */
static size_t option_len(const char *text)
{
	size_t len = strspn(text, "-"), name = 0;

	while (islower((unsigned char)text[len + name]) || text[len + name] == '-' ||
	       (!name && isupper((unsigned char)text[len])))
		name++;
	return (len == 1 || len == 2) && name ? len + name : 0;
}

/* Like print_roff, for sentences: options are bold. */
static void print_sentences(const char *text)
{
	bool begins = true;

	while (*text) {
		size_t len = begins ? option_len(text) : 0;
		const char *end = text + len;

		if (len)
			fputs("\\fB", stdout);
		begins = *text == ' ' || *text == '(';
		text = print_char(text);
		while (text < end)
			text = print_char(text);
		if (len)
			fputs("\\fR", stdout);
	}
	putchar('\n');
}

static void print_example(const char *is, const char *example)
{
	fputs(".PP\nExample, ", stdout);
	print_roff(is);
	fputs(":\n.PP\n.RS 4\n\\fB", stdout);
	print_roff(example);
	fputs("\\fR\n.RE\n", stdout);
}

/* --- options */

static void print_option_names(const struct option_row *row)
{
	if (row->name && OPTION_IS_SHORT(row))
		printf("\\fB\\-%c\\fR, ", row->key);
	fputs("\\fB\\-\\-", stdout);
	print_roff(row->name ? row->name : "");
	fputs("\\fR", stdout);
	if (row->arg) {
		fputs(" \\fI", stdout);
		print_roff(row->arg);
		fputs("\\fR", stdout);
	}
}

static void print_option(const struct option_row *row)
{
	struct strbuf text = STRBUF_INIT;

	puts(".TP");
	print_option_names(row);
	putchar('\n');
	strbuf__adds(&text, row->help);
	option__add_note(&text, row);
	strbuf__addc(&text, '.');
	print_sentences(strbuf__str(&text));
	strbuf__free(&text);
	if (row->more)
		print_sentences(row->more);
	if (option__is_marked_replay(row))
		puts("Also with \\fBreplay\\fR.");
}

static void print_section(enum section section)
{
	const struct section_info *info = &option_sections[section];

	printf(".SS %s\n", info->title);
	for (size_t i = 0; i < option_row_cnt; i++)
		if (option_rows[i].section == section)
			print_option(&option_rows[i]);
	print_example(info->example_is, info->example);
}

void options__print_man(void)
{
	for (int section = 0; section < SECTION_CNT; section++)
		print_section((enum section)section);
}

/* --- commands */

void options__print_man_synopsis(void)
{
	puts(".nf");
	for (size_t i = 0; i < command_row_cnt; i++)
		for (int k = 0; k < COMMAND_USAGE_MAX && command_rows[i].usage[k]; k++) {
			fputs("\\fBjankbpf\\fR ", stdout);
			print_sentences(command_rows[i].usage[k]);
		}
	puts(".fi");
}

void options__print_man_commands(void)
{
	for (size_t i = 0; i < command_row_cnt; i++) {
		const struct command_row *row = &command_rows[i];

		printf(".TP\n.B %s\n", row->name);
		print_sentences(row->details);
		if (row->more)
			print_sentences(row->more);
		fputs(".br\nExample, ", stdout);
		print_roff(row->example_is);
		fputs(":\n.br\n\\fB", stdout);
		print_roff(row->example);
		puts("\\fR");
	}
}
