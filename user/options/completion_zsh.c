/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The completion script for zsh: a function for compsys. */
#include <stdio.h>
#include <string.h>

#include "options/completion.h"

static const char head[] =
	"#compdef jankbpf\n"
	"# zsh completion of jankbpf, from its tables of commands and options.\n"
	"# Install it as share/zsh/site-functions/_jankbpf, or: source <(jankbpf completion zsh)\n"
	"\n"
	"_jankbpf_pids() {\n"
	"\tlocal -a pids\n"
	"\tlocal dir\n"
	"\tfor dir in /proc/<->(N/); do\n"
	"\t\tpids+=(\"${dir:t}:$(<$dir/comm)\")\n"
	"\tdone 2>/dev/null\n"
	"\tcompset -P '*,'\n"
	"\t_describe -t processes process pids\n"
	"}\n"
	"\n"
	"_jankbpf_loops() {\n"
	"\tlocal expl\n"
	"\tlocal -aU loops\n"
	"\tloops=(${${${(f)\"$($words[1] loops 2>/dev/null)\"}[2,-1]}%% *})\n"
	"\tcompset -P '*,'\n"
	"\t_wanted loops expl loop compadd -a loops\n"
	"}\n"
	"\n"
	"# WORD...: in a list with commas\n"
	"_jankbpf_list() {\n"
	"\tlocal expl\n"
	"\tlocal -a list=(${@[(r)--,-1][2,-1]})\n"
	"\tcompset -P '*,'\n"
	"\t_wanted words expl word compadd -a list\n"
	"}\n"
	"\n";

static const char scan[] = "_jankbpf() {\n"
			   "\tlocal curcontext=$curcontext command=trace\n"
			   "\tlocal -a options operands\n"
			   "\tlocal -i i at=0\n"
			   "\tfor (( i = 2; i < CURRENT; i++ )); do\n"
			   "\t\tcase $words[i] in\n"
			   "\t\t(--)\n"
			   "\t\t\tshift $i words\n"
			   "\t\t\t(( CURRENT -= i ))\n"
			   "\t\t\t_normal\n"
			   "\t\t\treturn ;;\n"
			   "\t\t(%s) (( i++ )) ;;\n"
			   "\t\t(%s)\n"
			   "\t\t\tif (( ! at )); then\n"
			   "\t\t\t\tat=i\n"
			   "\t\t\t\tcommand=$words[i]\n"
			   "\t\t\tfi ;;\n"
			   "\t\tesac\n"
			   "\tdone\n";

static const char tail[] =
	"\tif (( at )); then\n"
	"\t\twords[at]=()\n"
	"\t\t(( CURRENT-- ))\n"
	"\telse\n"
	"\t\toperands=('1:command:_jankbpf_commands')\n"
	"\tfi\n"
	"\t_arguments -s -S $options $operands\n"
	"}\n"
	"\n"
	"# As an autoloaded function it is called; a sourced script only defines it.\n"
	"if [[ $funcstack[1] == _jankbpf ]]; then\n"
	"\t_jankbpf \"$@\"\n"
	"else\n"
	"\tcompdef _jankbpf jankbpf\n"
	"fi\n";

/* Text within single quotes. */
static void add_quoted(struct strbuf *sb, const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'') {
			strbuf__adds(sb, "'\\''");
			continue;
		}
		if (strchr(special, *text))
			strbuf__addc(sb, '\\');
		strbuf__addc(sb, *text);
	}
}

static void add_action(struct strbuf *sb, const struct option_row *row)
{
	static const char *const actions[] = {
		[COMPLETE_UNKNOWN] = " ",
		[COMPLETE_NOTHING] = " ",
		[COMPLETE_FILE] = "_files",
		[COMPLETE_DIR] = "_files -/",
		[COMPLETE_PID] = "_jankbpf_pids",
		[COMPLETE_USER] = "_users",
		[COMPLETE_LOOP] = "_jankbpf_loops",
		[COMPLETE_CGROUP] = "_files -W /sys/fs/cgroup -/",
		[COMPLETE_WORDS] = "",
	};
	enum complete complete = option__completes(row);

	strbuf__addc(sb, ':');
	add_quoted(sb, row->arg, ":");
	strbuf__addc(sb, ':');
	if (complete != COMPLETE_WORDS) {
		strbuf__adds(sb, actions[complete]);
		return;
	}
	strbuf__adds(sb, option__takes_list(row) ? "_jankbpf_list -- " : "(");
	completion__add_words(sb, row->arg);
	if (!option__takes_list(row))
		strbuf__addc(sb, ')');
}

/* A spec of _arguments for one of the row's switches. */
static void add_spec(struct strbuf *sb, const struct option_row *row, const char *name,
		     const char *joined)
{
	strbuf__addc(sb, '\'');
	if (strstr(row->help, "(repeatable)")) {
		strbuf__addc(sb, '*');
	} else {
		strbuf__addc(sb, '(');
		option__add_switches(sb, row, " ");
		strbuf__addc(sb, ')');
	}
	strbuf__addf(sb, "%s%s[", name, row->arg ? joined : "");
	add_quoted(sb, row->help, "[]:");
	strbuf__addc(sb, ']');
	if (row->arg)
		add_action(sb, row);
	strbuf__addc(sb, '\'');
}

static void print_option(const struct option_row *row)
{
	struct strbuf sb = STRBUF_INIT;
	char name[32];

	strbuf__adds(&sb, "\t[[ $command == (");
	option__add_commands(&sb, row, "|");
	strbuf__adds(&sb, ") ]] && options+=(\n");
	if (OPTION_IS_SHORT(row)) {
		snprintf(name, sizeof(name), "-%c", row->key);
		strbuf__adds(&sb, "\t\t");
		add_spec(&sb, row, name, "+");
		strbuf__addc(&sb, '\n');
	}
	snprintf(name, sizeof(name), "--%s", row->name);
	strbuf__adds(&sb, "\t\t");
	add_spec(&sb, row, name, "=");
	printf("%s)\n", strbuf__str(&sb));
	strbuf__free(&sb);
}

static void print_commands(void)
{
	puts("_jankbpf_commands() {\n\tlocal -a commands=(");
	for (size_t i = 0; i < command_row_cnt; i++) {
		struct strbuf sb = STRBUF_INIT;

		add_quoted(&sb, command_rows[i].summary, ":");
		printf("\t\t'%s:%s'\n", command_rows[i].name, strbuf__str(&sb));
		strbuf__free(&sb);
	}
	puts("\t)\n\t_describe -t commands command commands\n}\n");
}

static void print_operands(void)
{
	struct strbuf shells = STRBUF_INIT;

	completion__add_words(&shells, completion_shells);
	puts("\tcase $command in");
	for (size_t i = 0; i < command_row_cnt; i++) {
		const struct command_row *row = &command_rows[i];

		if (row->operand == OPERAND_FILES)
			printf("\t(%s) operands=('*:file:_files') ;;\n", row->name);
		else if (row->operand == OPERAND_COMMAND)
			printf("\t(%s) operands=('1:command:_jankbpf_commands') ;;\n", row->name);
		else if (row->operand == OPERAND_SHELL)
			printf("\t(%s) operands=('1:shell:(%s)') ;;\n", row->name,
			       strbuf__str(&shells));
	}
	puts("\tesac");
	strbuf__free(&shells);
}

void completion__print_zsh(void)
{
	struct strbuf switches = STRBUF_INIT, commands = STRBUF_INIT;

	completion__add_argument_switches(&switches, "|");
	completion__add_commands(&commands, "|");
	fputs(head, stdout);
	print_commands();
	printf(scan, strbuf__str(&switches), strbuf__str(&commands));
	for (size_t i = 0; i < option_row_cnt; i++)
		if (option_rows[i].name)
			print_option(&option_rows[i]);
	print_operands();
	fputs(tail, stdout);
	strbuf__free(&switches);
	strbuf__free(&commands);
}
