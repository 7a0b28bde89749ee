/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the mappings share. */
#ifndef JANK_SYMBOL_NAMES_PROC_MAPS_PARTS_H
#define JANK_SYMBOL_NAMES_PROC_MAPS_PARTS_H

#include "symbol/names/proc_maps.h"

int proc_maps__add_region(struct proc_maps *maps,
			  const struct region *region); /* at the end. 0 or -ENOMEM */
void proc_maps__sort(struct proc_maps *maps);

/* What a mapping is of, made when it is new. NULL: out of memory. */
struct mapped *proc_maps__mapped(struct proc_maps *maps, const struct mapping *mapping);

/*
 * proc_maps_past.c: the region that an address lay in at maps->at_ns, and lies in no more; NULL:
 * none.
 */
const struct region *proc_maps__find_past(const struct proc_maps *maps, uint64_t addr);

#endif
