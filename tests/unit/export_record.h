/* SPDX-License-Identifier: GPL-2.0 */
/* The records that sinks get, made of the fixtures' blocks and summaries. */
#ifndef JANK_EXPORT_RECORD_H
#define JANK_EXPORT_RECORD_H

#include <stdlib.h>

#include "export/json/json.h"
#include "export/record/record.h"

static struct record *fixture_builder; /* reachable to the end, as the last record is */

static inline struct record *fixture__builder(void)
{
	if (!fixture_builder)
		fixture_builder = record__new();
	if (!fixture_builder)
		abort();
	return fixture_builder;
}

static inline const Jankbpf__Record *fixture__made(const Jankbpf__Record *record)
{
	if (!record)
		abort();
	return record;
}

/* Each record is valid until the next call, and as long as what it is made of. */
static inline const Jankbpf__Record *fixture__record(const struct block *block)
{
	return fixture__made(record__of_block(fixture__builder(), block));
}

static inline const Jankbpf__Record *fixture__summary_record(const struct summary *summary)
{
	return fixture__made(record__of_summary(fixture__builder(), summary));
}

static inline void fixture__add_json(struct strbuf *sb, struct record *r,
				     const Jankbpf__Record *record)
{
	if (record)
		json__add_record(sb, record);
	else
		sb->failed = true;
	record__free(r);
}

/* Each adds JSON, one line without its newline; sb->failed when out of memory. */
static inline void fixture__add_block(struct strbuf *sb, const struct block *block)
{
	struct record *r = record__new();

	fixture__add_json(sb, r, r ? record__of_block(r, block) : NULL);
}

static inline void fixture__add_summary(struct strbuf *sb, const struct summary *summary)
{
	struct record *r = record__new();

	fixture__add_json(sb, r, r ? record__of_summary(r, summary) : NULL);
}

#endif
