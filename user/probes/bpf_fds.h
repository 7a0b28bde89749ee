/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BPF maps with the processes of which the probes copy more stack (bpf/copy_user_stack.bpf.h). It
 * has its own descriptors, because the sink thread uses it and may outlive the loader.
 */
#ifndef JANK_PROBES_BPF_FDS_H
#define JANK_PROBES_BPF_FDS_H

#include "bpf/jank_abi.h"
#include <stdbool.h>
#include <stdint.h>

struct copy_bpf_fds {
	int sizes_fd, deep_fd; /* -1: none; updates are ignored */
	uint32_t deep_cnt;
};

#define COPY_MAPS_NONE                                                                             \
	{                                                                                          \
		-1, -1, 0                                                                          \
	}

void copy_bpf_fds__close(struct copy_bpf_fds *maps);

/*
 * From now on the probes copy `size` bytes of the process's stacks. Returns 0 or -errno (-E2BIG:
 * too many processes).
 */
int copy_bpf_fds__deepen(struct copy_bpf_fds *maps, uint32_t pid, uint32_t size);
void copy_bpf_fds__drop(struct copy_bpf_fds *maps, uint32_t pid);

/*
 * --- BPF maps of parks (bpf/park.bpf.h): processes that have parks, and which places are parks;
 * own descriptors, for the same reason
 */

struct park_bpf_fds {
	int processes_fd, left_fd, places_fd, change_fd; /* -1: none; updates are ignored */
	uint32_t changes;
};

#define PARK_MAPS_NONE                                                                             \
	{                                                                                          \
		-1, -1, -1, -1, 0                                                                  \
	}

void park_bpf_fds__close(struct park_bpf_fds *maps);

/* 0 or -errno: -E2BIG when there are too many processes. */
int park_bpf_fds__set_process(struct park_bpf_fds *maps, uint32_t pid,
			      const struct jank_parks *parks);
bool park_bpf_fds__has_process(const struct park_bpf_fds *maps, uint32_t pid);
void park_bpf_fds__drop_process(struct park_bpf_fds *maps, uint32_t pid);

/* verdict: JANK_PARK_* */
int park_bpf_fds__set_place(struct park_bpf_fds *maps, const struct jank_park_place *place,
			    uint32_t verdict);
void park_bpf_fds__drop_place(struct park_bpf_fds *maps, const struct jank_park_place *place);

/* --- BPF maps of interpreter threads (bpf/script.bpf.h); own descriptors, for the same reason */

struct interp_bpf_fds {
	int threads_fd, any_fd; /* -1: none; updates are ignored */
	bool any;
};

#define SCRIPT_MAPS_NONE                                                                           \
	{                                                                                          \
		-1, -1, false                                                                      \
	}

void interp_bpf_fds__close(struct interp_bpf_fds *maps);

/*
 * Whether the probes know the thread, with exactly this `where`. The probes drop a thread when it
 * ends.
 */
bool interp_bpf_fds__has(const struct interp_bpf_fds *maps, uint32_t pid, uint32_t tid,
			 const struct jank_script_where *where);

/* 0 or -errno: -E2BIG when there are too many threads. */
int interp_bpf_fds__set(struct interp_bpf_fds *maps, uint32_t tid,
			const struct jank_script_where *where);

/* --- counters: losses counted by the probes, and runs of the probes counted by the kernel */

struct bpf_object;

/*
 * Adds the losses of all CPUs to cnt, by JANK_LOST_*. map_fd: the per-CPU array of counts. Returns
 * 0 or -ENOMEM.
 */
int bpf_counters__losses(int map_fd, uint64_t cnt[JANK_LOSS_CNT]);

/* Calls fn with each user's account (JANK_SHARE_OTHERS too). map_fd: the accounts by uid. */
void bpf_counters__each_share(int map_fd,
			      void (*fn)(void *ctx, uint32_t uid, const struct jank_share *share),
			      void *ctx);

/*
 * Number of runs that the kernel skipped because this program, or one like it, was already running
 * on that CPU. 0 when the kernel does not count them.
 */
uint64_t bpf_counters__skipped(int prog_fd);

/* Adds the program's time in ns, and its runs, while the kernel's BPF statistics were on. */
void bpf_counters__add_cost(int prog_fd, uint64_t *ns, uint64_t *runs);

/*
 * What the statistics say that an empty program takes, in ns a run: the reading of their clock
 * (46 ns on 6.18, virtual machine). 0: not known. Takes a millisecond.
 */
uint64_t bpf_counters__empty_run_ns(void);

/*
 * --- BPF maps of dispatches that were open before the trace (bpf/opening.bpf.h); own descriptors,
 * since a thread of its own uses them
 */
#ifdef __x86_64__
#define JANK_REG_SP 7 /* in jank_opening.regs, see JANK_REG_MAX */
#define JANK_REG_PC 16
#else
#define JANK_REG_SP 31
#define JANK_REG_PC 32
#endif
struct opening_bpf_fds {
	int openings_fd, copies_fd, execs_fd;
	struct jank_exec *execs; /* the map's memory, JANK_EXEC_MAX entries; NULL: not mapped */
};

void opening_bpf_fds__close(struct opening_bpf_fds *maps);

/* Thread tid is in a handler: the first part of *opening. 0 or -errno. */
int opening_bpf_fds__put(const struct opening_bpf_fds *maps, uint32_t tid,
			 const struct jank_opening *opening);
/* 0 or -errno. */
int opening_bpf_fds__get(const struct opening_bpf_fds *maps, uint32_t tid,
			 struct jank_opening *ret);
void opening_bpf_fds__drop(const struct opening_bpf_fds *maps, uint32_t tid);

/* Maps the memory of the processes that began lately, for the functions below. 0 or -errno. */
int opening_bpf_fds__map_execs(struct opening_bpf_fds *maps);

/*
 * Processes that began lately: at most max of them. An entry that comes or goes meanwhile may be
 * missing. Reads 4,096 entries, about 15 us.
 */
size_t opening_bpf_fds__execs(const struct opening_bpf_fds *maps, uint32_t *pids,
			      struct jank_exec *execs, size_t max);
/* One of them. 0 or -errno. */
int opening_bpf_fds__exec(const struct opening_bpf_fds *maps, uint32_t pid, struct jank_exec *ret);
void opening_bpf_fds__forget(const struct opening_bpf_fds *maps, uint32_t pid); /* it is old */

/* Gives the probes a copy of the stack of its thread. 0; -EBUSY: the slot is in use; or -errno. */
int opening_bpf_fds__put_copy(const struct opening_bpf_fds *maps, const struct jank_copy *copy);

#endif
