/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the probes are told of parks (bpf/park.bpf.h): which processes have some, and which places are. Descriptors of its
 * own, for it is used by the sink thread, which may outlive the loader.
 */
#ifndef JANK_PROBES_PARK_MAPS_H
#define JANK_PROBES_PARK_MAPS_H

#include "bpf/jank_abi.h"
#include <stdbool.h>
#include <stdint.h>

struct park_maps {
	int processes_fd, places_fd, change_fd; /* -1: none, and nothing is told */
	uint32_t changes;
};

#define PARK_MAPS_NONE                                                                             \
	{                                                                                          \
		-1, -1, -1, 0                                                                      \
	}

void park_maps__close(struct park_maps *maps);

/* 0 or -errno: -E2BIG when there are too many. */
int park_maps__set_process(struct park_maps *maps, uint32_t pid, const struct jank_parks *parks);
bool park_maps__has_process(const struct park_maps *maps, uint32_t pid);
void park_maps__drop_process(struct park_maps *maps, uint32_t pid);

int park_maps__set_place(struct park_maps *maps, const struct jank_park_place *place, bool is_park);
void park_maps__drop_place(struct park_maps *maps, const struct jank_park_place *place);

#endif
