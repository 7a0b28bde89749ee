/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics for Prometheus, counted from finished records: blocks, and intervals with what the limits
 * left out. Labels name programs, units and functions, never a process id or path. One thread at a
 * time.
 */
#ifndef JANK_EXPORT_METRICS_METRICS_H
#define JANK_EXPORT_METRICS_METRICS_H

#include "base/strbuf.h"
#include "export/spool/spool.h"
#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define METRICS_LOOPS_MAX  500	/* label sets of loops */
#define METRICS_BLOCKS_MAX 1000 /* of blocks, by kind of cause */

enum metrics_format { METRICS_TEXT, METRICS_OPENMETRICS };

struct metrics;

struct metrics *metrics__new(size_t max_signatures); /* NULL: out of memory */
void metrics__free(struct metrics *metrics);	     /* accepts NULL */

/* The configured length of an interval, until the first one has ended. */
void metrics__set_interval(struct metrics *metrics, uint64_t ns);

/* Counts the record. 0; -ENOMEM: some of it is not counted. */
int metrics__record(struct metrics *metrics, const Jankbpf__Record *record);

/* What is shown of the spool from now on; names of backends are borrowed. */
void metrics__set_spool(struct metrics *metrics, const struct spool_state *state);

/* metrics_text.c: adds all metrics, in the text format 0.0.4 or in OpenMetrics 1.0. */
void metrics__write(const struct metrics *metrics, enum metrics_format format, struct strbuf *sb);

/* The Content-Type of a format. */
const char *metrics__content_type(enum metrics_format format);

/* The format that an Accept header asks for; NULL: none given. */
enum metrics_format metrics__negotiate(const char *accept);

#endif
