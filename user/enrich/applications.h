/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Applications of the traced processes: what the environment says, the build id of the executable,
 * and the package that it or an Android app comes from. Read when a process is seen or replaces its
 * program. Used on the sink thread only.
 */
#ifndef JANK_ENRICH_APPLICATIONS_H
#define JANK_ENRICH_APPLICATIONS_H

#include "model/block.h"
#include <stdint.h>

struct applications;

struct applications *applications__new(void);	    /* NULL: out of memory */
void applications__free(struct applications *apps); /* accepts NULL */

/* Reads what is known of the process into process->app, too. 0 or -ENOMEM. */
int applications__read(struct applications *apps, Jankbpf__Identity *process);

/*
 * Looks for the APK of an Android app that was not mapped before; at most eight times, at growing
 * intervals. Returns the process, with its application now: borrowed until it ends. NULL: nothing
 * new.
 */
const Jankbpf__Identity *applications__look_again(struct applications *apps, uint32_t pid);

/* Borrowed until the next call of another function; NULL: not known. */
const Jankbpf__Identity *applications__of(const struct applications *apps, uint32_t pid);

/* It stays known for its last interval: until 1,024 others have ended, or the pid is read again. */
void applications__on_exit(struct applications *apps, uint32_t pid);

#endif
