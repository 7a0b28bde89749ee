/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Detaches links in a thread of its own, a lot at a time: detaching waits for the kernel's grace periods, which
 * nobody else shall wait for.
 */
#ifndef JANK_UPROBES_REAPER_H
#define JANK_UPROBES_REAPER_H

#include "uprobes/links.h"
#include <stdbool.h>
#include <stddef.h>

struct reaper;

struct reaper *reaper__new(void);	  /* NULL: out of memory */
void reaper__free(struct reaper *reaper); /* waits for its lot; accepts NULL */

/* Is it still at the lot before? */
bool reaper__is_busy(const struct reaper *reaper);

/* Takes over the links and their malloc'ed array; it must not be busy. Where there can be no thread, they are
 * detached on return. */
void reaper__take(struct reaper *reaper, struct held_link *links, size_t cnt);

#endif
