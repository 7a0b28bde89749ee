/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The uprobes of the traced processes: attached by process, at the sites that targets.h found. */
#ifndef JANK_UPROBES_UPROBES_H
#define JANK_UPROBES_UPROBES_H

#include "base/err.h"
#include "uprobes/targets.h"
#include <stdbool.h>
#include <sys/types.h>

struct bpf_program;
struct uprobes;

/* The programs to attach; NULL: not wanted. */
struct uprobe_programs {
	struct bpf_program *wait_begin, *wait_end, *looper;
	struct bpf_program *mark;   /* its attach cookie: the mark's index in the catalogue */
	struct bpf_program *custom; /* at waits that the catalogue names */
	const struct catalogue *catalogue; /* of mark and custom; NULL: neither is wanted */
	bool no_pausable;		   /* nothing at sites that a loop is seen without */
};

/* What to look for on their behalf. */
struct target_wants uprobe_programs__wants(const struct uprobe_programs *progs);

/* The program for a site, or NULL. */
struct bpf_program *uprobe_programs__at(const struct uprobe_programs *progs,
					const struct site *site);

int uprobes__new(struct uprobes **ret);
void uprobes__free(struct uprobes *up); /* accepts NULL */

/*
 * Attaches what pid maps and has not been attached yet. *ret_cnt (may be NULL): uprobes in what it
 * maps.
 */
int uprobes__attach(struct uprobes *up, pid_t pid, const struct uprobe_programs *progs,
		    unsigned *ret_cnt, struct err *err);

/*
 * All of pid's belong to a task that is gone: they are attached anew next time. Detaching the old
 * ones takes too long now. 0 or -ENOMEM.
 */
int uprobes__renew(struct uprobes *up, pid_t pid);

/* Are pid's uprobes dead, since the thread that they belong to has ended while others go on? Then
 * uprobes__attach begins anew. */
bool uprobes__lost_task(const struct uprobes *up, pid_t pid);
void uprobes__detach(struct uprobes *up, pid_t pid);

/*
 * Detaches pid's uprobes at pausable sites, in the background, and attaches none there until it is
 * told otherwise; to have them again takes uprobes__attach. 0; -EAGAIN: still busy with others;
 * -ENOMEM.
 */
int uprobes__pause(struct uprobes *up, pid_t pid, bool pause);

#endif
