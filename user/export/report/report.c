/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A report's life, and the part of a record that reports use. */
#include "export/report/report.h"

#include <stdlib.h>

struct report *report__new(const struct report_ops *ops, struct report_out *out)
{
	struct report *report = calloc(1, ops->size);

	if (!report)
		return NULL;
	report->ops = ops;
	report->out = out;
	report->list = (struct report_list){ FAULT_ORDER_TOTAL, 10, 2 };
	if (ops->init(report)) {
		report__free(report);
		return NULL;
	}
	return report;
}

void report__free(struct report *report)
{
	if (!report)
		return;
	report->ops->free(report);
	free(report);
}

const Jankbpf__Block *report__block(const Jankbpf__Record *record)
{
	if (record->type_case != JANKBPF__RECORD__TYPE_BLOCK &&
	    record->type_case != JANKBPF__RECORD__TYPE_HANG)
		return NULL;
	return record->block;
}
