/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The completion script for fish 3 or later. */
#include <stdio.h>
#include <string.h>

#include "options/completion.h"

static const char head[] =
	"# fish completion of jankbpf, from its tables of commands and options.\n"
	"# Install it as share/fish/vendor_completions.d/jankbpf.fish, or: jankbpf completion fish "
	"| source\n"
	"\n"
	"# Prints the command on the line; none: not yet given; program: the cursor is after --\n"
	"function __jankbpf_command\n"
	"    set -l command none\n"
	"    set -l skip 0\n"
	"    for word in (commandline -opc)[2..-1]\n"
	"        if test $skip = 1\n"
	"            set skip 0\n"
	"            continue\n"
	"        end\n"
	"        switch $word\n"
	"            case --\n"
	"                set command program\n"
	"                break\n"
	"            case %s\n"
	"                set skip 1\n"
	"            case %s\n"
	"                test $command = none; and set command $word\n"
	"        end\n"
	"    end\n"
	"    echo $command\n"
	"end\n";

static const char helpers[] =
	"\n"
	"function __jankbpf_is\n"
	"    contains -- (__jankbpf_command) $argv\n"
	"end\n"
	"\n"
	"# The current word without the name of its option\n"
	"function __jankbpf_value\n"
	"    string replace -r '^--[^=]*=' '' -- (commandline -ct)\n"
	"end\n"
	"\n"
	"# ITEM...: each after what precedes the last comma\n"
	"function __jankbpf_list\n"
	"    set -l before (string match -r '.*,' -- (__jankbpf_value))\n"
	"    for item in $argv\n"
	"        echo \"$before$item\"\n"
	"    end\n"
	"end\n"
	"\n"
	"function __jankbpf_loops\n"
	"    set -l program (commandline -opc)[1]\n"
	"    $program loops 2>/dev/null | string match -rv '^LOOP ' | string replace -r ' .*' '' | "
	"sort -u\n"
	"end\n"
	"\n"
	"function __jankbpf_pids\n"
	"    for pid in (string match -r '[0-9]+' -- /proc/*/comm)\n"
	"        set -l name (cat /proc/$pid/comm 2>/dev/null)\n"
	"        and printf '%s\\t%s\\n' $pid \"$name\"\n"
	"    end\n"
	"end\n"
	"\n"
	"function __jankbpf_cgroups\n"
	"    string replace /sys/fs/cgroup/ '' -- /sys/fs/cgroup/(__jankbpf_value)*/\n"
	"end\n"
	"\n"
	"# Completes the program and its arguments after --\n"
	"function __jankbpf_program\n"
	"    set -l words (commandline -opc)\n"
	"    set -l at (contains -i -- -- $words)\n"
	"    set -l rest (string escape -- $words[(math $at + 1)..-1]) (commandline -ct)\n"
	"    complete -C (string join ' ' -- $rest)\n"
	"end\n"
	"\n"
	"complete -c jankbpf -f\n"
	"complete -c jankbpf -n '__jankbpf_is program' -a '(__jankbpf_program)'\n";

/* Text within single quotes. */
static void add_quoted(struct strbuf *sb, const char *text)
{
	strbuf__addc(sb, '\'');
	completion__add_escaped(sb, text, "'\\", "\\");
	strbuf__addc(sb, '\'');
}

static void add_argument(struct strbuf *sb, const struct option_row *row)
{
	static const char *const calls[] = {
		[COMPLETE_UNKNOWN] = "-x",
		[COMPLETE_NOTHING] = "-x",
		[COMPLETE_WORDS] = "",
		[COMPLETE_FILE] = "-r -F",
		[COMPLETE_DIR] = "-x -a '(__fish_complete_directories (__jankbpf_value))'",
		[COMPLETE_PID] = "-x -a '(__jankbpf_list (__jankbpf_pids))'",
		[COMPLETE_USER] = "-x -a '(__fish_complete_users)'",
		[COMPLETE_LOOP] = "-x -a '(__jankbpf_list (__jankbpf_loops))'",
		[COMPLETE_CGROUP] = "-x -a '(__jankbpf_cgroups)'",
	};
	enum complete complete = option__completes(row);

	if (complete != COMPLETE_WORDS) {
		strbuf__addf(sb, " %s", calls[complete]);
		return;
	}
	strbuf__addf(sb, " -x -a '%s", option__takes_list(row) ? "(__jankbpf_list " : "");
	completion__add_words(sb, row->arg);
	strbuf__addf(sb, "%s'", option__takes_list(row) ? ")" : "");
}

static void print_option(const struct option_row *row)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf__addf(&sb, "complete -c jankbpf -n '__jankbpf_is %s",
		     row->commands & (1u << CMD_TRACE) ? "none " : "");
	option__add_commands(&sb, row, " ");
	strbuf__adds(&sb, "'");
	if (OPTION_IS_SHORT(row))
		strbuf__addf(&sb, " -s %c", row->key);
	strbuf__addf(&sb, " -l %s", row->name);
	if (row->arg)
		add_argument(&sb, row);
	strbuf__adds(&sb, " -d ");
	add_quoted(&sb, row->help);
	puts(strbuf__str(&sb));
	strbuf__free(&sb);
}

static void print_command(const struct command_row *row)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf__addf(&sb, "complete -c jankbpf -n '__jankbpf_is none' -a %s -d ", row->name);
	add_quoted(&sb, row->summary);
	strbuf__addc(&sb, '\n');
	if (row->operand == OPERAND_FILES) {
		strbuf__addf(&sb, "complete -c jankbpf -n '__jankbpf_is %s' -F\n", row->name);
	} else if (row->operand != OPERAND_NONE) {
		strbuf__addf(&sb, "complete -c jankbpf -n '__jankbpf_is %s' -a '", row->name);
		if (row->operand == OPERAND_COMMAND)
			completion__add_commands(&sb, " ");
		else
			completion__add_words(&sb, completion_shells);
		strbuf__adds(&sb, "'\n");
	}
	fputs(strbuf__str(&sb), stdout);
	strbuf__free(&sb);
}

void completion__print_fish(void)
{
	struct strbuf switches = STRBUF_INIT, commands = STRBUF_INIT;

	completion__add_argument_switches(&switches, " ");
	completion__add_commands(&commands, " ");
	printf(head, strbuf__str(&switches), strbuf__str(&commands));
	fputs(helpers, stdout);
	for (size_t i = 0; i < command_row_cnt; i++)
		print_command(&command_rows[i]);
	for (size_t i = 0; i < option_row_cnt; i++)
		if (option_rows[i].name)
			print_option(&option_rows[i]);
	strbuf__free(&switches);
	strbuf__free(&commands);
}
