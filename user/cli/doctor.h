/* SPDX-License-Identifier: GPL-2.0 */
/* `jankbpf doctor`: one line for each thing that tracing depends on, with consequence and remedy. */
#ifndef JANK_CLI_DOCTOR_H
#define JANK_CLI_DOCTOR_H

#include "options/options.h"
#include <stdbool.h>

enum verdict { VERDICT_OK, VERDICT_DEGRADED, VERDICT_MISSING, VERDICT_CNT };

struct doctor {
	bool color;
	unsigned cnt[VERDICT_CNT];
};

/* Prints the report on stdout. JANK_EXIT_OK when tracing is possible, JANK_EXIT_CANNOT when not. */
int doctor__run(const struct options *opts);

/* A finding: name of what was looked at, and what follows from it. */
void doctor__line(struct doctor *doc, enum verdict verdict, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Lines on this user and on the system's settings. */
void doctor__check_user(struct doctor *doc);
void doctor__check_system(struct doctor *doc);

#endif
