/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of all executable mappings on the machine from now on: a perf event that counts nothing,
 * with one ring for each CPU. So nothing polls /proc, and libraries loaded by dlopen are seen too.
 *
 * A CPU that comes online later has no ring: mappings made there are not seen.
 */
#ifndef JANK_UPROBES_MMAPS_H
#define JANK_UPROBES_MMAPS_H

#include "base/err.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A file mapped executable. Borrowed pointers are valid until the callback returns. */
struct mmaps_map {
	pid_t pid;
	uint64_t start, len, file_offset; /* bytes; in memory, and in the file */
	uint64_t dev, inode;		  /* as in /proc/PID/maps */
	uint64_t generation;		  /* another one: a new file with the same inode number */
	uint64_t t_ns;			  /* CLOCK_MONOTONIC; 0: from mmaps__scan, as generation */
	const char *path;		  /* as the process sees it; without " (deleted)" */
};

/*
 * Callbacks; all but wants may be NULL. They are called in time order, as far as the kernel's clock
 * allows.
 */
struct mmaps_ops {
	/*
	 * Filter by the last part of a path, called first: does the mapping need an on_map? Most do
	 * not.
	 */
	bool (*wants)(void *ctx, const char *name);
	void (*on_map)(void *ctx, const struct mmaps_map *map);
	void (*on_exec)(void *ctx, pid_t pid); /* old mappings are gone; on_map calls follow */
	void (*on_fork)(void *ctx, pid_t pid,
			pid_t parent); /* a new process with its parent's mappings */
	void (*on_exit)(void *ctx, pid_t pid, pid_t tid); /* a thread; pid == tid: the main one */
	/*
	 * cnt records were lost; 0: perhaps some, their number follows later. mmaps__scan finds the
	 * mappings again.
	 */
	void (*on_lost)(void *ctx, uint64_t cnt);
	void *ctx;
	bool lazy; /* wake only when a ring is half full: the caller reads for other reasons too */
};

struct mmaps;

/* Starts recording. -EACCES, -EPERM with JANK_EXIT_CANNOT: needs CAP_PERFMON. */
int mmaps__new(const struct mmaps_ops *ops, struct mmaps **ret, struct err *err);
void mmaps__free(struct mmaps *mmaps); /* accepts NULL */

/* One descriptor for all rings; readable when there are records. */
int mmaps__fd(const struct mmaps *mmaps);

/* Calls the callbacks for all pending records. */
void mmaps__consume(struct mmaps *mmaps);

/*
 * Calls the callbacks for records up to that time, or slightly later. Returns false when no records
 * are pending at all.
 */
bool mmaps__consume_until(struct mmaps *mmaps, uint64_t until_ns);

/*
 * Reports existing mappings: one pass over /proc/PID/maps of all processes. Call it once at the
 * start, after mmaps__new, and after a loss. Returns 0 or -errno.
 */
int mmaps__scan(const struct mmaps_ops *ops);

/*
 * --- mmaps_record.c: decoder for the records in the rings, as perf_event_open(2) describes them,
 * with bounds checks
 */

enum mmaps_kind { MMAPS_MAP, MMAPS_EXEC, MMAPS_FORK, MMAPS_EXIT, MMAPS_LOST };

struct mmaps_record {
	enum mmaps_kind kind;
	pid_t pid;
	pid_t tid;    /* MMAPS_EXIT */
	pid_t parent; /* MMAPS_FORK */
	uint64_t lost_cnt;
	struct mmaps_map map; /* its path points to the one below */
	char path[PATH_MAX];
};

/* Size of the trailer of every record: sample_id with PERF_SAMPLE_TIME. */
#define MMAPS_TRAILER_SZ sizeof(uint64_t)

/* Decodes a whole record with its header. False: irrelevant or unknown. */
bool mmaps_record__decode(const void *data, size_t len, struct mmaps_record *ret);

#endif
