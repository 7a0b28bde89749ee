/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `jankbpf fleet`: what the records of all machines in ClickHouse say. Each function asks the
 * server and adds its answer for people, or as JSON, to a string. Errors are -errno with a message.
 * Called by one thread; compare.c has a second one.
 */
#ifndef JANK_FLEET_FLEET_H
#define JANK_FLEET_FLEET_H

#include "base/err.h"
#include "base/strbuf.h"
#include "export/diff/diff.h"
#include "fleet/query.h"

/* Which records count. */
struct fleet_filter {
	uint64_t since_s, until_s; /* seconds since 1970 */
	char *conditions;	   /* on columns, in SQL; owned */
};

/*
 * query.c: adds the condition that a column has this value; NULL or "": none. The column is one of
 * ours; version_key takes a version. 0 or -ENOMEM.
 */
int fleet_filter__add(struct fleet_filter *filter, const char *column, const char *value);

/* What top sums by, in the order of the words of --by. */
enum fleet_by { FLEET_BY_SIGNATURE, FLEET_BY_UNIT, FLEET_BY_VERSION, FLEET_BY_HOST };

#define FLEET_ROWS_MAX 1000

/* top.c: the worst of them, with rates for 10^6 dispatches; limit 0: FLEET_ROWS_MAX. */
int fleet__top(struct fleet *fleet, const struct fleet_filter *filter, enum fleet_by by,
	       unsigned limit, bool json, struct strbuf *ret, struct err *err);

/*
 * show.c: where a signature, or the only one that begins so, occurs, and its stacks. *ret_record
 * gets its worst block as JSON.
 */
int fleet__show(struct fleet *fleet, const struct fleet_filter *filter, const char *signature,
		unsigned limit, struct strbuf *ret, struct strbuf *ret_record, struct err *err);

/*
 * compare.c: fills both sides of diff and compares them. names: of the sides. all: names also what
 * is not notable.
 */
int fleet__compare(struct fleet *fleet, const struct fleet_filter filters[DIFF_SIDES],
		   const char *const names[DIFF_SIDES], bool all, struct diff *diff,
		   struct diff_findings *findings, struct err *err);

/* drop.c: deletes days that ended before this time, on all shards, and says which. */
int fleet__drop(struct fleet *fleet, const char *cluster, uint64_t before_s, struct strbuf *ret,
		struct err *err);

/* top.c: adds a local time to the minute, or "?" for 0; and text for a terminal. */
void fleet__add_time(struct strbuf *sb, uint64_t seconds);
void fleet__add_count(struct strbuf *sb, uint64_t cnt, const char *noun); /* "2 blocks" */
void fleet__add_name(struct strbuf *sb, const char *text);		  /* cut at 60 columns */
void fleet__add_cell(struct strbuf *sb, const char *text, unsigned width);

/* The values of a filter, for fleet__ask. */
#define FLEET_VALUES(filter_)                                                                      \
	{ .name = "since", .number = (filter_)->since_s },                                         \
		{ .name = "until", .number = (filter_)->until_s },                                 \
	{                                                                                          \
		.name = "filter", .raw = (filter_)->conditions ?: ""                               \
	}

#endif
