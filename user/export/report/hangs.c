/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hangs of dispatches whose block has not come yet. A hang is reported up to five times, and its
 * block has all of its time. The last hang is used only if no block follows: the run ended first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "export/report/report.h"
#include "export/sink.h"

#define BYTES_MAX (32 << 20) /* of packed hangs; beyond that the oldest is passed on */

struct hang {
	UT_hash_handle hh;
	struct strbuf packed;
	char id[];
};

struct hangs {
	struct hang *by_id; /* oldest first */
	size_t bytes;
};

struct hangs *hangs__new(void)
{
	return calloc(1, sizeof(struct hangs));
}

static void drop(struct hangs *hangs, struct hang *hang)
{
	HASH_DEL(hangs->by_id, hang);
	hangs->bytes -= hang->packed.len;
	strbuf__free(&hang->packed);
	free(hang);
}

void hangs__free(struct hangs *hangs)
{
	struct hang *hang, *next;

	if (!hangs)
		return;
	HASH_ITER (hh, hangs->by_id, hang, next)
		drop(hangs, hang);
	free(hangs);
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

static struct hang *find(const struct hangs *hangs, const char *id)
{
	struct hang *hang;

	HASH_FIND_STR(hangs->by_id, id, hang);
	return hang;
}

static int hold(struct hangs *hangs, struct report *report, const Jankbpf__Record *record)
{
	size_t len = strlen(record->hang->id) + 1;
	struct hang *hang = calloc(1, sizeof(*hang) + len);
	int res = 0;

	if (!hang)
		return -ENOMEM;
	memcpy(hang->id, record->hang->id, len);
	HASH_ADD_STR(hangs->by_id, id, hang);
	if (!hang)
		return -ENOMEM;
	if (stream__pack(&hang->packed, record)) {
		drop(hangs, hang);
		return -ENOMEM;
	}
	hangs->bytes += hang->packed.len;
	while (!res && hangs->bytes > BYTES_MAX)
		res = pass_on(hangs, report, hangs->by_id);
	return res;
}

int hangs__record(struct hangs *hangs, struct report *report, const Jankbpf__Record *record)
{
	const Jankbpf__Block *block = report__block(record);
	struct hang *hang = block && block->id ? find(hangs, block->id) : NULL;

	if (hang)
		drop(hangs, hang);
	if (record->type_case == JANKBPF__RECORD__TYPE_HANG && block->id)
		return hold(hangs, report, record);
	return report->ops->record(report, record);
}

int hangs__finish(struct hangs *hangs, struct report *report)
{
	int res = 0;

	while (!res && hangs->by_id)
		res = pass_on(hangs, report, hangs->by_id);
	return res;
}
