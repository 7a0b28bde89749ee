/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Selection of the traced processes: what narrows -a. The probes get it before they are loaded.
 * Different kinds of entries are ANDed, entries of one kind ORed; a kind without entries lets all
 * pass.
 */
#ifndef JANK_OPTIONS_FILTER_H
#define JANK_OPTIONS_FILTER_H

#include "base/err.h"
#include "base/strbuf.h"
#include "bpf/jank_abi.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_info;

#define FILTER_MAX JANK_FILTER_MAX /* entries of one kind */

struct filter {
	bool all; /* every process; else those of loader__add_process */
	/* These two apply without `all`, too. */
	bool main_thread; /* only tid == tgid */
	uint32_t loops;	  /* 1 << JANK_LOOP_*: only these kinds of wait; 0: all */
	/* These apply only with `all`. */
	uint32_t uid_cnt, glob_cnt, cgroup_cnt, name_cnt;
	uint32_t uids[FILTER_MAX];	    /* real uids, as in the initial user namespace */
	struct jank_glob globs[FILTER_MAX]; /* of the process name (main thread's comm) */
	const char *glob_texts[FILTER_MAX]; /* as they were given; borrowed */
	int cgroup_fds[FILTER_MAX];	    /* cgroup v2 directories, owned: tasks in or below */
	struct filter_name {
		const char *name; /* of a cgroup as it was given; borrowed */
		uint32_t cnt;	  /* cgroups that it has now, in the order of cgroup_fds */
		bool changed;	  /* by the last filter__refresh */
	} names[FILTER_MAX];
	bool waits; /* a cgroup need not exist: see filter__refresh */
};

void filter__close(struct filter *filter); /* closes the descriptors */

/*
 * Each adds an entry. Return 0, -EINVAL with JANK_EXIT_USAGE for an invalid entry, -E2BIG beyond
 * FILTER_MAX, or the error of opening a file. uid: a number, or a name in /etc/passwd. cgroup: a
 * path below the v2 hierarchy, with or without its mount point, or the name of a systemd unit
 * ("redis.service").
 */
int filter__add_uid(struct filter *filter, const char *uid, struct err *err);
int filter__add_comm(struct filter *filter, const char *glob, struct err *err);
int filter__add_cgroup(struct filter *filter, const char *path, struct err *err);

/* Gives the filter descriptors of its own, after a copy of the struct. 0 or -errno: it has none. */
int filter__own_cgroups(struct filter *filter);

/*
 * Looks up the cgroups again if one was removed or does not exist. True: cgroup_fds have changed.
 */
bool filter__refresh(struct filter *filter);

/* Adds the names without a cgroup, with ", " between them. */
void filter__add_missing(const struct filter *filter, struct strbuf *ret);

/*
 * True if the probes would trace that process, by its uid, name and cgroup. The second function
 * takes what procinfo__read_stat has just read of a process that lives. Both read no more files
 * than the filters need.
 */
bool filter__admits(const struct filter *filter, pid_t pid);
bool filter__admits_living(const struct filter *filter, const struct proc_info *info);

/*
 * Compiles a glob for the probes; matches it as they do. '*' is any bytes, '?' is one byte, others
 * match themselves. A name has at most 15 bytes. Returns 0, or -EINVAL if no name can match.
 */
int glob__compile(const char *glob, struct jank_glob *ret);
bool glob__matches(const struct jank_glob *glob, const char *name);

#endif
