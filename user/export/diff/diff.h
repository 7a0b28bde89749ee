/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Comparison of two sets of records, A and B: which faults and which loops became worse or better,
 * with denominators and confidence. One thread.
 *
 * Intervals (--interval) show how much counts vary by themselves; without them blocks are taken as
 * independent of each other, and quantiles are not compared.
 */
#ifndef JANK_EXPORT_DIFF_DIFF_H
#define JANK_EXPORT_DIFF_DIFF_H

#include "base/groups.h"
#include "base/strbuf.h"
#include "model/durations.h"
#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIFF_A, DIFF_B, DIFF_SIDES };

/* The dispatches of a loop in an interval. */
struct diff_interval {
	uint64_t begin_ns, end_ns; /* CLOCK_REALTIME */
	uint64_t cnt;
	uint32_t bucket_cnt;
	struct {
		uint64_t ns, cnt;
	} * buckets;
};

struct diff_side {
	uint64_t dispatch_cnt;
	struct durations durations; /* of all dispatches */
	struct diff_interval *intervals;
	size_t interval_cnt, interval_cap;
};

/* A fault, or all blocks of a loop. */
struct diff_fault {
	struct group_node node;
	const char *key; /* "" for all blocks; else the signature, or what sums.c got */
	char *signature; /* "" for all blocks */
	char *summary;	 /* of its last block; NULL: none */
	struct {
		uint64_t cnt;
		uint64_t recorded_cnt; /* of sums.c: those with a delay that can be asked for */
		struct diff_end {
			uint64_t ns, cnt; /* blocks that ended then, CLOCK_REALTIME */
		} * ends;
		size_t end_cnt;
		uint64_t *delays_ns; /* of all its blocks, or of a sample of them */
		size_t delay_cnt;
	} sides[DIFF_SIDES];
};

/* A kind of loop in all processes of a name. */
struct diff_loop {
	struct group_node node;
	const char *key;
	char *process, *loop;
	struct diff_side sides[DIFF_SIDES];
	struct groups faults; /* struct diff_fault, and one for all */
};

struct diff_input {
	uint64_t from_ns, to_ns; /* CLOCK_REALTIME; to_ns 0: no limit */
	uint64_t record_cnt, block_cnt, dispatch_cnt, elapsed_ns, loss_cnt;
	size_t interval_cnt;
	/* Intervals since the last summary: the summary has their counts, too. */
	uint64_t run_interval_cnt;
	uint64_t signature_versions; /* of its blocks: bit N for version N, 63 for all above */
};

struct diff {
	struct groups loops; /* struct diff_loop */
	struct diff_input inputs[DIFF_SIDES];
	uint64_t no_room_cnt; /* faults and loops beyond the limits */
};

void diff__init(struct diff *diff);
void diff__free(struct diff *diff);

/* Adds the version of some signatures of a side (0: 1). */
void diff__add_signature_version(struct diff *diff, unsigned side, uint64_t version);

/*
 * True if all signatures of both sides were made in the same way. If not, one fault may have two of
 * them, so faults are not compared.
 */
bool diff__has_one_signature_version(const struct diff *diff);

/* Adds a record to a side. 0 or -ENOMEM. */
int diff__add(struct diff *diff, unsigned side, const Jankbpf__Record *record);

/*
 * --- sums.c: a side that was summed elsewhere, by parts of the machines or times: they take the
 * place of intervals. Each returns 0 or -ENOMEM. key: of the loop; unique, and the same on both
 * sides.
 */

/* Adds the dispatches of a loop in a part. */
int diff__add_dispatches(struct diff *diff, unsigned side, const char *key, const char *process,
			 const char *loop, uint64_t part, uint64_t cnt);

/* Adds its histogram: counts of durations up to each of ends_ns, which rise. */
int diff__add_histogram(struct diff *diff, unsigned side, const char *key, uint64_t part,
			const uint64_t *ends_ns, const uint64_t *counts, size_t cnt);

/* Adds blocks of a fault in a part, and those of all faults of the loop. */
int diff__add_fault_blocks(struct diff *diff, unsigned side, const char *key, const char *fault,
			   uint64_t part, uint64_t cnt);

/* Adds how many of them have a record; of an entry that is there. */
void diff__add_recorded(struct diff *diff, unsigned side, const char *key, const char *fault,
			uint64_t cnt);

/* Adds a sample of the delays of a fault's blocks. */
int diff__add_delays(struct diff *diff, unsigned side, const char *key, const char *fault,
		     const uint64_t *delays_ns, size_t cnt);

/* Gives a fault its signature and the sentence of one of its blocks. */
int diff__name_fault(struct diff_fault *fault, const char *signature, const char *summary);

/* --- findings.c */

enum diff_kind { DIFF_FAULT, DIFF_LOOP, DIFF_DELAY, DIFF_P50, DIFF_P90, DIFF_P99 };

struct diff_finding {
	enum diff_kind kind;
	const struct diff_loop *loop;
	const struct diff_fault *fault; /* of DIFF_FAULT, DIFF_LOOP and DIFF_DELAY */
	/* Blocks for each million dispatches; or the median of delays or the quantile in ns. */
	double values[DIFF_SIDES];
	double ratio, low,
		high; /* of B to A, with its bounds; infinite if A has none. 0: no bounds */
	double p;     /* adjusted */
	bool notable; /* certain, and large enough */
};

struct diff_findings {
	struct diff_finding *list; /* the most certain first */
	size_t cnt;
	size_t only_cnt[DIFF_SIDES]; /* loops that only this side has: not compared */
	size_t few_cnt;		     /* loops with too few intervals to compare quantiles */
};

#define DIFF_FALSE_SHARE 0.05 /* of the notable findings, at most and on average */

/* 0 or -ENOMEM; the caller frees ret->list. Borrows diff. */
int diff__compare(struct diff *diff, struct diff_findings *ret);

/* True if the finding is notable and B is worse. */
bool diff_finding__is_worse(const struct diff_finding *finding);

/* --- print.c: names: those of the two arguments */
void diff__add_text(struct strbuf *sb, const struct diff *diff,
		    const struct diff_findings *findings, const char *const names[DIFF_SIDES],
		    bool all);
void diff__add_json(struct strbuf *sb, const struct diff *diff,
		    const struct diff_findings *findings, const char *const names[DIFF_SIDES]);

#endif
