/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the probes are told of stacks: of which processes more is to be copied (bpf/copy.bpf.h). Descriptors of its own,
 * for it is used by the sink thread, which may outlive the loader.
 */
#ifndef JANK_PROBES_BPF_FDS_H
#define JANK_PROBES_BPF_FDS_H

#include "bpf/jank_abi.h"
#include <stdbool.h>
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

/*
 * What the probes are told of parks (bpf/park.bpf.h): which processes have some, and which places are. Descriptors of its
 * own, for it is used by the sink thread, which may outlive the loader.
 */

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

/*
 * What the probes are told of interpreters' threads (bpf/script.bpf.h). Descriptors of its own, as park_maps has them.
 */

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
