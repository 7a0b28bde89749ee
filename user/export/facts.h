/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts of an interval that sinks write as columns and metrics, one row each: the rows `column`,
 * `metric` and `otlp` of schema/fields.tbl, of which schema/generate.py makes these tables. Any
 * thread.
 */
#ifndef JANK_EXPORT_FACTS_H
#define JANK_EXPORT_FACTS_H

#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fact_form { FACT_COUNT, FACT_NS, FACT_KB, FACT_PRESENT };

/* A row. Paths: places of fields in their descriptors; -1: none. */
struct fact {
	const char *name, *text; /* NULL after the last row */
	const char *unit;	 /* of OTLP */
	const char *word;	 /* the value is 1 if the text is this word; NULL: any */
	enum fact_form form;
	bool is_sum; /* of intervals; else the last one counts */
	signed char path[2];
	signed char shown_if[2]; /* only if this field is there */
};

extern const struct fact facts__columns[], facts__metrics[], facts__otlps[];
extern const size_t facts__column_cnt, facts__metric_cnt, facts__otlp_cnt; /* rows */

/* What an interval has of a fact, in the unit of the record. */
struct fact_value {
	bool known;	  /* the field is there */
	uint64_t number;  /* of an array: its length */
	const char *text; /* NULL: it is a number */
};
struct fact_value fact__value(const struct fact *fact, const Jankbpf__Interval *interval);

/* A number in the unit of metrics that are no times: bytes for KiB. */
static inline uint64_t fact__number(const struct fact *fact, uint64_t number)
{
	return fact->form == FACT_KB ? number << 10 : number;
}

/* True if the fact is shown for this interval: see shown_if. */
bool fact__is_shown(const struct fact *fact, const Jankbpf__Interval *interval);

#endif
