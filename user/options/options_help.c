/* SPDX-License-Identifier: GPL-2.0 */
/* --help and the man page's OPTIONS, both from the table. */
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "options/options_table.h"

#define HELP_COLUMN 29

static const char usage[] =
	"Usage: jankbpf [trace] [OPTIONS] -p PID[,PID…]\n"
	"       jankbpf [trace] [OPTIONS] -- COMMAND [ARG…]\n"
	"       jankbpf [trace] [OPTIONS] -a\n"
	"       jankbpf replay [OPTIONS] FILE\n"
	"       jankbpf symbolize [--debug-dir DIR]… FILE…\n"
	"       jankbpf loops [-p PID | -a]\n"
	"       jankbpf doctor\n"
	"\n"
	"Times each dispatch of a program's event loops and shows those that took too long: where "
	"the\n"
	"time went, with what stacks, and what the machine did meanwhile.\n"
	"\n"
	"  trace    the default: trace processes, or start one and trace it\n"
	"  replay   judge a journal again, with another threshold or output; needs no privilege\n"
	"  loops    the kinds of loop that are known, or the loops found in running processes\n"
	"  symbolize\n"
	"           name what records lack names for, by build id, from DIRs and /usr/lib/debug\n"
	"  doctor   what this kernel and this user can do, with remedies\n";

static const char footer[] =
	"\nTIME is a number with us, ms, s, m or h; a bare number has the unit named beside the "
	"option.\n"
	"replay takes those marked *. Exit status: 0 done, 1 failed, 2 wrong usage, 77 this kernel "
	"or\n"
	"user cannot; with -- COMMAND, COMMAND's own.\n";

/* Characters, not bytes: "…" is one. */
static size_t columns(const char *str)
{
	size_t n = 0;

	for (; *str; str++)
		n += (*str & 0xc0) != 0x80;
	return n;
}

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

/* Of a bare number; NULL: the option takes no time. */
static const char *bare_unit(const struct option_row *row)
{
	if (row->set == option__set_time)
		return "ms";
	return row->set == option__set_long_time ? "s" : NULL;
}

/* " (in s; default 5s)": the unit of a bare number and the default, of which either may be missing */
static void add_note(struct strbuf *sb, const struct option_row *row)
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

static void print_row(const struct option_row *row)
{
	struct strbuf names = STRBUF_INIT; /* then the text */
	int pad;

	add_names(&names, row);
	pad = HELP_COLUMN - (int)columns(strbuf__str(&names));
	printf(" %c%s",
	       row->section < SECTION_OTHER && (row->commands & (1u << CMD_REPLAY)) ? '*' : ' ',
	       strbuf__str(&names));
	/* Names that are too long for their column have a line of their own. */
	if (pad < 1)
		printf("\n%*s", HELP_COLUMN + 2, "");
	else
		printf("%*s", pad, "");
	strbuf__reset(&names);
	strbuf__adds(&names, row->help);
	add_note(&names, row);
	puts(strbuf__str(&names));
	strbuf__free(&names);
}

void options__print_help(void)
{
	fputs(usage, stdout);
	for (int section = 0; section < SECTION_CNT; section++) {
		printf("\n%s\n", option_sections[section].title);
		for (size_t i = 0; i < option_row_cnt; i++)
			if (option_rows[i].section == (enum section)section)
				print_row(&option_rows[i]);
		printf("    e.g. %s\n", option_sections[section].example);
	}
	fputs(footer, stdout);
}

void options__print_version(void)
{
	puts("jankbpf " JANK_VERSION);
}

/* --- the man page */

/* Text in roff: a minus that can be copied, no "…", and no line that begins with a request. */
static void print_roff(const char *text)
{
	static const char dots[] = "…";

	if (*text == '.' || *text == '\'')
		fputs("\\&", stdout);
	for (; *text; text++) {
		if (*text == '-')
			fputs("\\-", stdout);
		else if (*text == '\\')
			fputs("\\e", stdout);
		else if (!strncmp(text, dots, strlen(dots))) {
			fputs("...", stdout);
			text += strlen(dots) - 1;
		} else
			putchar(*text);
	}
}

static void print_man_names(const struct option_row *row)
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

static void print_man_row(const struct option_row *row)
{
	struct strbuf text = STRBUF_INIT;

	puts(".TP");
	print_man_names(row);
	putchar('\n');
	strbuf__adds(&text, row->help);
	add_note(&text, row);
	print_roff(strbuf__str(&text));
	strbuf__free(&text);
	puts(".");
	if (row->more) {
		print_roff(row->more);
		putchar('\n');
	}
	if (row->section < SECTION_OTHER && (row->commands & (1u << CMD_REPLAY)))
		puts("Also with \\fBreplay\\fR.");
}

static void print_man_section(enum section section)
{
	const struct section_info *info = &option_sections[section];

	printf(".SS %s\n", info->title);
	for (size_t i = 0; i < option_row_cnt; i++)
		if (option_rows[i].section == section)
			print_man_row(&option_rows[i]);
	fputs(".PP\nExample, ", stdout);
	print_roff(info->example_is);
	fputs(":\n.PP\n.RS 4\n\\fB", stdout);
	print_roff(info->example);
	fputs("\\fR\n.RE\n", stdout);
}

void options__print_man(void)
{
	for (int section = 0; section < SECTION_CNT; section++)
		print_man_section(section);
}
