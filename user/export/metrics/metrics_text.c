/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exposition of the metrics: Prometheus' text format 0.0.4, and OpenMetrics 1.0, in which the
 * family of a counter has no _total, and # EOF ends the text.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "export/facts.h"
#include "export/metrics/metrics_parts.h"

#define ACCEPT_MAX 1024

struct writing {
	struct strbuf *sb;
	enum metrics_format format;
};

/* --- lines */

/* name: without _total. */
static void head(const struct writing *w, const char *name, const char *type, const char *help)
{
	const char *suffix = w->format == METRICS_TEXT && !strcmp(type, "counter") ? "_total" : "";

	strbuf__addf(w->sb, "# HELP jankbpf_%s%s %s\n# TYPE jankbpf_%s%s %s\n", name, suffix, help,
		     name, suffix, type);
}

static void count_line(const struct writing *w, const char *name, const char *labels, uint64_t cnt)
{
	bool any = labels && *labels;

	strbuf__addf(w->sb, "jankbpf_%s%s%s%s %" PRIu64 "\n", name, any ? "{" : "",
		     any ? labels : "", any ? "}" : "", cnt);
}

static void seconds_line(const struct writing *w, const char *name, const char *labels, double s)
{
	bool any = labels && *labels;

	strbuf__addf(w->sb, "jankbpf_%s%s%s%s %.9g\n", name, any ? "{" : "", any ? labels : "",
		     any ? "}" : "", s);
}

/* --- families */

static void write_hist(const struct writing *w, const char *name, const char *labels,
		       const struct metrics_hist *hist)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < METRICS_EDGES; i++) {
		double edge = (double)metrics_edges_ns[i] / NS_PER_SEC;

		sum += hist->cnt[i];
		strbuf__addf(w->sb, "jankbpf_%s_bucket{%s,le=\"%g%s\"} %" PRIu64 "\n", name, labels,
			     edge, edge >= 1 && edge != 2.5 ? ".0" : "", sum);
	}
	sum += hist->cnt[METRICS_EDGES];
	strbuf__addf(w->sb, "jankbpf_%s_bucket{%s,le=\"+Inf\"} %" PRIu64 "\n", name, labels, sum);
	strbuf__addf(w->sb, "jankbpf_%s_sum{%s} %.9g\n", name, labels, hist->sum_s);
	strbuf__addf(w->sb, "jankbpf_%s_count{%s} %" PRIu64 "\n", name, labels, sum);
}

static void write_loops(const struct writing *w, const struct groups *loops)
{
	const struct series *series;

	head(w, "dispatch_seconds", "histogram", "Durations of dispatches.");
	GROUPS_EACH(loops, series)
	write_hist(w, "dispatch_seconds", series->labels, &series->durations);
	head(w, "start_delay_seconds", "histogram",
	     "How late dispatches began whose thread had slept.");
	GROUPS_EACH(loops, series)
	write_hist(w, "start_delay_seconds", series->labels, &series->delays);
}

static void write_counts(const struct writing *w, const struct groups *table, const char *name,
			 const char *help)
{
	const struct series *series;
	struct strbuf sample = STRBUF_INIT;

	head(w, name, "counter", help);
	strbuf__addf(&sample, "%s_total", name);
	GROUPS_EACH(table, series)
	count_line(w, strbuf__str(&sample), series->labels, series->cnt);
	strbuf__free(&sample);
}

static void write_blocks(const struct writing *w, const struct metrics *m)
{
	const struct series *series;

	write_counts(w, &m->blocks, "blocks",
		     "Dispatches over the threshold, by kind of their cause.");
	head(w, "blocked_seconds", "counter", "Delays of these, by kind of their cause.");
	GROUPS_EACH(&m->kinds, series)
	seconds_line(w, "blocked_seconds_total", series->labels, series->seconds);
	write_counts(w, &m->faults, "fault_blocks",
		     "Blocks of each fault, with the function to blame.");
	head(w, "open_dispatch_seconds", "gauge",
	     "The longest dispatch that is open, as of the last interval.");
	GROUPS_EACH(&m->open, series)
	seconds_line(w, "open_dispatch_seconds", series->labels, series->seconds);
}

static void write_fact(const struct writing *w, const struct fact *fact, uint64_t number)
{
	struct strbuf sample = STRBUF_INIT;

	head(w, fact->name, fact->is_sum ? "counter" : "gauge", fact->text);
	strbuf__addf(&sample, "%s%s", fact->name, fact->is_sum ? "_total" : "");
	if (fact->form == FACT_NS)
		seconds_line(w, strbuf__str(&sample), NULL, (double)number / NS_PER_SEC);
	else
		count_line(w, strbuf__str(&sample), NULL, fact__number(fact, number));
	strbuf__free(&sample);
}

/* What an interval says of the agent: schema/fields.tbl. */
static void write_facts(const struct writing *w, const struct metrics *m)
{
	for (size_t i = 0; i < facts__metric_cnt; i++)
		if (m->values[i].is_shown)
			write_fact(w, &facts__metrics[i], m->values[i].number);
}

static void write_own(const struct writing *w, const struct metrics *m)
{
	write_counts(w, &m->lost, "lost", "What was lost, by reason.");
	write_counts(w, &m->limited, "limited",
		     "Blocks and hangs without a record, by the limit that they were over.");
	write_facts(w, m);
	head(w, "intervals", "counter", "Intervals that were counted.");
	count_line(w, "intervals_total", NULL, m->interval_cnt);
	head(w, "interval_seconds", "gauge",
	     "Length of the last interval; before the first one, the configured length.");
	seconds_line(w, "interval_seconds", NULL, (double)m->interval_ns / NS_PER_SEC);
	head(w, "build_info", "gauge", "The agent's version.");
	count_line(w, "build_info", "version=\"" JANK_VERSION "\"", 1);
}

void metrics__write(const struct metrics *m, enum metrics_format format, struct strbuf *sb)
{
	const struct writing w = { sb, format };

	write_loops(&w, &m->loops);
	write_blocks(&w, m);
	write_own(&w, m);
	if (m->has_spool)
		metrics__write_spool(m, format, sb);
	if (format == METRICS_OPENMETRICS)
		strbuf__adds(sb, "# EOF\n");
}

/* --- negotiation */

const char *metrics__content_type(enum metrics_format format)
{
	return format == METRICS_OPENMETRICS
		       ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		       : "text/plain; version=0.0.4; charset=utf-8";
}

/* The q of an element of Accept, in thousandths. */
static unsigned weight(const char *element, size_t len)
{
	const char *q = memmem(element, len, "q=", 2);
	unsigned ret = 0;

	if (!q || q == element || (q[-1] != ';' && q[-1] != ' '))
		return 1000;
	q += 2;
	if (*q == '1')
		return 1000;
	if (q[0] != '0' || q[1] != '.')
		return 0;
	q += 2;
	for (unsigned unit = 100; unit && *q >= '0' && *q <= '9'; unit /= 10)
		ret += unit * (unsigned)(*q++ - '0');
	return ret;
}

static unsigned best(const char *accept, const char *type)
{
	unsigned ret = 0;

	for (size_t len; *accept; accept += len + (accept[len] == ',')) {
		unsigned q;

		accept += strspn(accept, " \t");
		len = strcspn(accept, ",");
		if (strncasecmp(accept, type, strlen(type)))
			continue;
		q = weight(accept, len);
		ret = q > ret ? q : ret;
	}
	return ret;
}

/* Text unless OpenMetrics is preferred: what takes anything knows text best. */
enum metrics_format metrics__negotiate(const char *accept)
{
	unsigned open;

	if (!accept || strnlen(accept, ACCEPT_MAX) == ACCEPT_MAX)
		return METRICS_TEXT;
	open = best(accept, "application/openmetrics-text");
	return open && open >= best(accept, "text/plain") ? METRICS_OPENMETRICS : METRICS_TEXT;
}
