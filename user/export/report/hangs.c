/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hangs of dispatches whose block has not come yet. A hang is reported up to five times, and its
 * block has all of its time. The last hang is used only if no block follows: the run ended first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/groups.h"
#include "export/report/report.h"
#include "export/sink.h"

#define BYTES_MAX (32 << 20) /* of packed hangs; beyond that the oldest is passed on */

struct hang {
	struct group_node node; /* by its id */
	struct strbuf packed;
};

struct hangs {
	struct groups by_id;
	size_t bytes;
};

static void clear_hang(void *hang)
{
	strbuf__free(&((struct hang *)hang)->packed);
}

struct hangs *hangs__new(void)
{
	struct hangs *ret = calloc(1, sizeof(*ret));

	if (ret)
		groups__init(&ret->by_id, sizeof(struct hang), SIZE_MAX, clear_hang);
	return ret;
}

void hangs__free(struct hangs *hangs)
{
	if (!hangs)
		return;
	groups__free(&hangs->by_id);
	free(hangs);
}

static void drop(struct hangs *hangs, struct hang *hang)
{
	hangs->bytes -= hang->packed.len;
	groups__drop(&hangs->by_id, hang);
}

static int pass_on(struct hangs *hangs, struct report *report, struct hang *hang)
{
	Jankbpf__Record *record =
		jankbpf__record__unpack(NULL, hang->packed.len, (const uint8_t *)hang->packed.data);
	int res = record ? report->ops->record(report, record) : 0;

	/*
	 * Of a damaged file: protobuf-c packs an unknown field with tag 0, and refuses to read it.
	 */
	report->cut_cnt += !record;
	if (record)
		jankbpf__record__free_unpacked(record, NULL);
	drop(hangs, hang);
	return res;
}

static int hold(struct hangs *hangs, struct report *report, const Jankbpf__Record *record)
{
	struct hang *hang = groups__get_text(&hangs->by_id, record->hang->id);
	int res = 0;

	if (!hang)
		return -ENOMEM;
	if (stream__pack(&hang->packed, record)) {
		groups__drop(&hangs->by_id, hang);
		return -ENOMEM;
	}
	hangs->bytes += hang->packed.len;
	while (!res && hangs->bytes > BYTES_MAX)
		res = pass_on(hangs, report, (void *)hangs->by_id.first);
	return res;
}

int hangs__record(struct hangs *hangs, struct report *report, const Jankbpf__Record *record)
{
	const Jankbpf__Block *block = report__block(record);
	struct hang *hang = block && block->id ? groups__find_text(&hangs->by_id, block->id) : NULL;

	if (hang)
		drop(hangs, hang);
	if (record->type_case == JANKBPF__RECORD__TYPE_HANG && block->id)
		return hold(hangs, report, record);
	return report->ops->record(report, record);
}

int hangs__finish(struct hangs *hangs, struct report *report)
{
	int res = 0;

	while (!res && hangs->by_id.first)
		res = pass_on(hangs, report, (void *)hangs->by_id.first);
	return res;
}
