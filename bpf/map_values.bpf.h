/* SPDX-License-Identifier: GPL-2.0 */
/* Entries of the maps that only the probes read and write: the state of threads and of CPUs. */
#ifndef JANK_MAP_VALUES_BPF_H
#define JANK_MAP_VALUES_BPF_H

#include "bpf/kernel.bpf.h"

/*
 * Details of a wait that lie in the program's memory; read when the thread leaves the CPU
 * (wait_object__ask).
 */
struct jank_await {
	union {
		__u64 timeout_ns;
		struct {
			__u32 server, code; /* JANK_WAITED_BINDER: see binder.bpf.h */
		};
	};
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

/*
 * Begin of a time in which a thread waits for a CPU, for the part in which a quota withheld it
 * (quota.bpf.h).
 */
struct jank_quota_mark {
	__u64 ns;
	__u64 queue;
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
	__u32 turn_cnt; /* waits there */
	__u32 fd_cnt;	/* size of the array of poll and ppoll */
	__s32 first_fd; /* first descriptor in the array, when it is a loop's place; else -1 */
	/* select: descriptors 0 to 63 that it waits to read, as it fell asleep; 0: not known */
	__u64 set;
};

/*
 * Start-up of a process (startup.bpf.h): where its main thread has waited, each with the account up
 * to the first wait there.
 */
#define JANK_STARTUP_PLACES 4
struct jank_startup_turn {
	__u64 end_ns, cpu_ns;
	__u64 state_ns[JANK_STATE_CNT];
};
struct jank_startup_place {
	struct jank_place at;
	struct jank_startup_turn turn;
};
struct jank_startup {
	__u64 start_ns;
	__u64 cpu_ns;	   /* as in jank_exec */
	__u64 returned_ns; /* when its last poll returned */
	__u32 parked;	   /* STARTUP_*: it has ended as far as is known, with this account: */
	__u16 forked;	   /* without a program of its own, by a parent that stays */
	__u16 hangs;	   /* it will have a loop: a hang is reported */
	struct jank_startup_turn turn;
	struct jank_startup_turn rest; /* up to its first wait for work: startup_rest.bpf.h */
	__u64 place_cnt;
	struct jank_startup_place places[JANK_STARTUP_PLACES];
};

/*
 * What the thread handles now, in raw form. It is decoded only when the dispatch turns out to be
 * slow, while the handler still runs (read_message__all).
 */
struct jank_handled {
	__u64 events;  /* epoll's array in user space; 0: not known */
	__u32 mark;    /* index + 1; 0: no mark was hit */
	__u16 taken;   /* the data below was decoded into rec */
	__u16 met_cnt; /* marks that were met since met_since */
	/* stack pointer of the marked function, and the return address there while it runs */
	__u64 mark_sp, mark_ret;
	__u64 args[JANK_MARK_ARG_MAX];
	__u32 nested_cnt;
	__u32 met_since; /* CLOCK_MONOTONIC in units of 2^PACE_SHIFT ns (mark__pace) */
	__u64 due_ns; /* due time of the first message in a Looper's queue; 0: none, or no Looper */
	struct jank_rec_message rec;
};

/*
 * A handler whose nested turns are dispatches of their own (nest.bpf.h). The index is the last bits
 * of the thread id: of two such threads with the same bits the later one has the place.
 */
#define JANK_NEST_CNT 128
struct jank_nest {
	__u64 state_ns[JANK_STATE_CNT]; /* of all dispatches since jank_thread.nest_ns */
	__u32 tid;
	__u32 turn_cnt;
	__u64 told; /* the stack of a nested wait was sent */
};

#define JANK_OFF_MARKED 1
#define JANK_OFF_TOLD	2 /* its counts were sent with JANK_THREAD_LAST */

/*
 * State of a thread that waits in a loop. The thread itself writes it (waits, switches); while the
 * thread is off the CPU, its waker does. The two never run at the same time, except for
 * early_wake_ns.
 */
struct jank_thread {
	/*
	 * Two cache lines: all that a fast dispatch uses, besides its counts. Task storage has 8
	 * bytes of its own on the first one.
	 */
	__u64 start_ns;		       /* begin of the open dispatch; 0: none is open */
	__u64 mark_ns;		       /* time up to which state_ns is accounted */
	__u64 exec_sum_ns, exec_at_ns; /* the CPU clock at start_ns, see thread__cpu_ns */
	/*
	 * CLOCK_MONOTONIC minus the run queue's clock, when the thread got the CPU with a dispatch
	 * open; 0: it did not since its loop's wait
	 */
	__u64 clock_off_ns;
	__u64 sp;	   /* user stack pointer of the loop's outermost wait */
	__s32 fd;	   /* the loop's epoll descriptor; -1: not known */
	__u32 state;	   /* JANK_STATE_*, while a dispatch is open */
	__u8 phase;	   /* JANK_PHASE_* */
	__u8 loop;	   /* JANK_LOOP_* */
	__u8 accounted;	   /* it was off the CPU in this dispatch: state_ns is in use */
	__u8 looper_entry; /* in pollOnce, before its epoll_wait */
	__u8 evidence;	   /* stack_cnt, shed_cnt, wakeup_missed_cnt or hang_sent is not 0 */
	__u8 due;	   /* it waits for a CPU */
	__u8 nested_left;  /* it left the CPU in a nested wait, which was judged then */
	__u8 nested_cnt;   /* consecutive waits on nested_fd at nested_sp */
	__s32 ready_cnt;
	__u32 woken_tick;     /* the kernel's jiffies at woken_ns */
	__u64 start_delay_ns; /* of the open dispatch: from the wake-up to start_ns */
	/*
	 * In its loop's wait: time when it was woken, or lost the CPU before it could sleep; 0: it
	 * sleeps.
	 */
	__u64 woken_ns;
	__u64 frozen_ns; /* and in it: since when it was frozen before that; 0: it was not */
	__u64 turn_sp;	 /* user stack pointer of the loop's last wait; 0: see nest__turn */
	__u64 nest_ns;	 /* begin of the handler that waits in its own loop; 0: none does */
	__u64 early_wake_ns;

	__u64 state_ns[JANK_STATE_CNT];
	__u64 key;	/* address of the android::Looper */
	__u64 file_ops; /* file operations of the file behind fd (epoll's) */
	__u64 nested_sp;
	__u32 stack_cnt, shed_cnt, wakeup_missed_cnt;
	__u16 hang_sent;
	__u16 leave_flags; /* of the span that begins: JANK_STACK_FROZEN or 0 */
	__u8 waits_else;   /* it also sleeps in calls that are no wait for work */
	__u8 ask_backoff;  /* how often the time between questions was doubled */
	__u8 rests;	   /* it rests further out than it polls (park__gives_up) */
	__u8 needs_copy;   /* it is not announced without a copy of its stack (poll__confirm) */
	__u8 off;	   /* JANK_OFF_*: that loop is not wanted, see off.bpf.h */
	__u8 pad[3];
	__u64 spill; /* hides a value from the verifier: compat__on_task_stack */

	struct jank_place place; /* place of a polling loop's wait, on probation or not */
	struct jank_place inner; /* place of a handler's own wait */
	struct jank_place look;	 /* place where it last looked for work: poll__looks_often */
	__u32 look_sleeps;	 /* task->nvcsw at that time */
	__s32 nested_fd;
	/* on probation: number of this trial of the thread; 0: not on probation */
	__u16 trial;
	__u16 trial_cnt;
	__u32 row_cnt;	/* on probation: waits in a row at `place` */
	__u64 trial_ns; /* begin of the last trial */

	__u32 parks;	/* JANK_PARKS_* of the process, as of park_gen */
	__u32 park_gen; /* jank_park_gen at that time */
	__u32 park_cnt; /* consecutive waits at `park` */
	__u16 park_ask_cnt;
	__u16 verdict; /* JANK_PARK_* of the last wait that was asked about (poll__learn) */
	struct jank_park_place park;  /* where it slept last */
	struct jank_park_place asked; /* the last place that it asked about */
	/* identity of the interpreter's frames at the place on probation; 0: not known */
	__u64 tried_script;
	__u64 park_left_ns; /* when it left the CPU at an unknown place */
	/* begin of the dispatch that a park opened; 0: it slept otherwise since */
	__u64 park_start_ns;
	__u64 park_ask_ns; /* end of the period in which questions are counted */
	/* service whose connections its loop accepts (client.bpf.h); 0: none */
	__u64 service;
	__u64 code; /* user instruction pointer where its loop waits in epoll */

	struct jank_handled handled;

	__u64 dispatch_cnt, block_cnt, hang_cnt;
	/* their durations; max_ns comes first, on the cache line of the counts */
	struct jank_hist dispatches;
	struct jank_hist starts; /* their start delays */

#ifdef JANK_PLAIN
	__u64 task; /* the task; needed where the entry is found by number */
#endif
	__u32 user;		      /* key of its user's account: share.bpf.h */
	__u32 counted_user;	      /* plain probes: it is in that account's thread_cnt */
	struct jank_quota_mark quota; /* when it left the CPU last, or was woken in its wait */
	__u64 start_throttled_ns;     /* throttled part of start_delay_ns, when that is long */
	__u64 throttled_ns, min_flt,
		maj_flt;   /* min_flt, maj_flt: counts when first read in the dispatch */
	__u64 fault_inode; /* inode of the file of its last page fault, see jank_on_fault */
	struct jank_await await;
	struct jank_stack_buf span; /* the current span off the CPU */
};
#ifndef JANK_PLAIN
/* In task storage recent kernels give at most two pages, with their header (kernel-facts.md). */
_Static_assert(sizeof(struct jank_thread) <= 8192 - 96, "jank_thread fits into task storage");
#endif

/*
 * Log of the tasks that ran on a CPU recently. Slices of one task within JANK_SLICE_MERGE_NS share
 * an entry. Shorter ones than JANK_SLICE_MIN_NS are only added up; now and then the whole sum is
 * logged as the time of the task that then leaves the CPU: a sample of them, by their time.
 */
#define JANK_SLICE_LOG	    512
#define JANK_SLICE_MIN_NS   200000
#define JANK_SLICE_MERGE_NS 4000000
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
	__u64 short_ns;			 /* sum of short slices that are not logged yet */
	__u64 short_limit_ns;		 /* of that sum */
	__u64 short_begin_ns;		 /* when the last such sum was logged */
	__u64 arrival_ns;		 /* when arrival_tid got the CPU */
	__u32 arrival_tid;		 /* the last task of another class than the fair one */
	__u32 head;			 /* number of entries ever made */
	__u32 query_cnt;		 /* number of spans that queried the log */
	__u32 recent[JANK_SLICE_RECENT]; /* number of the task's newest entry, counted from 1 */
	/*
	 * Result of slices__collect: the tasks and their priorities. met_* is an index of each
	 * task's place among them.
	 */
	struct jank_task found[JANK_SLICE_MAX];
	__u16 prios[JANK_SLICE_MAX];
	__u32 found_cnt;
	__u32 found_cut; /* some are missing */
	__u64 found_ns;	 /* sum over all of them */
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
	/* of last_tid: until when its stacks are paid for, and when its last record was sent */
	__u64 paid_ns, sent_ns;
	__u32 last_tid;
	__u32 tid;		      /* thread that uses the slot; 0: free */
	struct jank_quota_mark quota; /* when it left the CPU, or was woken */
	struct jank_await await;
	struct jank_stack_buf span;
};
/* A thread's rest from the watch (watch_rest.bpf.h). */
struct jank_watch_rest {
	__u32 tid; /* the machine's number */
	__u32 pad;
	__u64 watch_ns; /* jank_watch_start_ns of its watch */
	__u64 until_ns;
	__u64 left_ns; /* when it left the CPU last in this rest; 0: not yet */
};
/* Part of waker_watch.bpf.h's state for each CPU. */
struct jank_watch {
	__u32 token_cnt; /* of the period that began at paid_ns */
	__u32 pad;
	__u64 paid_ns;
	__u64 start_ns; /* jank_watch_start_ns, when group_quota was taken */
	/* of this CPU's queue of jank_watch_group, for threads that left the CPU before */
	struct jank_quota_mark group_quota;
	__u64 woken_ns;
	struct jank_quota_mark quota;
	struct jank_await await;
	struct jank_stack_buf buf;
};

/*
 * Copies of user stacks: of threads with a dispatch, some of them deeper, and of other watched
 * threads. Indexed by the last bits of the thread id: see copy_user_stack.bpf.h. 17 MiB in total.
 */
#define JANK_COPY_DEEP_CNT  64
#define JANK_COPY_OTHER_CNT 256
struct jank_deep_copy {
	__u64 writes;
	struct jank_rec_copy rec;
	__u8 bytes[JANK_COPY_MAX + JANK_COPY_PAGE];
};

#endif
