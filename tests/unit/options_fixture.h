/* SPDX-License-Identifier: GPL-2.0 */
/* Parses command lines that are given as one string. */
#ifndef JANK_OPTIONS_FIXTURE_H
#define JANK_OPTIONS_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "options/options.h"

#define ARGV_MAX 24

/*
 * Splits at spaces. The words live in a static buffer until the next call. "\1" stands for an empty
 * word.
 */
static inline char **fixture__split(const char *line, int *argc)
{
	static char buf[512], *argv[ARGV_MAX];
	char *rest = buf, *word;

	snprintf(buf, sizeof(buf), "jankbpf %s", line);
	*argc = 0;
	while ((word = strsep(&rest, " ")))
		if (*word)
			argv[(*argc)++] = *word == 1 ? word + 1 : word;
	argv[*argc] = NULL;
	return argv;
}

/* Parses into fresh options and a fresh error. */
static inline int fixture__parse(const char *line, struct options *opts, struct err *err)
{
	int argc;
	char **argv = fixture__split(line, &argc);

	memset(opts, 0, sizeof(*opts));
	memset(err, 0, sizeof(*err));
	return options__parse(argc, argv, opts, err);
}

#endif
