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

static struct series *add(struct series_table *table, const char *id, const char *labels)
{
	struct series *ret = calloc(1, sizeof(*ret) + strlen(id) + 1);

	if (!ret)
		return NULL;
	strcpy(ret->id, id);
	ret->labels = strdup(labels);
	if (!ret->labels) {
		free(ret);
		return NULL;
	}
	HASH_ADD_STR(table->list, id, ret);
	return ret;
}

struct series *series__get(struct series_table *table, const char *id, const struct label *labels,
			   size_t cnt)
{
	struct strbuf sb = STRBUF_INIT;
	struct series *ret = NULL;

	add_labels(&sb, labels, cnt, NULL);
	HASH_FIND_STR(table->list, id ?: strbuf__str(&sb), ret);
	if (!ret && HASH_COUNT(table->list) >= table->max) {
		strbuf__reset(&sb);
		add_labels(&sb, labels, cnt, "other");
		id = NULL;
		HASH_FIND_STR(table->list, strbuf__str(&sb), ret);
	}
	if (!ret && !sb.failed)
		ret = add(table, id ?: strbuf__str(&sb), strbuf__str(&sb));
	strbuf__free(&sb);
	return ret;
}

void series__free(struct series_table *table)
{
	struct series *entry, *next;

	HASH_ITER (hh, table->list, entry, next) {
		HASH_DEL(table->list, entry);
		free(entry->labels);
		free(entry);
	}
}
