/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits of the number of records: for each fault in an hour, and of all faults in a second. What
 * is over a limit is counted, in all and by fault and process for the next interval. Made of
 * finished records, so that texts are redacted already. One thread at a time.
 */
#ifndef JANK_EXPORT_RECORD_LIMITS_H
#define JANK_EXPORT_RECORD_LIMITS_H

#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIMITS_FAULTS_MAX   4096 /* with a count of their own; further ones share one */
#define LIMITS_LEFT_OUT_MAX 256	 /* entries of an interval; further blocks share the last one */

struct limits;

/* 0: no limit. */
struct limit_rates {
	unsigned per_signature, per_s;
};

struct limits *limits__new(void);	  /* NULL: out of memory */
void limits__free(struct limits *limits); /* accepts NULL */

/*
 * True: the record of a block or hang is to be written. False: it is over a limit, and counted. A
 * block that is longer than all written ones of its fault is only subject to the limit a second.
 * now_ns: CLOCK_MONOTONIC.
 */
bool limits__takes(struct limits *limits, struct limit_rates rates, const Jankbpf__Record *record,
		   uint64_t now_ns);

/* What is over a limit so far: of the run, or since limits__end_interval. */
struct limit_counts {
	uint64_t per_signature, per_s;
};
struct limit_counts limits__counts(const struct limits *limits, bool of_run);

/*
 * What is over a limit since limits__end_interval, by fault and process. The caller frees the
 * array; its elements stay until limits__end_interval. 0 or -ENOMEM.
 */
int limits__left_out(const struct limits *limits, Jankbpf__LeftOut ***ret, size_t *ret_cnt);
void limits__end_interval(struct limits *limits);

#endif
