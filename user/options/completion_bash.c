/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The completion script for bash 4 or later. It needs no bash-completion, but uses its
 * _command_offset for the words after --.
 */
#include <stdio.h>

#include "options/completion.h"
#include "options/options_text.h"

static const char head[] =
	"# bash completion of jankbpf, from its tables of commands and options.\n"
	"# Install it as share/bash-completion/completions/jankbpf, or: source <(jankbpf "
	"completion bash)\n"
	"\n"
	"# WORDS: those that begin with the current word\n"
	"_jankbpf_words() {\n"
	"\tmapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$1\" -- \"$cur\")\n"
	"}\n"
	"\n"
	"# WORDS: the same for the part after the last comma\n"
	"_jankbpf_list() {\n"
	"\tif [[ $cur == *,* ]]; then\n"
	"\t\tbefore+=${cur%,*},\n"
	"\t\tcur=${cur##*,}\n"
	"\tfi\n"
	"\t_jankbpf_words \"$1\"\n"
	"}\n"
	"\n"
	"# -f or -d: files or directories\n"
	"_jankbpf_paths() {\n"
	"\tcompopt -o filenames 2>/dev/null\n"
	"\tmapfile -t COMPREPLY < <(compgen \"$1\" -P \"$before\" -- \"$cur\")\n"
	"}\n"
	"\n"
	"_jankbpf_users() {\n"
	"\tmapfile -t COMPREPLY < <(compgen -P \"$before\" -u -- \"$cur\")\n"
	"}\n"
	"\n"
	"_jankbpf_cgroups() {\n"
	"\tcompopt -o filenames 2>/dev/null\n"
	"\tmapfile -t COMPREPLY < <(cd /sys/fs/cgroup 2>/dev/null && compgen -d -P \"$before\" -- "
	"\"$cur\")\n"
	"}\n"
	"\n"
	"_jankbpf_loops() {\n"
	"\tlocal name about\n"
	"\t\"${COMP_WORDS[0]}\" loops 2>/dev/null | while read -r name about; do\n"
	"\t\t[[ $name == LOOP ]] || echo \"$name\"\n"
	"\tdone\n"
	"}\n"
	"\n"
	"_jankbpf_pids() {\n"
	"\tcd /proc && echo [0-9]*\n"
	"}\n"
	"\n"
	"# INDEX: the words from there on are a program and its arguments\n"
	"_jankbpf_program() {\n"
	"\tlocal before= cur=${COMP_WORDS[COMP_CWORD]}\n"
	"\tif declare -F _comp_command_offset >/dev/null; then\n"
	"\t\t_comp_command_offset \"$1\"\n"
	"\telif declare -F _command_offset >/dev/null; then\n"
	"\t\t_command_offset \"$1\"\n"
	"\telif ((COMP_CWORD == $1)); then\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
	"\telse\n"
	"\t\t_jankbpf_paths -f\n"
	"\tfi\n"
	"}\n";

static const char scan[] = "_jankbpf() {\n"
			   "\tlocal cur=${COMP_WORDS[COMP_CWORD]} before= command= option= i\n"
			   "\tCOMPREPLY=()\n"
			   "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
			   "\t\tcase ${COMP_WORDS[i]} in\n"
			   "\t\t--)\n"
			   "\t\t\t_jankbpf_program $((i + 1))\n"
			   "\t\t\treturn ;;\n"
			   "\t\t%s)\n"
			   "\t\t\toption=${COMP_WORDS[i]}\n"
			   "\t\t\t[[ ${COMP_WORDS[i + 1]} != = ]] || ((i++))\n"
			   "\t\t\t((++i >= COMP_CWORD)) || option= ;;\n"
			   "\t\t%s)\n"
			   "\t\t\t[[ $command ]] || command=${COMP_WORDS[i]} ;;\n"
			   "\t\tesac\n"
			   "\tdone\n"
			   "\t[[ $cur != = ]] || cur=\n"
			   "\tif [[ $cur == --*=* ]]; then # where COMP_WORDBREAKS has no =\n"
			   "\t\toption=${cur%%%%=*}\n"
			   "\t\tbefore=$option=\n"
			   "\t\tcur=${cur#*=}\n"
			   "\tfi\n"
			   "\tif [[ $option ]]; then\n"
			   "\t\t_jankbpf_argument \"${command:-trace}\" \"$option\"\n"
			   "\telif [[ $cur == -* ]]; then\n"
			   "\t\t_jankbpf_words \"$(_jankbpf_options \"${command:-trace}\")\"\n"
			   "\telse\n"
			   "\t\t_jankbpf_operand \"$command\"\n"
			   "\tfi\n"
			   "}\n"
			   "\n"
			   "complete -F _jankbpf jankbpf\n";

/* What an argument of that kind calls. NULL: nothing completes. */
static const char *call_of(enum complete complete)
{
	switch (complete) {
	case COMPLETE_FILE:
		return "_jankbpf_paths -f";
	case COMPLETE_DIR:
		return "_jankbpf_paths -d";
	case COMPLETE_PID:
		return "_jankbpf_list \"$(_jankbpf_pids)\"";
	case COMPLETE_USER:
		return "_jankbpf_users";
	case COMPLETE_LOOP:
		return "_jankbpf_list \"$(_jankbpf_loops)\"";
	case COMPLETE_CGROUP:
		return "_jankbpf_cgroups";
	default:
		return NULL;
	}
}

static void print_argument(const struct option_row *row)
{
	enum complete complete = option__completes(row);
	struct strbuf sb = STRBUF_INIT;
	char between[32];

	strbuf__adds(&sb, "\t");
	if (option__is_shared(row)) {
		snprintf(between, sizeof(between), ":--%s|", row->name);
		option__add_commands(&sb, row, between);
		strbuf__addf(&sb, ":--%s", row->name);
	} else {
		strbuf__adds(&sb, "*:");
		option__add_switches(&sb, row, "|*:");
	}
	strbuf__adds(&sb, ") ");
	if (complete == COMPLETE_WORDS) {
		strbuf__adds(&sb, option__takes_list(row) ? "_jankbpf_list '" : "_jankbpf_words '");
		completion__add_words(&sb, row->arg);
		strbuf__adds(&sb, "'");
	} else if (call_of(complete)) {
		strbuf__adds(&sb, call_of(complete));
	} else {
		strbuf__free(&sb);
		return;
	}
	printf("%s ;;\n", strbuf__str(&sb));
	strbuf__free(&sb);
}

static void print_arguments(void)
{
	puts("\n# COMMAND OPTION: completes its argument\n_jankbpf_argument() {\n\tcase $1:$2 in");
	for (size_t i = 0; i < option_row_cnt; i++)
		if (option_rows[i].name && option_rows[i].arg)
			print_argument(&option_rows[i]);
	puts("\tesac\n}");
}

static void print_options(void)
{
	puts("\n# COMMAND: its options\n_jankbpf_options() {\n\tcase $1 in");
	for (size_t i = 0; i < command_row_cnt; i++) {
		printf("\t%s) echo", command_rows[i].name);
		for (size_t k = 0; k < option_row_cnt; k++)
			if (option_rows[k].name &&
			    option_rows[k].commands & (1u << command_rows[i].command))
				printf(" --%s", option_rows[k].name);
		puts(" ;;");
	}
	puts("\tesac\n}");
}

static void print_operands(void)
{
	struct strbuf commands = STRBUF_INIT, shells = STRBUF_INIT;

	completion__add_commands(&commands, " ");
	completion__add_words(&shells, completion_shells);
	puts("\n# COMMAND: completes a word that is not an option\n_jankbpf_operand() {\n"
	     "\tcase $1 in");
	for (size_t i = 0; i < command_row_cnt; i++) {
		const struct command_row *row = &command_rows[i];

		if (row->operand == OPERAND_FILES)
			printf("\t%s) _jankbpf_paths -f ;;\n", row->name);
		else if (row->operand == OPERAND_COMMAND)
			printf("\t%s) _jankbpf_words '%s' ;;\n", row->name, strbuf__str(&commands));
		else if (row->operand == OPERAND_SHELL)
			printf("\t%s) _jankbpf_words '%s' ;;\n", row->name, strbuf__str(&shells));
	}
	printf("\t'') _jankbpf_words '%s' ;;\n\tesac\n}\n\n", strbuf__str(&commands));
	strbuf__free(&commands);
	strbuf__free(&shells);
}

void completion__print_bash(void)
{
	struct strbuf switches = STRBUF_INIT, commands = STRBUF_INIT;

	completion__add_argument_switches(&switches, "|");
	completion__add_commands(&commands, "|");
	fputs(head, stdout);
	print_arguments();
	print_options();
	print_operands();
	printf(scan, strbuf__str(&switches), strbuf__str(&commands));
	strbuf__free(&switches);
	strbuf__free(&commands);
}
