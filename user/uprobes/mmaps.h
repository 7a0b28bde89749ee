/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who maps which file executable, from now on and on the whole machine: records of a perf event
 * that counts nothing, one ring for each CPU. So nothing polls /proc, and a library loaded by
 * dlopen is seen like any.
 *
 * A CPU that comes online later has no ring: what is mapped there is not seen.
 */
#ifndef JANK_UPROBES_MMAPS_H
#define JANK_UPROBES_MMAPS_H

#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A file mapped executable. What is borrowed lasts until the callback returns. */
struct mmaps_map {
	pid_t pid;
	uint64_t start, len, file_offset; /* where in memory, and what of the file */
	uint64_t dev, inode;		  /* as in /proc/PID/maps */
	uint64_t t_ns;			  /* CLOCK_MONOTONIC; 0: by mmaps__scan */
	const char *path;		  /* as its process names it; " (deleted)" is removed */
};

/* Any but wants may be NULL. In the order of time, as far as the kernel's clock tells. */
struct mmaps_ops {
	/* Asked first, of the last part of a path: is it worth an on_map? Most are not. */
	bool (*wants)(void *ctx, const char *name);
	void (*on_map)(void *ctx, const struct mmaps_map *map);
	void (*on_exec)(void *ctx, pid_t pid); /* it maps nothing of before; its on_map follow */
	void (*on_fork)(void *ctx, pid_t pid,
			pid_t parent); /* a process, with its parent's mappings */
	void (*on_exit)(void *ctx, pid_t pid, pid_t tid); /* a thread; pid == tid: the main one */
	/*
	 * Records; 0: perhaps some, their number comes later. mmaps__scan finds the mappings again.
	 */
	void (*on_lost)(void *ctx, uint64_t cnt);
	void *ctx;
	bool lazy; /* nobody is woken until a ring is half full: there is another reason to look */
};

struct mmaps;

/* Begins to watch. -EACCES, -EPERM with JANK_EXIT_CANNOT: needs CAP_PERFMON. */
int mmaps__new(const struct mmaps_ops *ops, struct mmaps **ret, struct err *err);
void mmaps__free(struct mmaps *mmaps); /* accepts NULL */

/* Readable when there is something: one descriptor for all rings. */
int mmaps__fd(const struct mmaps *mmaps);

/* Hands on all there is. */
void mmaps__consume(struct mmaps *mmaps);

/*
 * Hands on what there is of before that time, or a little more. False: there is nothing, of any
 * time.
 */
bool mmaps__consume_until(struct mmaps *mmaps, uint64_t until_ns);

/*
 * Hands on what runs already: one pass over /proc/PID/maps of all processes. Once at the start,
 * after mmaps__new, and after a loss. 0 or -errno.
 */
int mmaps__scan(const struct mmaps_ops *ops);

#endif
