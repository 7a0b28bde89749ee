/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the probes are told of stacks: of which processes more is to be copied
 * (bpf/copy_user_stack.bpf.h). Descriptors of its own, for it is used by the sink thread, which may
 * outlive the loader.
 */
#ifndef JANK_PROBES_BPF_FDS_H
#define JANK_PROBES_BPF_FDS_H

#include "bpf/jank_abi.h"
#include <stdbool.h>
#include <stdint.h>

struct copy_bpf_fds {
	int sizes_fd, deep_fd; /* -1: none, and nothing is told */
	uint32_t deep_cnt;
};

#define COPY_MAPS_NONE                                                                             \
	{                                                                                          \
		-1, -1, 0                                                                          \
	}

void copy_bpf_fds__close(struct copy_bpf_fds *maps);

/*
 * From now on so many bytes of the process's stacks are copied. 0 or -errno: -E2BIG when there are
 * too many.
 */
int copy_bpf_fds__deepen(struct copy_bpf_fds *maps, uint32_t pid, uint32_t size);
void copy_bpf_fds__drop(struct copy_bpf_fds *maps, uint32_t pid);

/*
 * What the probes are told of parks (bpf/park.bpf.h): which processes have some, and which places
 * are. Descriptors of its own, for it is used by the sink thread, which may outlive the loader.
 */

struct park_bpf_fds {
	int processes_fd, places_fd, change_fd; /* -1: none, and nothing is told */
	uint32_t changes;
};

#define PARK_MAPS_NONE                                                                             \
	{                                                                                          \
		-1, -1, -1, 0                                                                      \
	}

void park_bpf_fds__close(struct park_bpf_fds *maps);

/* 0 or -errno: -E2BIG when there are too many. */
int park_bpf_fds__set_process(struct park_bpf_fds *maps, uint32_t pid,
			      const struct jank_parks *parks);
bool park_bpf_fds__has_process(const struct park_bpf_fds *maps, uint32_t pid);
void park_bpf_fds__drop_process(struct park_bpf_fds *maps, uint32_t pid);

int park_bpf_fds__set_place(struct park_bpf_fds *maps, const struct jank_park_place *place,
			    bool is_park);
void park_bpf_fds__drop_place(struct park_bpf_fds *maps, const struct jank_park_place *place);

/*
 * What the probes are told of interpreters' threads (bpf/script.bpf.h). Descriptors of its own, as
 * park_maps has them.
 */

struct interp_bpf_fds {
	int threads_fd, any_fd; /* -1: none, and nothing is told */
	bool any;
};

#define SCRIPT_MAPS_NONE                                                                           \
	{                                                                                          \
		-1, -1, false                                                                      \
	}

void interp_bpf_fds__close(struct interp_bpf_fds *maps);

/* The probes forget a thread that ends. With where: as it stands there. */
bool interp_bpf_fds__has(const struct interp_bpf_fds *maps, uint32_t pid, uint32_t tid,
			 const struct jank_script_where *where);

/* 0 or -errno: -E2BIG when there are too many. */
int interp_bpf_fds__set(struct interp_bpf_fds *maps, uint32_t tid,
			const struct jank_script_where *where);

#endif
