/* SPDX-License-Identifier: GPL-2.0 */
/* Types and declarations of the maps and globals; maps.bpf.c defines them. */
#ifndef JANK_MAPS_BPF_H
#define JANK_MAPS_BPF_H

#include "bpf/kernel.bpf.h"

/*
 * Details of a wait that lie in the program's memory; read when the thread leaves the CPU
 * (wait_object__ask).
 */
struct jank_await {
	__u64 timeout_ns;
	__u64 inode; /* kernel's inode address of the file with the missing page; 0: none */
	__u32 futex_word, owner;
	/* the descriptor that it waits for, or the first of them; -1: none */
	__s32 fd;
	__u32 got;			/* JANK_WAITED_* */
	char path[JANK_WAITED_NAME_SZ]; /* JANK_WAITED_PATH; always ends in a zero byte */
};

/* Stack record with a buffer for its variable parts. */
struct jank_stack_buf {
	struct jank_rec_stack rec;
	__u64 tail[JANK_KSTACK_MAX + JANK_USTACK_MAX +
		   JANK_SLICE_MAX * (sizeof(struct jank_task) + sizeof(__u16)) / sizeof(__u64)];
};

#define JANK_PHASE_NONE	     0 /* no wait seen yet */
#define JANK_PHASE_WAITING   1 /* in its loop's wait */
#define JANK_PHASE_DISPATCH  2 /* between the end of a wait and the begin of the next one */
#define JANK_PHASE_CANDIDATE 3 /* it may park; not yet known to be a loop */
#define JANK_PHASE_PARKED    4 /* in a park: a dispatch opens when it gets the CPU */

/*
 * Place where a thread waits in poll, ppoll, select, pselect6 or io_uring_enter, identified by
 * stack depth, system call, and array.
 */
struct jank_place {
	__u64 sp;
	__u64 fds;
	__s32 nr;
	__u32 turn_cnt; /* consecutive waits there */
	__u32 fd_cnt;	/* size of the array of poll and ppoll */
	__s32 first_fd; /* first descriptor in the array, when it is a loop's place; else -1 */
};

/*
 * What the thread handles now, in raw form. It is decoded only when the dispatch turns out to be
 * slow, while the handler still runs (read_message__all).
 */
struct jank_handled {
	__u64 events; /* epoll's array in user space; 0: not known */
	__u32 mark;   /* index + 1; 0: no mark was hit */
	__u32 taken;  /* the data below was decoded into rec */
	/* stack pointer of the marked function, and the return address there while it runs */
	__u64 mark_sp, mark_ret;
	__u64 args[JANK_MARK_ARG_MAX];
	__u32 nested_cnt, pad;
	__u64 due_ns; /* due time of the first message in a Looper's queue; 0: none, or no Looper */
	struct jank_rec_message rec;
};

/*
 * State of a thread that waits in a loop. The thread itself writes it (waits, switches); while the
 * thread is off the CPU, its waker does. The two never run at the same time, except for
 * early_wake_ns.
 */
struct jank_thread {
	/* hot cache line: everything that a fast dispatch uses */
	__u64 start_ns;		       /* begin of the open dispatch; 0: none is open */
	__u64 mark_ns;		       /* time up to which state_ns is accounted */
	__u64 exec_sum_ns, exec_at_ns; /* the CPU clock at start_ns, see thread__cpu_ns */
	__u64 clock_off_ns; /* CLOCK_MONOTONIC minus the run queue's clock, at the last switch-in */
	__u64 sp;	    /* user stack pointer of the loop's outermost wait */
	__s32 fd;	    /* the loop's epoll descriptor; -1: not known */
	__u32 phase;	    /* JANK_PHASE_* */
	__u32 loop;	    /* JANK_LOOP_* */
	__u32 state;	    /* JANK_STATE_*, while a dispatch is open */
	__u32 accounted;    /* it was off the CPU in this dispatch: state_ns is in use */
	__u32 looper_entry; /* in pollOnce, before its epoll_wait */
	__u64 start_delay_ns; /* of the open dispatch: from the wake-up to start_ns */
	/*
	 * In its loop's wait: time when it was woken, or lost the CPU before it could sleep; 0: it
	 * sleeps.
	 */
	__u64 woken_ns;
	__s32 ready_cnt;
	__u32 evidence; /* stack_cnt, shed_cnt, wakeup_missed_cnt or hang_sent is not 0 */

	__u64 state_ns[JANK_STATE_CNT];
	__u64 key;	/* address of the android::Looper */
	__u64 file_ops; /* file operations of the file behind fd (epoll's) */
	__u64 early_wake_ns;
	__u64 nested_sp;
	__s32 nested_fd;
	__u32 nested_cnt; /* consecutive waits on nested_fd at nested_sp */
	__u32 stack_cnt, shed_cnt, wakeup_missed_cnt, hang_sent;
	__u32 counted;	   /* included in jank_runnable_cnt */
	__u32 nested_left; /* it left the CPU in a nested wait, which was judged then */
	__u64 spill; /* hides a value from the verifier: compat__on_task_stack, thread__count */

	struct jank_place place; /* place of a polling loop's wait, on probation or not */
	struct jank_place inner; /* place of a handler's own wait */
	struct jank_place look;	 /* place where it last looked for work: poll__looks_often */
	__u64 look_sleeps;	 /* task->nvcsw at that time */
	/* on probation: number of this trial of the thread; 0: not on probation */
	__u32 trial;
	__u32 trial_cnt;

	__u32 parks;	/* JANK_PARKS_* of the process, as of park_gen */
	__u32 park_gen; /* jank_park_gen at that time */
	__u32 park_cnt; /* consecutive waits at `park` */
	__u32 park_ask_cnt;
	__u64 verdict; /* JANK_PARK_* of the last wait that was asked about (poll__learn) */
	struct jank_park_place park;  /* where it slept last */
	struct jank_park_place asked; /* the last place that it asked about */
	/* identity of the interpreter's frames at the place on probation; 0: not known */
	__u64 tried_script;
	__u64 park_left_ns; /* when it left the CPU at an unknown place */
	/* begin of the dispatch that a park opened; 0: it slept otherwise since */
	__u64 park_start_ns;
	__u64 park_ask_ns; /* end of the period in which questions are counted */
	__u64 waits_else;  /* nonzero: it also sleeps in calls that are no wait for work */
	/* service whose connections its loop accepts (client.bpf.h); 0: none */
	__u64 service;
	__u64 code;	   /* user instruction pointer where its loop waits in epoll */
	__u64 off;	   /* that loop is not wanted: see off.bpf.h */
	__u64 ask_backoff; /* -a: how often the time between questions was doubled */

	struct jank_handled handled;

	__u64 dispatch_cnt, block_cnt, hang_cnt;
	/* their durations; max_ns comes first, on the cache line of the counts */
	struct jank_hist dispatches;
	struct jank_hist starts; /* their start delays */

#ifdef JANK_PLAIN
	__u64 task; /* the task; needed where the entry is found by number */
#endif
	__u32 user;		  /* key of its user's account: share.bpf.h */
	__u32 counted_user;	  /* plain probes: it is in that account's thread_cnt */
	__u64 throttled_mark;	  /* facts__throttled_ns when it left the CPU last */
	__u64 start_throttled_ns; /* throttled part of start_delay_ns, when that is long */
	__u64 throttled_ns, min_flt,
		maj_flt;   /* min_flt, maj_flt: counts when first read in the dispatch */
	__u64 fault_inode; /* inode of the file of its last page fault, see jank_on_fault */
	struct jank_await await;
	struct jank_stack_buf span; /* the current span off the CPU */
};

/*
 * Log of the tasks that ran on a CPU recently; kept only while a traced thread waits for a CPU
 * somewhere. Slices of one task within JANK_SLICE_MERGE_NS share an entry: three tasks that
 * alternate every 3 ms fill 32 entries in 1.3 s instead of 0.1 s.
 */
#define JANK_SLICE_LOG	    32
#define JANK_SLICE_MERGE_NS 128000000
#define JANK_SLICE_RECENT   64 /* entries of a table by the last bits of the task id */
struct jank_slice {
	__u64 begin_ns, end_ns; /* begin of its first slice, end of its last */
	__u64 ns;		/* sum of all its slices */
	__u32 tgid;
	__u32 tid;
	__u16 prio; /* as in the records, see JANK_PRIO_OFFSET */
	__u16 pad[3];
	char comm[JANK_COMM_SZ];
};
struct jank_slices {
	__u32 head;			 /* number of entries ever made */
	__u32 epoch;			 /* jank_slice_epoch at the last entry */
	__u64 last_ns;			 /* time of the last logged switch of the CPU */
	__u32 query_cnt;		 /* number of spans that queried the log */
	__u32 epoch_head;		 /* number of entries made before that epoch */
	__u32 recent[JANK_SLICE_RECENT]; /* number of the task's newest entry, counted from 1 */
	/*
	 * Result of slices__collect: the tasks and their priorities. met_* is an index of each
	 * task's place among them.
	 */
	struct jank_task found[JANK_SLICE_MAX];
	__u16 prios[JANK_SLICE_MAX];
	__u32 found_cnt, found_cut;
	__u64 found_ns; /* sum over all of them */
	__u32 met_tid[JANK_SLICE_RECENT], met_query[JANK_SLICE_RECENT], met_at[JANK_SLICE_RECENT];
	struct jank_slice log[JANK_SLICE_LOG];
};

/*
 * Span off the CPU of a thread without a dispatch, while some dispatch waits: see
 * waker_watch.bpf.h.
 */
#define JANK_OTHER_MAX 1024
struct jank_other {
	__u64 writes; /* see slot__lock */
	__u64 spill;  /* as in jank_thread */
	__u64 woken_ns;
	/* the thread's switches when it left; tells an earlier span from its last */
	__u64 switch_cnt;
	/*
	 * when a span of another thread was overwritten; nothing is known about that thread since
	 * then
	 */
	__u64 taken_ns;
	__u32 tid; /* thread that uses the slot; 0: free */
	__u32 pad;
	struct jank_await await;
	struct jank_stack_buf span;
};
/* Part of waker_watch.bpf.h's state for each CPU. */
struct jank_watch {
	__u32 token_cnt;
	__u32 pad;
	__u64 clock_off_ns; /* CLOCK_MONOTONIC minus the run queue's clock */
	__u64 woken_ns;
	struct jank_await await;
	struct jank_stack_buf buf;
};

/*
 * Copies of user stacks: of threads with a dispatch, some of them deeper, and of other watched
 * threads. Indexed by the last bits of the thread id: see copy_user_stack.bpf.h. 17 MiB in total.
 */
#define JANK_COPY_CNT	    512
#define JANK_COPY_DEEP_CNT  64
#define JANK_COPY_OTHER_CNT 256
struct jank_copy {
	__u64 writes; /* see slot__lock */
	struct jank_rec_copy rec;
	__u8 bytes[JANK_COPY_SZ + JANK_COPY_PAGE]; /* the verifier adds a whole page */
};
struct jank_deep_copy {
	__u64 writes;
	struct jank_rec_copy rec;
	__u8 bytes[JANK_COPY_MAX + JANK_COPY_PAGE];
};

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
 * Answers JANK_PARK_* by place. User space writes them when a WAIT record asks, and when the trace
 * begins also for waits in poll, ppoll, select, pselect6 and io_uring_enter (arg0 is 0).
 */
struct jank_parks_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, JANK_PARK_PLACE_MAX);
	__type(key, struct jank_park_place);
	__type(value, __u32);
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
extern struct jank_pollers_map jank_pollers SEC(".maps");
extern struct jank_parkers_map jank_parkers SEC(".maps");
extern struct jank_parks_map jank_parks SEC(".maps");
extern struct jank_park_gen_map jank_park_gen SEC(".maps");
extern struct jank_scripts_map jank_scripts SEC(".maps");
extern struct jank_script_any_map jank_script_any SEC(".maps");
extern struct jank_globs_map jank_globs SEC(".maps");
extern struct jank_cgroups_map jank_cgroups SEC(".maps");
extern struct jank_marks_map jank_marks SEC(".maps");
extern struct jank_shares_map jank_shares SEC(".maps");
extern struct jank_ring_map jank_ring SEC(".maps");
extern struct jank_lost_map jank_lost SEC(".maps");
extern struct jank_slices_map jank_slices SEC(".maps");
extern struct jank_others_map jank_others SEC(".maps");
extern struct jank_watch_map jank_watch SEC(".maps");
extern struct jank_copies_map jank_copies SEC(".maps");
extern struct jank_deep_copies_map jank_deep_copies SEC(".maps");
extern struct jank_other_copies_map jank_other_copies SEC(".maps");
extern struct jank_copy_szs_map jank_copy_szs SEC(".maps");
extern struct jank_copy_deep_map jank_copy_deep SEC(".maps");
extern struct jank_scratch_map jank_scratch SEC(".maps");
extern struct jank_look_map jank_look SEC(".maps");
extern struct jank_vblanks_map jank_vblanks SEC(".maps");

/* Number of traced threads that wait for a CPU within a dispatch, over all CPUs. */
extern __u32 jank_runnable_cnt;

/* Changes when the first of these threads begins to wait: before that, nothing is logged. */
extern __u32 jank_slice_epoch;

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
extern __u64 jank_watch_shed_ns; /* when something was dropped that should have been kept */
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
