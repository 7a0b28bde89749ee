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

/*
 * Prints the report on stdout. Returns JANK_EXIT_OK if tracing is possible, else JANK_EXIT_CANNOT.
 */
int doctor__run(const struct options *opts);

#endif
