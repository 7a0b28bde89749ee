/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the cases of follow.c: probes that count, and workers that call the probed functions.
 */
#ifndef JANK_FOLLOW_H
#define JANK_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "uprobes/uprobe_files.h"

struct follow {
	char build[256]; /* where the programs are */
	char dir[256];	 /* ours: libraries are copied here, so that no other process maps them */
	bool multi;	 /* by uprobe_multi */
	struct uprobe_files *files;
	unsigned message, other; /* cookies: the marks' indices */
};

extern struct follow follow;

bool follow__prepare(const char *build); /* false: not possible here; prints why */
bool follow__begin(void);		 /* probes what exists, follows the rest */
void follow__end(void);
void follow__clean(void);
void follow__resolve_all(void); /* reads records until none is left */
uint64_t follow__hits(unsigned cookie, long tag);
struct uprobe_files_stats follow__stats(void);
unsigned follow__descriptors(void); /* the number of our open descriptors */

/* A path in our directory, valid for a few more calls. */
const char *in_dir(const char *name);
int __attribute__((format(printf, 1, 2))) shell(const char *fmt, ...);

struct worker {
	pid_t pid;
	int in;
	FILE *out;
	long tag;
};

/*
 * before (may be NULL) runs in the new process; if it returns non-zero, the start fails. Waits
 * until the worker is ready.
 */
bool worker__start(struct worker *worker, const char *program, int (*before)(void));
bool __attribute__((format(printf, 2, 3))) worker__do(struct worker *worker, const char *fmt, ...);
void worker__end(struct worker *worker);

#endif
