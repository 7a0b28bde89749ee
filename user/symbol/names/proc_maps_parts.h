/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the mappings share. */
#ifndef JANK_SYMBOL_NAMES_PROC_MAPS_PARTS_H
#define JANK_SYMBOL_NAMES_PROC_MAPS_PARTS_H

#include "symbol/names/proc_maps.h"

int maps__add_region(struct maps *maps, const struct region *region); /* at the end. 0 or -ENOMEM */
void maps__sort(struct maps *maps);

/* What a mapping is of, made when it is new. NULL: out of memory. */
struct mapped *maps__mapped(struct maps *maps, const struct mapping *mapping);

/* maps_past.c: the region that an address lay in at maps->at_ns, and lies in no more; NULL: none. */
const struct region *maps__find_past(const struct maps *maps, uint64_t addr);

#endif
