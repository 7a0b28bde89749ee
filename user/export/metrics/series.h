/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bounded table of label sets with their values, for one or more metrics. Label sets beyond the
 * bound share one, in which each label is "other". One thread at a time.
 */
#ifndef JANK_EXPORT_METRICS_SERIES_H
#define JANK_EXPORT_METRICS_SERIES_H

#include "base/groups.h"
#include "base/strbuf.h"
#include "schema/blockinfo.pb-c.h"
#include <stddef.h>
#include <stdint.h>

#define METRICS_EDGES	  16  /* of a histogram, without +Inf */
#define METRICS_LABEL_MAX 128 /* bytes of a value, before it is escaped */

/* In ns, ascending. */
extern const uint64_t metrics_edges_ns[METRICS_EDGES];

struct metrics_hist {
	uint64_t
		cnt[METRICS_EDGES + 1]; /* by bucket, not summed up; the last is beyond all edges */
	double sum_s;
};

struct series {
	struct group_node node; /* by an id, or by the labels */
	char *labels;		/* name="value",… as it is written */
	uint64_t cnt;
	double seconds;
	struct metrics_hist durations, delays;
};

/*
 * A label and its value; NULL: unknown, written as "". Of "unit" and "function", the stable name is
 * written (base/stable_name.h): others would make new series in each run.
 */
struct label {
	const char *name, *value;
};

/*
 * The entry of an id (NULL: the labels are the id), made when it is new. NULL: out of memory.
 */
struct series *series__get(struct groups *table, const char *id, const struct label *labels,
			   size_t cnt);
void series__init(struct groups *table, size_t max); /* max: without the one of the others */

/* Adds cnt values of about ns each. */
void metrics_hist__add(struct metrics_hist *hist, uint64_t ns, uint64_t cnt);

/*
 * Adds a record's histogram. Its buckets are 3.7 % wide, so a count near an edge of ours may be on
 * the wrong side of it by as much. The value of a sum is the middle of its bucket, which is within
 * 2 %.
 */
void metrics_hist__add_buckets(struct metrics_hist *hist, Jankbpf__Bucket *const *buckets,
			       size_t cnt, uint64_t max_ns);

/* Adds a value of a label: valid UTF-8, bounded, without control bytes, escaped. NULL: nothing. */
void label__add_value(struct strbuf *sb, const char *value);

#endif
