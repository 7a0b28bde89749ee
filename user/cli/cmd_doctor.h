/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `jankbpf doctor`: one line for each thing that tracing depends on, with consequence and remedy.
 */
#ifndef JANK_CLI_CMD_DOCTOR_H
#define JANK_CLI_CMD_DOCTOR_H

#include "options/options.h"
#include <stdbool.h>

enum verdict { VERDICT_OK, VERDICT_DEGRADED, VERDICT_MISSING, VERDICT_CNT };

struct doctor {
	bool color;
	unsigned cnt[VERDICT_CNT];
};

/* Prints the report on stdout. JANK_EXIT_OK when tracing is possible, JANK_EXIT_CANNOT when not. */
int doctor__run(const struct options *opts);

#endif
