/* SPDX-License-Identifier: GPL-2.0 */
/* Types and declarations of the maps and globals; maps.bpf.c defines them. */
#ifndef JANK_MAPS_BPF_H
#define JANK_MAPS_BPF_H

#include "bpf/map_values.bpf.h"

#ifdef JANK_PLAIN
/* By thread id. Preallocated: before 6.1 a hash cannot allocate memory in a scheduler event. */
struct jank_threads_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JANK_THREAD_MAX);
	__type(key, __u32);
	__type(value, struct jank_thread);
};
/* Template of a new entry, which is too large for the stack. */
struct jank_blank_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct jank_thread);
};
extern struct jank_blank_map jank_blank SEC(".maps");
#else
struct jank_threads_map {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct jank_thread);
};
#endif
struct jank_tgids_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JANK_TGID_MAX);
	__type(key, __u32);
	__type(value, __u32);
};
/* By process: with jank_conf.adjustable, its own threshold, not below jank_threshold_ns. */
struct jank_limits_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, JANK_TGID_MAX);
	__type(key, __u32);
	__type(value, __u64);
};
/*
 * By process that polls: nonzero when it maps a library with a loop that polls. One descriptor is
 * enough evidence there.
 */
struct jank_pollers_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, JANK_TGID_MAX);
	__type(key, __u32);
	__type(value, __u32);
};
/* By process with a runtime that parks its workers. Written by user space. */
struct jank_parkers_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JANK_PARKER_MAX);
	__type(key, __u32);
	__type(value, struct jank_parks);
};
/*
 * Processes of which no loop is wanted, each in slot pid % JANK_LEFT_MAX. A process replaces the
 * one that had its slot. The map makes their waits cheap; jank_parkers has them, too.
 */
struct jank_left_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, JANK_LEFT_MAX);
	__type(key, __u32);
	__type(value, __u32);
};
/*
 * Answers JANK_PARK_* by place. User space writes them when a WAIT record asks, and when the trace
 * begins also for waits in poll, ppoll, select, pselect6 and io_uring_enter (arg0 is 0).
 */
struct jank_parks_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, JANK_PARK_PLACE_MAX);
	__type(key, struct jank_park_place);
	__type(value, __u32);
};
struct jank_openings_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JANK_OPENING_MAX);
	__type(key, __u32);
	__type(value, struct jank_opening);
};
/* Processes that began recently, and the start-ups that have a dispatch. */
struct jank_execs_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, JANK_EXEC_MAX);
	__type(key, __u32);
	__type(value, struct jank_exec);
};
struct jank_startups_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JANK_STARTUP_MAX);
	__type(key, __u32);
	__type(value, struct jank_startup);
};
/* Zeroes. */
struct jank_startup_blank_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct jank_startup);
};
/* How often user space changed jank_parkers; 0: never, so that no lookup is needed. */
struct jank_park_gen_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
};
/* By thread that runs an interpreter with readable frames. */
struct jank_scripts_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JANK_SCRIPT_THREAD_MAX);
	__type(key, __u32);
	__type(value, struct jank_script);
};
/* Nonzero: jank_scripts has entries. Written by user space. */
struct jank_script_any_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
};
struct jank_globs_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, JANK_FILTER_MAX);
	__type(key, __u32);
	__type(value, struct jank_glob);
};
struct jank_cgroups_map {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, JANK_FILTER_MAX);
	__type(key, __u32);
	__type(value, __u32);
};
/* Programs that jank_on_switch enters. Only those of the same tracepoint can be here. */
struct jank_tails_map {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, JANK_TAIL_CNT);
	__type(key, __u32);
	__type(value, __u32);
};
struct jank_marks_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, JANK_MARK_MAX);
	__type(key, __u32);
	__type(value, struct jank_mark);
};
/* By user. Preallocated, because entries are made in scheduler events, too. */
struct jank_shares_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JANK_SHARE_USER_MAX + 1);
	__type(key, __u32);
	__type(value, struct jank_share);
};
struct jank_ring_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
};
struct jank_lost_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, JANK_LOSS_CNT);
	__type(key, __u32);
	__type(value, __u64);
};
struct jank_slices_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct jank_slices);
};
struct jank_others_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, JANK_OTHER_MAX);
	__type(key, __u32);
	__type(value, struct jank_other);
};
struct jank_rests_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, JANK_OTHER_MAX);
	__type(key, __u32);
	__type(value, struct jank_watch_rest);
};
struct jank_nests_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, JANK_NEST_CNT);
	__type(key, __u32);
	__type(value, struct jank_nest);
};
struct jank_watch_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct jank_watch);
};
struct jank_copies_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, JANK_COPY_CNT);
	__type(key, __u32);
	__type(value, struct jank_copy);
};
struct jank_deep_copies_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, JANK_COPY_DEEP_CNT);
	__type(key, __u32);
	__type(value, struct jank_deep_copy);
};
struct jank_other_copies_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, JANK_COPY_OTHER_CNT);
	__type(key, __u32);
	__type(value, struct jank_copy);
};
/* Bytes copied of a stack, by process; jank_conf.copy_sz for all others. Written by user space. */
struct jank_copy_szs_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JANK_TGID_MAX);
	__type(key, __u32);
	__type(value, __u32);
};
/* Number of entries of jank_copy_szs. */
struct jank_copy_deep_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
};
struct jank_scratch_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct jank_stack_buf);
};

struct jank_vblanks_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, JANK_CRTC_MAX);
	__type(key, __u32);
	__type(value, struct jank_vblanks);
};

/*
 * History of each CPU, read by user space through a mapping. User space sets max_entries: the CPUs
 * times jank_conf.history_cnt, and the CPUs.
 */
#define HISTORY_MAPPED (1u << 10) /* BPF_F_MMAPABLE: 5.5 (fc9702273e2e) */
struct jank_history_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, HISTORY_MAPPED);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct jank_history_entry);
};
struct jank_history_heads_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, HISTORY_MAPPED);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct jank_history_head);
};

/* Output of a read of one thread: the record first. It has one reader at a time. */
struct jank_look {
	struct jank_rec_thread thread;
	struct jank_stack_buf stack;
};
struct jank_look_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct jank_look);
};

extern struct jank_threads_map jank_threads SEC(".maps");
extern struct jank_tgids_map jank_tgids SEC(".maps");
extern struct jank_limits_map jank_limits SEC(".maps");
extern struct jank_pollers_map jank_pollers SEC(".maps");
extern struct jank_parkers_map jank_parkers SEC(".maps");
extern struct jank_left_map jank_left SEC(".maps");
extern struct jank_parks_map jank_parks SEC(".maps");
extern struct jank_park_gen_map jank_park_gen SEC(".maps");
extern struct jank_openings_map jank_openings SEC(".maps");
extern struct jank_execs_map jank_execs SEC(".maps");
extern struct jank_startups_map jank_startups SEC(".maps");
extern struct jank_startup_blank_map jank_startup_blank SEC(".maps");
extern struct jank_scripts_map jank_scripts SEC(".maps");
extern struct jank_script_any_map jank_script_any SEC(".maps");
extern struct jank_globs_map jank_globs SEC(".maps");
extern struct jank_cgroups_map jank_cgroups SEC(".maps");
extern struct jank_tails_map jank_tails SEC(".maps");
extern struct jank_marks_map jank_marks SEC(".maps");
extern struct jank_shares_map jank_shares SEC(".maps");
extern struct jank_ring_map jank_ring SEC(".maps");
extern struct jank_lost_map jank_lost SEC(".maps");
extern struct jank_slices_map jank_slices SEC(".maps");
extern struct jank_others_map jank_others SEC(".maps");
extern struct jank_rests_map jank_rests SEC(".maps");
extern struct jank_nests_map jank_nests SEC(".maps");
extern struct jank_watch_map jank_watch SEC(".maps");
extern struct jank_copies_map jank_copies SEC(".maps");
extern struct jank_deep_copies_map jank_deep_copies SEC(".maps");
extern struct jank_other_copies_map jank_other_copies SEC(".maps");
extern struct jank_copy_szs_map jank_copy_szs SEC(".maps");
extern struct jank_copy_deep_map jank_copy_deep SEC(".maps");
extern struct jank_scratch_map jank_scratch SEC(".maps");
extern struct jank_look_map jank_look SEC(".maps");
extern struct jank_vblanks_map jank_vblanks SEC(".maps");
extern struct jank_history_map jank_history SEC(".maps");
extern struct jank_history_heads_map jank_hist_heads SEC(".maps");

/* With jank_conf.adjustable: a dispatch longer than this is a block. Written by user space. */
extern __u64 jank_threshold_ns;

/* JANK_REDUCE_*. Written by user space. */
extern __u32 jank_reduced;
/* Used entries of jank_cgroups; a cgroup of the selection may be removed, and made again. */
extern __u32 jank_cgroup_cnt;

/* Number of users in jank_shares. From the second one on the ring is shared out. */
extern __u32 jank_share_user_cnt;
#ifdef JANK_PLAIN
extern __u64 jank_thread_cnt; /* entries of jank_threads that count for a user */
#endif

/* -a: questions about places (chain.bpf.h) since jank_asks_ns. */
extern __u64 jank_asks_ns;
extern __u32 jank_asks_cnt;

/*
 * Nonzero: a dispatch has waited so long that the other threads are watched, since
 * jank_watch_start_ns.
 */
extern __u32 jank_watch_on;
extern __u64 jank_watch_start_ns;
extern __u64 jank_watch_rest_ns; /* from one record, or stack, of a thread to its next one */
extern __u64 jank_queue_off_ns;	 /* see queue_clock.bpf.h; 0: not known */
extern __u64
	jank_watch_group; /* struct task_group of the last thread that began to wait; 0: none */
/*
 * Threads with a dispatch that wait, and since when; 0: none. Indexed by the last bits of the
 * thread id.
 */
#define JANK_WAITER_MAX 64
extern __u64 jank_waiter_ns[JANK_WAITER_MAX];
extern __u32 jank_waiter_tid[JANK_WAITER_MAX];
/* Of a thread with a wait that timed out: when it began to wait, and when it returned to retry. */
extern __u64 jank_waiter_since_ns[JANK_WAITER_MAX];
extern __u64 jank_waiter_left_ns[JANK_WAITER_MAX];

#endif
