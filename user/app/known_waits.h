/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loops that wait in poll or its kin when a trace begins: where the catalogue knows the wait by its callers, the probes need no
 * evidence, and its first dispatch is judged. Used on the sink thread only.
 */
#ifndef JANK_KNOWN_WAITS_H
#define JANK_KNOWN_WAITS_H

#include <stdint.h>

#include "app/whose.h"
#include "kernel/park_maps.h"

/*
 * Looks at each thread of the process by /proc, and at the stacks of those that poll (with a limit on time, see apart.h). exe: the
 * program's path, or NULL. 0 or -errno: the map is full, or out of memory.
 */
int known_waits__find(struct whose *whose, struct park_maps *maps, uint32_t pid, const char *exe);

#endif
