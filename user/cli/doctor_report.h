/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Findings of `jankbpf doctor`, collected first, then printed as text or JSON. Main thread. The
 * caller frees with doctor_report__free.
 */
#ifndef JANK_CLI_DOCTOR_REPORT_H
#define JANK_CLI_DOCTOR_REPORT_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>

enum finding_status { FINDING_OK, FINDING_DEGRADED, FINDING_MISSING, FINDING_STATUS_CNT };
enum finding_part { PART_USER, PART_KEPT, PART_SYSTEM, PART_KERNEL };

struct finding {
	enum finding_part part;
	enum finding_status status;
	const char *name;   /* of the examined item; static */
	struct strbuf text; /* its state and consequence */
	const char *remedy; /* static; NULL: none */
};

struct doctor_report {
	struct finding *list; /* in the order of the parts */
	size_t cnt;
	unsigned status_cnt[FINDING_STATUS_CNT];
	enum finding_part part; /* of the next finding */
	bool failed;		/* out of memory: some are missing */
};

void doctor_report__add(struct doctor_report *report, enum finding_status status, const char *name,
			const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* stdout */
void doctor_report__print_text(const struct doctor_report *report, bool color);

/* stdout: one object on one line ("jankbpf-doctor/1" of docs/contract.md). 0 or -ENOMEM. */
int doctor_report__print_json(const struct doctor_report *report);

void doctor_report__free(struct doctor_report *report);

#endif
