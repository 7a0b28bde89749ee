/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `jankbpf fleet`: what the records of all machines in ClickHouse say. Each function asks the
 * server and adds its answer for people, or as JSON, to a string. Errors are -errno with a message.
 * One thread.
 */
#ifndef JANK_FLEET_FLEET_H
#define JANK_FLEET_FLEET_H

#include "base/err.h"
#include "base/strbuf.h"
#include "export/diff/diff.h"
#include "fleet/query.h"

/* Which records count. Texts: "" for all. */
struct fleet_filter {
	uint64_t since_s, until_s; /* seconds since 1970 */
	const char *unit, *process;
	const char *version; /* of a side of a comparison */
};

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

/* compare.c: fills both sides of diff and compares them. all: names also what is not notable. */
int fleet__compare(struct fleet *fleet, const struct fleet_filter sides[DIFF_SIDES], bool all,
		   struct diff *diff, struct diff_findings *findings, struct err *err);

/* drop.c: deletes days that ended before this time, on all shards, and says which. */
int fleet__drop(struct fleet *fleet, const char *cluster, uint64_t before_s, struct strbuf *ret,
		struct err *err);

/* top.c: adds a local time to the minute, or "?" for 0; and text in a column of this width. */
void fleet__add_time(struct strbuf *sb, uint64_t seconds);
void fleet__add_cell(struct strbuf *sb, const char *text, unsigned width);

/* The values of a filter, for fleet__ask. */
#define FLEET_VALUES(filter)                                                                       \
	{ .name = "since", .number = (filter)->since_s },                                          \
		{ .name = "until", .number = (filter)->until_s },                                  \
		{ .name = "unit", .text = (filter)->unit },                                        \
	{                                                                                          \
		.name = "process", .text = (filter)->process                                       \
	}

#endif
