/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes of -a with a main thread watched wherever it waits (docs/loops.md). The filters must
 * admit them; they must be at least one second old; at most MAINS_MAX at once. Found by reading
 * /proc.
 */
#ifndef JANK_SESSION_MAIN_THREADS_H
#define JANK_SESSION_MAIN_THREADS_H

#include <stdbool.h>
#include <stdint.h>

struct filter;

#define MAINS_MAX 768 /* of JANK_PARKER_MAX: the rest is for runtimes */

struct mains;

/*
 * admit: start watching a process. drop: a watched process ended. Both return false if that failed;
 * the call is then repeated.
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
 * Reads the list of processes if there may be a new one, for at most max_ns. first: accept existing
 * processes of any age, until the list is read. Returns 1 if there is more of it, which the next
 * call reads; else 0, or -ENOMEM if some are not watched.
 */
int mains__look(struct mains *mains, bool first, uint64_t max_ns);

/* The process replaced its program: treat it as new. */
void mains__renew(struct mains *mains, uint32_t pid);

/* The filter has changed: check all refused processes again. */
void mains__recheck(struct mains *mains);

/* True if the process is left out because of MAINS_MAX. */
bool mains__is_beyond(const struct mains *mains, uint32_t pid);

#endif
