/* SPDX-License-Identifier: GPL-2.0 */
/* Types and declarations of the maps; they are defined once, in maps.bpf.c. */
#ifndef JANK_MAPS_BPF_H
#define JANK_MAPS_BPF_H

#include "bpf/kernel.bpf.h"

/* Of a wait, what lies in the program's memory: read as the thread leaves (wait_object__ask). */
struct jank_await {
	__u64 timeout_ns;
	__u64 inode; /* the kernel's, of the file whose page is missing; 0: none */
	__u32 futex_word, owner;
	__s32 fd;			/* that it waits for, or the first; -1: none */
	__u32 got;			/* JANK_WAITED_* */
	char path[JANK_WAITED_NAME_SZ]; /* JANK_WAITED_PATH; it ends in a zero byte, cut or not */
};

/* A stack record with room for its variable parts. */
struct jank_stack_buf {
	struct jank_rec_stack rec;
	__u64 tail[JANK_KSTACK_MAX + JANK_USTACK_MAX +
		   JANK_SLICE_MAX * (sizeof(struct jank_task) + sizeof(__u16)) / sizeof(__u64)];
};

#define JANK_PHASE_NONE	     0 /* no wait was seen yet */
#define JANK_PHASE_WAITING   1 /* in its loop's wait */
#define JANK_PHASE_DISPATCH  2 /* between the wait's end and the next one's begin */
#define JANK_PHASE_CANDIDATE 3 /* it may park; not yet known to be a loop */
#define JANK_PHASE_PARKED    4 /* waits in a park: a dispatch opens when it gets the CPU */

/*
 * A place where a thread waits in poll or its kin: by the stack's depth, the system call, and its
 * array.
 */
struct jank_place {
	__u64 sp;
	__u64 fds;
	__s32 nr;
	__u32 turn_cnt; /* waits there in a row */
	__u32 fd_cnt;	/* of poll's and ppoll's array */
	__s32 first_fd; /* in it, where it is a loop's; else -1 */
};

/*
 * What is handled now, kept raw: it is read only when the dispatch turns out slow, while the
 * handler still runs (read_message__all).
 */
struct jank_handled {
	__u64 events;		 /* epoll's array in user space; 0: not known */
	__u32 mark;		 /* index + 1; 0: none was hit */
	__u32 taken;		 /* what follows was read into rec */
	__u64 mark_sp, mark_ret; /* the return address there, while the marked function runs */
	__u64 args[JANK_MARK_ARG_MAX];
	__u32 nested_cnt, pad;
	__u64 due_ns; /* the first message in a Looper's queue, as it came back; 0: none, or no Looper */
	struct jank_rec_message rec;
};

/*
 * What is known of a thread that waits in a loop. Written by the thread itself (waits, switches)
 * and, while it is off the CPU, by whoever wakes it: the two never run at once but for
 * early_wake_ns.
 */
struct jank_thread {
	/* the hot line: all that a fast dispatch touches */
	__u64 start_ns;		       /* the open dispatch's begin; 0: none is open */
	__u64 mark_ns;		       /* state_ns is accounted up to here */
	__u64 exec_sum_ns, exec_at_ns; /* the CPU clock at start_ns, see sched__cpu_ns */
	__u64 clock_off_ns; /* CLOCK_MONOTONIC minus the run queue's clock, at the last switch-in */
	__u64 sp;	    /* user stack pointer of the loop's outermost wait */
	__s32 fd;	    /* the loop's epoll descriptor; -1: not known */
	__u32 phase;	    /* JANK_PHASE_* */
	__u32 loop;	    /* JANK_LOOP_* */
	__u32 state;	    /* JANK_STATE_*, while a dispatch is open */
	__u32 accounted;    /* it was off the CPU in this dispatch: state_ns is in use */
	__u32 looper_entry; /* in pollOnce, and its epoll_wait not reached */
	__u64 start_delay_ns; /* of the open dispatch: from the wake-up to start_ns */
	__u64 woken_ns; /* in its loop's wait: when it was woken, or lost the CPU before it could sleep; 0: it sleeps */
	__s32 ready_cnt;
	__u32 evidence; /* stack_cnt, shed_cnt, wakeup_missed_cnt or hang_sent is not 0 */

	__u64 state_ns[JANK_STATE_CNT];
	__u64 key;	/* android::Looper's address */
	__u64 file_ops; /* of the file behind fd: epoll's */
	__u64 early_wake_ns;
	__u64 nested_sp;
	__s32 nested_fd;
	__u32 nested_cnt; /* waits in a row on nested_fd at nested_sp */
	__u32 stack_cnt, shed_cnt, wakeup_missed_cnt, hang_sent;
	__u32 counted;	   /* in jank_runnable_cnt */
	__u32 nested_left; /* it left the CPU in a nested wait, which was judged then */
	__u64 spill; /* what the verifier shall forget: compat__on_task_stack, thread__count */

	struct jank_place place; /* of a loop of poll's, on probation or not */
	struct jank_place inner; /* a handler's own */
	struct jank_place look;	 /* where it looked for work last: poll__looks_often */
	__u64 look_sleeps;	 /* as of then: task->nvcsw */
	__u32 trial;		 /* on probation: which one of the thread's this is; 0: not */
	__u32 trial_cnt;

	__u32 parks;	/* JANK_PARKS_* of the process, as of park_gen */
	__u32 park_gen; /* jank_park_gen then */
	__u32 park_cnt; /* waits at `park` in a row */
	__u32 park_ask_cnt;
	__u64 verdict; /* JANK_PARK_* of the last wait that was asked about (poll__learn) */
	struct jank_park_place park;  /* where it slept last */
	struct jank_park_place asked; /* the last place that it asked of */
	__u64 tried_script; /* of the place on probation: which frames of its interpreter; 0: not known */
	__u64 park_left_ns;  /* when it left the CPU at a place of which nothing was known */
	__u64 park_start_ns; /* of the dispatch that a park opened, and nothing like it since */
	__u64 park_ask_ns;   /* questions are counted until then */
	__u64 waits_else;    /* not 0: it also sleeps in calls that are no wait for work */
	__u64 service;	     /* its loop accepts connections of this one (client.bpf.h); 0: no */
	__u64 code;	     /* where its loop waits in epoll: the user instruction pointer */
	__u64 off;	     /* that loop is not wanted: see off.bpf.h */
	__u64 ask_backoff;   /* -a: how often the time between questions was doubled */

	struct jank_handled handled;

	__u64 dispatch_cnt, block_cnt, hang_cnt;
	struct jank_hist dispatches; /* their durations; max_ns first, on the counts' line */
	struct jank_hist starts;     /* their start delays */

#ifdef JANK_PLAIN
	__u64 task; /* whose this is, for who finds it by number */
#endif
	__u64 throttled_mark;	  /* as of when it left the CPU last: sched__throttled_ns */
	__u64 start_throttled_ns; /* of start_delay_ns, where that is long */
	__u64 throttled_ns, min_flt,
		maj_flt;   /* the last two: as of when they were first looked at */
	__u64 fault_inode; /* of the file that a page fault of its asked last, see jank_on_fault */
	struct jank_await await;
	struct jank_stack_buf span; /* the time off the CPU in progress */
};

/*
 * Which tasks ran on a CPU lately; kept only while a traced thread waits for a CPU somewhere.
 * Slices of one task within JANK_SLICE_MERGE_NS are one entry: three tasks that take turns every 3
 * ms fill 32 entries in 1.3 s, not in 0.1.
 */
#define JANK_SLICE_LOG	    32
#define JANK_SLICE_MERGE_NS 128000000
#define JANK_SLICE_RECENT   64 /* entries of a table by the task id's last bits */
struct jank_slice {
	__u64 begin_ns, end_ns; /* of its first and its last slice */
	__u64 ns;		/* of all of them */
	__u32 tgid;
	__u32 tid;
	__u16 prio; /* as on the wire */
	__u16 pad[3];
	char comm[JANK_COMM_SZ];
};
struct jank_slices {
	__u32 head;	  /* entries ever made */
	__u32 epoch;	  /* jank_slice_epoch at the last one */
	__u64 last_ns;	  /* when the CPU changed hands last, as far as it was logged */
	__u32 query_cnt;  /* spans that asked */
	__u32 epoch_head; /* entries made before that epoch */
	__u32 recent[JANK_SLICE_RECENT]; /* the task's newest entry, by its count from 1 on */
	/*
	 * What slices__collect found: the tasks and their priorities; and where each task is among
	 * them.
	 */
	struct jank_task found[JANK_SLICE_MAX];
	__u16 prios[JANK_SLICE_MAX];
	__u32 found_cnt, found_cut;
	__u64 found_ns; /* of all of them */
	__u32 met_tid[JANK_SLICE_RECENT], met_query[JANK_SLICE_RECENT], met_at[JANK_SLICE_RECENT];
	struct jank_slice log[JANK_SLICE_LOG];
};

/*
 * The span off the CPU of a thread without a dispatch, while somebody waits: see waker_watch.bpf.h.
 */
#define JANK_OTHER_MAX 1024
struct jank_other {
	__u64 writes; /* see slot__lock */
	__u64 spill;  /* as in jank_thread */
	__u64 woken_ns;
	__u64 switch_cnt; /* of the thread as it left, so that an earlier span is told from its last */
	__u64 taken_ns; /* when it was another's last, of which nothing is known since then */
	__u32 tid;	/* whose it is; 0: nobody's */
	__u32 pad;
	struct jank_await await;
	struct jank_stack_buf span;
};
/* A CPU's own part of it. */
struct jank_watch {
	__u32 token_cnt;
	__u32 pad;
	__u64 clock_off_ns; /* our clock minus the run queue's */
	__u64 woken_ns;
	struct jank_await await;
	struct jank_stack_buf buf;
};

/*
 * Copies of the user stacks of threads with a dispatch, some deeper ones, and those of others that
 * are watched; by the thread id's last bits: see copy_user_stack.bpf.h. 17 MiB in all.
 */
#define JANK_COPY_CNT	    512
#define JANK_COPY_DEEP_CNT  64
#define JANK_COPY_OTHER_CNT 256
#define JANK_COPY_SZ	    (16 << 10)
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
/*
 * By thread id. Its memory is taken at once: before 6.1 none could be had in a scheduler's event.
 */
struct jank_threads_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JANK_THREAD_MAX);
	__type(key, __u32);
	__type(value, struct jank_thread);
};
/* What a new entry is made from: it is too large for the stack. */
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
 * By process that polls: does it map a library whose loop does? One descriptor is evidence enough
 * there.
 */
struct jank_pollers_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, JANK_TGID_MAX);
	__type(key, __u32);
	__type(value, __u32);
};
/* By process whose runtime parks its workers. Written by user space. */
struct jank_parkers_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JANK_PARKER_MAX);
	__type(key, __u32);
	__type(value, struct jank_parks);
};
/*
 * JANK_PARK_*. Written by user space when a WAIT record asks; of waits in poll and its kin (arg0 is
 * 0) as the trace begins.
 */
struct jank_parks_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, JANK_PARK_PLACE_MAX);
	__type(key, struct jank_park_place);
	__type(value, __u32);
};
/* How often user space has changed jank_parkers; 0: never, and nothing is to be looked up. */
struct jank_park_gen_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
};
/* By thread that runs an interpreter whose frames are read. */
struct jank_scripts_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JANK_SCRIPT_THREAD_MAX);
	__type(key, __u32);
	__type(value, struct jank_script);
};
/* Not 0: there are some. Written by user space. */
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
/* How much of the stack is copied, by process; others' jank_conf.copy_sz. Written by user space. */
struct jank_copy_szs_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JANK_TGID_MAX);
	__type(key, __u32);
	__type(value, __u32);
};
/* How many processes these are. */
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

/* What a look at a thread writes, the record first; it has one reader at a time. */
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

/* Traced threads that wait for a CPU within a dispatch, all together. */
extern __u32 jank_runnable_cnt;

/* Changes when the first of them begins to wait: before that nobody logged. */
extern __u32 jank_slice_epoch;

/* -a: questions of places (chain.bpf.h) since then. */
extern __u64 jank_asks_ns;
extern __u32 jank_asks_cnt;

/*
 * Does one of them wait for somebody for so long that the others are watched, and since when are
 * they?
 */
extern __u32 jank_watch_on;
extern __u64 jank_watch_start_ns;
extern __u64 jank_watch_shed_ns; /* when something that should have been kept was not */
/* Threads with a dispatch that wait, since when; 0: none. The place is the number's last bits. */
#define JANK_WAITER_MAX 64
extern __u64 jank_waiter_ns[JANK_WAITER_MAX];
extern __u32 jank_waiter_tid[JANK_WAITER_MAX];
/* Of one that was refused: since when it had waited, and when it went to ask again. */
extern __u64 jank_waiter_since_ns[JANK_WAITER_MAX];
extern __u64 jank_waiter_left_ns[JANK_WAITER_MAX];

#endif
