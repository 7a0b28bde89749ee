/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Uprobes of the traced processes: attached by process, at the sites that targets.h finds. */
#ifndef JANK_UPROBES_UPROBES_H
#define JANK_UPROBES_UPROBES_H

#include "base/err.h"
#include "uprobes/targets.h"
#include <stdbool.h>
#include <sys/types.h>

struct bpf_program;
struct uprobes;

/* The programs to attach; NULL: not needed. */
struct uprobe_programs {
	struct bpf_program *wait_begin, *wait_end, *looper;
	struct bpf_program *mark;   /* attach cookie: the index of the mark in the catalogue */
	struct bpf_program *custom; /* at waits that the catalogue names */
	const struct catalogue *catalogue; /* for mark and custom; NULL: neither is needed */
	bool no_pausable;		   /* skip sites that a loop is seen without */
};

/* What to search for so that the programs can be attached. */
struct target_wants uprobe_programs__wants(const struct uprobe_programs *progs);

/* The program for a site, or NULL. */
struct bpf_program *uprobe_programs__at(const struct uprobe_programs *progs,
					const struct site *site);

/* pause: processes begin as if uprobes__pause had been called. 0 or -ENOMEM. */
int uprobes__new(struct uprobes **ret, bool pause);
void uprobes__free(struct uprobes *up); /* accepts NULL */

/*
 * Attaches to what pid maps and is not attached yet. *ret_cnt (may be NULL): number of uprobes in
 * what it maps. Returns 0 or -errno.
 */
int uprobes__attach(struct uprobes *up, pid_t pid, const struct uprobe_programs *progs,
		    unsigned *ret_cnt, struct err *err);

/*
 * Call when the task that pid's uprobes belong to has ended: the next uprobes__attach attaches them
 * anew. The old ones are not detached here, since that takes too long. Returns 0 or -ENOMEM.
 */
int uprobes__renew(struct uprobes *up, pid_t pid);

/*
 * Are pid's uprobes dead because the thread that owns them has ended while other threads go on?
 * Then uprobes__attach attaches anew.
 */
bool uprobes__lost_task(const struct uprobes *up, pid_t pid);
void uprobes__detach(struct uprobes *up, pid_t pid);

/*
 * pause: detaches pid's uprobes at pausable sites in the background, and attaches none there until
 * pause is false. Call uprobes__attach to attach them again. Returns 0; -EAGAIN: still detaching
 * others; -ENOMEM.
 */
int uprobes__pause(struct uprobes *up, pid_t pid, bool pause);

#endif
