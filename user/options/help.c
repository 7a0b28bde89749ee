/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --help, `help COMMAND`, `completion SHELL` and --version, made at build time. stdout. */
#include <stdio.h>
#include <string.h>

#include "options/command_table.h"

void options__print_help(const char *topic)
{
	const struct command_row *row = topic ? command__named(topic) : NULL;

	fputs(row ? row->help : help_text, stdout);
}

void options__print_version(void)
{
	puts("jankbpf " JANK_VERSION);
}

bool options__print_completion(const char *shell)
{
	for (size_t i = 0; i < completion_script_cnt; i++)
		if (!strcmp(completion_scripts[i].shell, shell))
			return fputs(completion_scripts[i].text, stdout) >= 0;
	return false;
}
