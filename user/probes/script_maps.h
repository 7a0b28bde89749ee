/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the probes are told of interpreters' threads (bpf/script.bpf.h). Descriptors of its own, as park_maps has them.
 */
#ifndef JANK_PROBES_SCRIPT_MAPS_H
#define JANK_PROBES_SCRIPT_MAPS_H

#include "bpf/jank_abi.h"
#include <stdbool.h>
#include <stdint.h>

struct script_maps {
	int threads_fd, any_fd; /* -1: none, and nothing is told */
	bool any;
};

#define SCRIPT_MAPS_NONE                                                                           \
	{                                                                                          \
		-1, -1, false                                                                      \
	}

void script_maps__close(struct script_maps *maps);

/* The probes forget a thread that ends. With where: as it stands there. */
bool script_maps__has(const struct script_maps *maps, uint32_t pid, uint32_t tid,
		      const struct jank_script_where *where);

/* 0 or -errno: -E2BIG when there are too many. */
int script_maps__set(struct script_maps *maps, uint32_t tid, const struct jank_script_where *where);

#endif
