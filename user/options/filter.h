/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who is traced, as the probes are told before they are loaded: everything that -a is narrowed by.
 * Kinds are ANDed, the entries of one kind ORed; a kind without entries lets all pass.
 */
#ifndef JANK_OPTIONS_FILTER_H
#define JANK_OPTIONS_FILTER_H

#include "base/err.h"
#include "bpf/jank_abi.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FILTER_MAX JANK_FILTER_MAX /* entries of one kind */

struct filter {
	bool all; /* every process; else those given to loader__add_process */
	/* These two also without `all`. */
	bool main_thread; /* only tid == tgid */
	uint32_t loops;	  /* 1 << JANK_LOOP_*: only waits of these kinds; 0: of any */
	/* These only with `all`. */
	uint32_t uid_cnt, glob_cnt, cgroup_cnt;
	uint32_t uids[FILTER_MAX];	    /* real, as the initial user namespace numbers them */
	struct jank_glob globs[FILTER_MAX]; /* of the process's name, its main thread's */
	int cgroup_fds[FILTER_MAX]; /* directories of v2, owned: what runs in them or below */
};

/* No filter: nothing but what loader__add_process adds. */
void filter__init(struct filter *ret);
void filter__close(struct filter *filter); /* closes the descriptors */

/*
 * Each adds an entry. 0, or -EINVAL with JANK_EXIT_USAGE when it cannot be meant, -E2BIG beyond
 * FILTER_MAX, or why a file cannot be had. uid: a number, or a name in /etc/passwd. cgroup: a path
 * below the v2 hierarchy, with or without its mount point before it, or a systemd unit's name
 * ("redis.service").
 */
int filter__add_uid(struct filter *filter, const char *uid, struct err *err);
int filter__add_comm(struct filter *filter, const char *glob, struct err *err);
int filter__add_cgroup(struct filter *filter, const char *path, struct err *err);

/* Would the probes trace that process? As far as it is told by its uid, name and cgroup. */
bool filter__admits(const struct filter *filter, pid_t pid);

/*
 * For the probes, and what they make of it. '*' is any bytes, '?' one, all others themselves, and a
 * name has at most 15. 0, or -EINVAL: no name could match.
 */
int glob__compile(const char *glob, struct jank_glob *ret);
bool glob__matches(const struct jank_glob *glob, const char *name);

#endif
