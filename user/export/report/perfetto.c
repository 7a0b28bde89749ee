/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace for ui.perfetto.dev and its trace processor: what each thread did, in time. */
#include "export/report/perfetto.h"

#include <errno.h>
#include <stdlib.h>

static int perfetto__init(struct report *report)
{
	struct perfetto *p = (struct perfetto *)report;

	p->tracks = intern__new();
	return p->tracks ? stacks__init(&p->stacks) : -ENOMEM;
}

static void perfetto__free(struct report *report)
{
	struct perfetto *p = (struct perfetto *)report;

	stacks__free(&p->stacks);
	intern__free(p->tracks);
	free(p->chain_end_ns);
	perfetto__free_pool(p);
}

static int perfetto__record(struct report *report, const Jankbpf__Record *record)
{
	struct perfetto *p = (struct perfetto *)report;
	const Jankbpf__Block *block = report__block(record);

	if (!block)
		return 0;
	perfetto__begin(p, block);
	slices__write(p, block);
	perfetto__free_pool(p);
	return report_out__added(report->out);
}

/* A trace without a block has its clocks. */
static int perfetto__finish(struct report *report)
{
	perfetto__begin((struct perfetto *)report, NULL);
	return report_out__added(report->out);
}

const struct report_ops report_perfetto = {
	.name = "perfetto",
	.is_binary = true,
	.size = sizeof(struct perfetto),
	.init = perfetto__init,
	.record = perfetto__record,
	.finish = perfetto__finish,
	.free = perfetto__free,
};
