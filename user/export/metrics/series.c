/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/metrics/series.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/stable_name.h"
#include "base/text.h"
#include "export/values.h"

/* From less than a dispatch of a fast server to a hang. */
const uint64_t metrics_edges_ns[METRICS_EDGES] = {
	100 * NS_PER_US,  250 * NS_PER_US,  500 * NS_PER_US, NS_PER_MS,
	2500 * NS_PER_US, 5 * NS_PER_MS,    10 * NS_PER_MS,  25 * NS_PER_MS,
	50 * NS_PER_MS,	  100 * NS_PER_MS,  250 * NS_PER_MS, 500 * NS_PER_MS,
	NS_PER_SEC,	  2500 * NS_PER_MS, 5 * NS_PER_SEC,  10 * NS_PER_SEC,
};

void metrics_hist__add(struct metrics_hist *hist, uint64_t ns, uint64_t cnt)
{
	size_t i = 0;

	while (i < METRICS_EDGES && ns > metrics_edges_ns[i])
		i++;
	hist->cnt[i] += cnt;
}

void metrics_hist__add_buckets(struct metrics_hist *hist, Jankbpf__Bucket *const *buckets,
			       size_t cnt, uint64_t max_ns)
{
	uint64_t lower_ns = 0;

	for (size_t i = 0; i < cnt; i++) {
		uint64_t ns = value__upper_ns(buckets[i], max_ns ?: lower_ns);
		double narrow = (double)ns * (1 - 0.037), middle;

		middle = ((double)ns + (narrow > (double)lower_ns ? narrow : (double)lower_ns)) / 2;
		metrics_hist__add(hist, ns, buckets[i]->count);
		hist->sum_s += middle / NS_PER_SEC * (double)buckets[i]->count;
		lower_ns = ns;
	}
}

void label__add_value(struct strbuf *sb, const char *value)
{
	char cut[METRICS_LABEL_MAX + 1];
	struct strbuf clean = STRBUF_INIT;
	size_t len;

	if (!value)
		return;
	len = text__cut(value, METRICS_LABEL_MAX);
	memcpy(cut, value, len);
	cut[len] = '\0';
	text__add_clean(&clean, cut);
	for (const char *at = strbuf__str(&clean); *at; at++) {
		if (*at == '"' || *at == '\\')
			strbuf__addc(sb, '\\');
		strbuf__addc(sb, *at);
	}
	strbuf__free(&clean);
}

static void add_value(struct strbuf *sb, const struct label *label)
{
	struct strbuf stable = STRBUF_INIT;

	if (label->value && !strcmp(label->name, "unit"))
		stable_name__add_unit(&stable, label->value);
	else if (label->value && !strcmp(label->name, "function"))
		stable_name__add_function(&stable, label->value);
	else
		strbuf__adds(&stable, label->value ?: "");
	label__add_value(sb, strbuf__str(&stable));
	sb->failed |= stable.failed;
	strbuf__free(&stable);
}

static void add_labels(struct strbuf *sb, const struct label *labels, size_t cnt, const char *all)
{
	for (size_t i = 0; i < cnt; i++) {
		strbuf__addf(sb, "%s%s=\"", i ? "," : "", labels[i].name);
		if (all)
			label__add_value(sb, all);
		else
			add_value(sb, &labels[i]);
		strbuf__addc(sb, '"');
	}
}

static void clear(void *series)
{
	free(((struct series *)series)->labels);
}

void series__init(struct groups *table, size_t max)
{
	groups__init(table, sizeof(struct series), max, clear);
}

struct series *series__get(struct groups *table, const char *id, const struct label *labels,
			   size_t cnt)
{
	struct strbuf sb = STRBUF_INIT;
	struct series *ret = NULL;

	add_labels(&sb, labels, cnt, NULL);
	if (!sb.failed)
		ret = groups__get_text(table, id ?: strbuf__str(&sb));
	if (!ret && groups__is_full(table)) {
		strbuf__reset(&sb);
		add_labels(&sb, labels, cnt, "other");
		ret = sb.failed ? NULL : groups__get_rest_text(table, strbuf__str(&sb));
	}
	if (ret && !ret->labels) {
		ret->labels = strdup(strbuf__str(&sb));
		if (!ret->labels) {
			groups__drop(table, ret);
			ret = NULL;
		}
	}
	strbuf__free(&sb);
	return ret;
}
