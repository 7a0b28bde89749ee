/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metrics of the spool, and of what each backend has of it. */
#include <inttypes.h>

#include "base/clock.h"
#include "export/metrics/metrics_parts.h"

static uint64_t sent_records(const struct spool_backend_state *b)
{
	return b->position.sent_records;
}

static uint64_t sent_bytes(const struct spool_backend_state *b)
{
	return b->position.sent_bytes;
}

static uint64_t sent_batches(const struct spool_backend_state *b)
{
	return b->position.sent_batches;
}

static uint64_t retries(const struct spool_backend_state *b)
{
	return b->position.retries;
}

static uint64_t refused_records(const struct spool_backend_state *b)
{
	return b->position.refused_records;
}

static uint64_t damaged_records(const struct spool_backend_state *b)
{
	return b->position.damaged_records;
}

static uint64_t unsent_records(const struct spool_backend_state *b)
{
	return b->unsent_records;
}

static uint64_t unsent_seconds(const struct spool_backend_state *b)
{
	uint64_t now = clock__real_ns();

	return b->oldest_ns && now > b->oldest_ns ? (now - b->oldest_ns) / NS_PER_SEC : 0;
}

static const struct family {
	const char *name;
	bool counter;
	const char *help;
	uint64_t (*of)(const struct spool_backend_state *backend);
} families[] = {
	{ "sent_records", true, "Records that a backend has, since the spool exists.",
	  sent_records },
	{ "sent_batches", true, "Batches that a backend has.", sent_batches },
	{ "sent_bytes", true, "Compressed bytes of the requests that a backend took.", sent_bytes },
	{ "send_retries", true, "Requests that were tried again.", retries },
	{ "refused_records", true, "Records that a backend refused for good.", refused_records },
	{ "damaged_records", true, "Records that could not be read in the spool.",
	  damaged_records },
	{ "unsent_records", false, "Records of the spool that a backend has not yet.",
	  unsent_records },
	{ "unsent_seconds", false, "Age of the oldest of these.", unsent_seconds },
};

static void head(struct strbuf *sb, const char *name, const char *suffix, const char *type,
		 const char *help)
{
	strbuf__addf(sb, "# HELP jankbpf_%s%s %s\n# TYPE jankbpf_%s%s %s\n", name, suffix, help,
		     name, suffix, type);
}

static void write_family(const struct metrics *m, const struct family *family,
			 enum metrics_format format, struct strbuf *sb)
{
	const char *total = family->counter ? "_total" : "";

	head(sb, family->name, format == METRICS_TEXT ? total : "",
	     family->counter ? "counter" : "gauge", family->help);
	for (size_t i = 0; i < m->spool.backend_cnt; i++)
		strbuf__addf(sb, "jankbpf_%s%s{backend=\"%s\"} %" PRIu64 "\n", family->name, total,
			     m->spool.backends[i].name, family->of(&m->spool.backends[i]));
}

void metrics__write_spool(const struct metrics *m, enum metrics_format format, struct strbuf *sb)
{
	head(sb, "spool_bytes", "", "gauge", "Batches in the spool.");
	strbuf__addf(sb, "jankbpf_spool_bytes %" PRIu64 "\n", m->spool.bytes);
	for (size_t i = 0; m->spool.backend_cnt && i < sizeof(families) / sizeof(*families); i++)
		write_family(m, &families[i], format, sb);
}

void metrics__set_spool(struct metrics *m, const struct spool_state *state)
{
	m->spool = *state;
	m->has_spool = true;
}
