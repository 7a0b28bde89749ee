/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BlockCanary's logs in a directory: one for each block. A log that is there already is not written
 * again. A hang has none, as with -o of a trace.
 */
#include <errno.h>

#include "export/blockcanary/blockcanary.h"
#include "export/blockcanary/log_file.h"
#include "export/report/report.h"

struct logs {
	struct report report;
	struct strbuf log;
	uint64_t next_sync_ns;
};

static int logs__init(struct report *report)
{
	(void)report;
	return 0;
}

static int logs__record(struct report *report, const Jankbpf__Record *record)
{
	struct logs *logs = (struct logs *)report;
	struct log_file file = { &logs->log, 0, &logs->next_sync_ns, true, &timed_name_log };

	if (record->type_case != JANKBPF__RECORD__TYPE_BLOCK)
		return 0;
	strbuf__reset(&logs->log);
	blockcanary__add_log(&logs->log, record->block, report->qualifier);
	file.real_ns = blockcanary__time_ns(record->block);
	return logs->log.failed ? -ENOMEM : log_file__write(report->dirfd, &file);
}

static int logs__finish(struct report *report)
{
	(void)report;
	return 0;
}

static void logs__free(struct report *report)
{
	strbuf__free(&((struct logs *)report)->log);
}

const struct report_ops report_blockcanary = {
	.name = "blockcanary",
	.is_directory = true,
	.size = sizeof(struct logs),
	.init = logs__init,
	.record = logs__record,
	.finish = logs__finish,
	.free = logs__free,
};
