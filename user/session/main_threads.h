/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes of -a have their main thread watched wherever it waits (docs/loops.md): those
 * that the filters admit, from an age of a second on, at most MAINS_MAX at once. Found by looks at
 * /proc. Used on the intake thread.
 */
#ifndef JANK_SESSION_MAIN_THREADS_H
#define JANK_SESSION_MAIN_THREADS_H

#include "options/filter.h"
#include <stdbool.h>
#include <stdint.h>

#define MAINS_MAX 768 /* of JANK_PARKER_MAX: the others are runtimes' */

struct mains;

/*
 * admit: a process is to be watched; drop: one that was is gone. False: that could not be said, and
 * is asked for again.
 */
struct mains_opts {
	const struct filter *filter; /* borrowed */
	bool (*admit)(void *ctx, uint32_t pid);
	bool (*drop)(void *ctx, uint32_t pid);
	void *ctx;
};

struct mains *mains__new(const struct mains_opts *opts); /* NULL: out of memory */
void mains__free(struct mains *mains);			 /* accepts NULL */

/*
 * Looks at the processes, for at most max_ns. first: those that there are need no age. 0, or
 * -ENOMEM: some are not watched.
 */
int mains__look(struct mains *mains, bool first, uint64_t max_ns);

/* The process has a new program: it is as one that was not seen. */
void mains__renew(struct mains *mains, uint32_t pid);

/* Is it left out since there are too many? */
bool mains__is_beyond(const struct mains *mains, uint32_t pid);

#endif
