/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the probes are told of stacks: of which processes more is to be copied (bpf/copy.bpf.h). Descriptors of its own,
 * for it is used by the sink thread, which may outlive the loader.
 */
#ifndef JANK_PROBES_COPY_MAPS_H
#define JANK_PROBES_COPY_MAPS_H

#include <stdint.h>

struct copy_maps {
	int sizes_fd, deep_fd; /* -1: none, and nothing is told */
	uint32_t deep_cnt;
};

#define COPY_MAPS_NONE                                                                             \
	{                                                                                          \
		-1, -1, 0                                                                          \
	}

void copy_maps__close(struct copy_maps *maps);

/* From now on so many bytes of the process's stacks are copied. 0 or -errno: -E2BIG when there are too many. */
int copy_maps__deepen(struct copy_maps *maps, uint32_t pid, uint32_t size);
void copy_maps__drop(struct copy_maps *maps, uint32_t pid);

#endif
