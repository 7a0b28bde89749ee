/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions shared by the files of proc_maps. */
#ifndef JANK_SYMBOL_NAMES_PROC_MAPS_PARTS_H
#define JANK_SYMBOL_NAMES_PROC_MAPS_PARTS_H

#include "symbol/names/proc_maps.h"

int proc_maps__add_region(struct proc_maps *maps,
			  const struct region *region); /* appends it. 0 or -ENOMEM */
void proc_maps__sort(struct proc_maps *maps);

/* The mapped object of a mapping; created when it is new. NULL: out of memory. */
struct mapped *proc_maps__mapped(struct proc_maps *maps, const struct mapping *mapping);

/* proc_maps_past.c: the past region that contained an address at maps->at_ns, or NULL. */
const struct region *proc_maps__find_past(const struct proc_maps *maps, uint64_t addr);

#endif
