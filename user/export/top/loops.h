/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loops that `jankbpf top` shows, and the faults of each, from records of intervals, blocks and
 * hangs. Bounded: what finds no room is counted. One thread at a time.
 */
#ifndef JANK_EXPORT_TOP_LOOPS_H
#define JANK_EXPORT_TOP_LOOPS_H

#include "base/groups.h"
#include "base/strbuf.h"
#include "export/top/stalls.h"
#include "export/values.h"
#include "model/durations.h"
#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOSSES_MAX	64 /* reasons in the schema, and one */
#define LOOPS_MAX	1000
#define LOOP_FAULTS_MAX 200 /* of a loop */

#define RECENT_NS (60ull * 1000000000) /* of the rates and quantiles of a row */

struct watched_loop;

struct loop_fault {
	struct group_node node;		 /* by the signature */
	const struct watched_loop *loop; /* whose it is */
	const char *signature;		 /* its key; "": of blocks without one */
	char *kind, *summary;
	uint64_t block_cnt, total_ns, max_ns;
	uint64_t last_ns; /* end of the last block, on CLOCK_MONOTONIC */
	struct stalls stalls;
	struct strbuf last; /* the last record, packed; empty: there was no room */
	bool muted;
};

struct watched_loop {
	struct group_node node;
	const char *key; /* pid and kind */
	char *process, *loop;
	uint32_t pid;
	uint64_t dispatch_cnt; /* of the last interval */
	struct stalls stalls;
	/* The last 30 to 60 s are in both together. */
	struct durations dispatches[2], starts[2];
	uint64_t open_ns; /* delay of the longest open dispatch; 0: none */
	char open_state[16];
	char open_thread[32];
	struct groups faults; /* struct loop_fault */
	uint64_t muted_cnt;   /* blocks of muted faults */
};

struct loops_view {
	struct groups loops; /* struct watched_loop */
	struct stalls_clock clock;
	uint64_t elapsed_ns;   /* of the last interval */
	uint64_t window_ns;    /* begin of the newer half of `dispatches` */
	uint64_t threshold_ns; /* as of the last interval */
	uint64_t own_cpu_ns;   /* of the last interval */
	/* Of all intervals; the reason is NULL after the last. */
	struct loss_count losses[LOSSES_MAX];
	uint64_t not_watched_cnt;
	uint64_t no_room_cnt; /* loops and faults beyond the limits */
	size_t record_bytes;  /* of all `last` */
	char *end;	      /* local time of the last interval's end */
	char **muted;	      /* signatures */
	size_t muted_cnt;
};

/* interval_ns: nominal length of an interval. */
void loops_view__init(struct loops_view *v, uint64_t interval_ns);
void loops_view__free(struct loops_view *v);

/* Adds a record of any type; a summary changes nothing. 0 or -ENOMEM: something is missing. */
int loops_view__add(struct loops_view *v, const Jankbpf__Record *record);

/* Mutes a signature: its faults are not listed. Or undoes all of them, with NULL. 0 or -ENOMEM. */
int loops_view__mute(struct loops_view *v, const char *signature);

/* --- values of a row: of the last minute, or of what is known of it */

struct loop_values {
	double dispatches_per_s; /* of the last interval */
	double blocks_per_min;
	double stalled; /* part of the time */
	bool has_p50, has_p99, has_start;
	uint64_t p50_ns, p99_ns, max_ns; /* of dispatches that ended */
	uint64_t start_ns;		 /* 99 % of the start delays are shorter, or the longest */
	uint64_t open_ns;		 /* delay of the longest open dispatch; 0: none */
};

/* rates: without the quantiles and the longest, which take most of the time. */
void watched_loop__rates(const struct loops_view *v, const struct watched_loop *loop,
			 struct loop_values *ret);
void watched_loop__values(const struct loops_view *v, const struct watched_loop *loop,
			  struct loop_values *ret);

enum loop_order {
	BY_STALLED,
	BY_BLOCKS,
	BY_DISPATCHES,
	BY_P99,
	BY_MAX,
	BY_OPEN,
	BY_PROCESS,
	LOOP_ORDERS
};
extern const char *const loop_order_names[LOOP_ORDERS];

/*
 * The loops with this text in their process, kind or pid (NULL: all), sorted. The caller frees the
 * list; NULL: out of memory, or none.
 */
struct watched_loop **loops_view__list(const struct loops_view *v, enum loop_order order,
				       const char *text, size_t *ret_cnt);

/* The faults of a loop that are not muted, or of all loops with loop NULL; most time first. */
struct loop_fault **loops_view__faults(const struct loops_view *v, const struct watched_loop *loop,
				       size_t *ret_cnt);

#endif
