/* SPDX-License-Identifier: GPL-2.0 */
/* The records that sinks get, made of the fixtures' blocks and summaries. */
#ifndef JANK_EXPORT_RECORD_H
#define JANK_EXPORT_RECORD_H

#include <stdlib.h>

#include "export/record/record.h"

static struct record *fixture_builder; /* reachable to the end, as the last record is */

/* Each record is valid until the next call, and as long as what it is made of. */
static inline const Jankbpf__Record *fixture__record(const struct block *block)
{
	const Jankbpf__Record *ret;

	fixture_builder = fixture_builder ? fixture_builder : record__new();
	ret = fixture_builder ? record__of_block(fixture_builder, block) : NULL;
	if (!ret)
		abort();
	return ret;
}

static inline const Jankbpf__Record *fixture__summary_record(const struct summary *summary)
{
	const Jankbpf__Record *ret;

	fixture_builder = fixture_builder ? fixture_builder : record__new();
	ret = fixture_builder ? record__of_summary(fixture_builder, summary) : NULL;
	if (!ret)
		abort();
	return ret;
}

#endif
