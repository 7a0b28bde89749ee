/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes at build time what comes from the program's tables of commands and options. Argument:
 * options, synopsis or commands, for that part of the man page, or a shell, for its completion.
 */
#include <stdio.h>
#include <string.h>

#include "options/options.h"

static int print(const char *what)
{
	if (!strcmp(what, "options"))
		options__print_man();
	else if (!strcmp(what, "synopsis"))
		options__print_man_synopsis();
	else if (!strcmp(what, "commands"))
		options__print_man_commands();
	else
		return options__print_completion(what) ? 0 : -1;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 2 || print(argv[1])) {
		fprintf(stderr, "usage: %s options|synopsis|commands|bash|zsh|fish\n", argv[0]);
		return 2;
	}
	return fflush(stdout) ? 1 : 0;
}
