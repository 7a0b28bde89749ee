/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The contract between the BPF programs and user space: configuration, records, loss reasons.
 *
 * Included by both sides (and before the generated skeleton), so only fixed-size types, no bool,
 * enum, long, pointer or bit-field; pads are explicit and zeroed. Numbers are never reused: they
 * are also the journal's format.
 */
#ifndef JANK_JANK_ABI_H
#define JANK_JANK_ABI_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#include "bpf/jank_hist.h"

#define JANK_ABI_VERSION 2

#define JANK_COMM_SZ	 16
#define JANK_KSTACK_MAX	 64  /* frames; a deeper kernel stack is marked JANK_STACK_CUT */
#define JANK_USTACK_MAX	 127 /* frames; the kernel's own limit (kernel.perf_event_max_stack) */
#define JANK_SLICE_MAX	 16  /* other tasks' slices reported with one runnable span */
#define JANK_SYSCALL_32	 512 /* added to the system-call numbers of 32-bit programs */
#define JANK_SYSCALL_MAX 1024
#define JANK_TGID_MAX	 4096
#define JANK_THREAD_MAX	 4096 /* where a thread has no storage of its own */

/*
 * Where the time of a dispatch goes. X(number, NAME, key): the key is the contract's word in
 * `time` and `samples[].state`.
 */
#define JANK_STATES(X)                                                                             \
	X(0, RUNNING, "running")                                                                   \
	X(1, RUNNABLE, "runnable")                                                                 \
	X(2, FUTEX, "futex")                                                                       \
	X(3, DISK, "disk")                                                                         \
	X(4, SLEEP, "sleep")                                                                       \
	X(5, POLL, "poll")                                                                         \
	X(6, SOCKET, "socket")                                                                     \
	X(7, PIPE, "pipe")                                                                         \
	X(8, BINDER, "binder")                                                                     \
	X(9, PAGE_FAULT, "page_fault")                                                             \
	X(10, STOPPED, "stopped")                                                                  \
	X(11, OTHER, "other")
#define JANK_STATE_CNT		 12
#define JANK_STATE_FIRST_BLOCKED 2

/*
 * How a blocked thread's kind is found from its system call; one per entry of conf.syscall_class.
 */
#define JANK_SYSCALL_CLASSES(X)                                                                    \
	X(0, PLAIN) /* disk when in_iowait, else other */                                          \
	X(1, FUTEX)                                                                                \
	X(2, SLEEP)                                                                                \
	X(3, POLL)                                                                                 \
	X(4, SOCKET)                                                                               \
	X(5, FD)       /* by the type of the file behind the first argument */                     \
	X(6, IOCTL)    /* binder's by its command, else as PLAIN */                                \
	X(7, FILE)     /* disk when uninterruptible, else other */                                 \
	X(8, POLL_FDS) /* poll, ppoll: blocked as POLL */                                          \
	X(9, SELECT)   /* select, pselect6: likewise */                                            \
	X(10, IO_URING)                                                                            \
	X(11, FILE_FD)	/* as FILE, and the first argument is a descriptor */                      \
	X(12, SENDFILE) /* as FD; what is read is behind the second argument */                    \
	X(13, PATH)	/* as FILE, and the first argument is a path */                            \
	X(14, PATH_AT)	/* as FILE, of a path below a descriptor: the first two arguments */       \
	X(15, ACCEPT)	/* as SOCKET */                                                            \
	X(16, RECV)	/* as SOCKET */                                                            \
	X(17, QUEUE)	/* a signal or a message is waited for: as PLAIN */                        \
	X(18, CHILD)	/* the end of a child is waited for: as PLAIN */

/*
 * Kinds of loop, by how the wait is seen. The name is the contract's `loop` where the catalogue
 * knows no better one (libuv, qt, …).
 */
#define JANK_LOOPS(X)                                                                              \
	X(1, EPOLL, "epoll")                                                                       \
	X(2, ANDROID_LOOPER, "android-looper")                                                     \
	X(3, POLL, "poll")     /* poll, ppoll, select, pselect6: by evidence */                    \
	X(4, CUSTOM, "custom") /* its wait is a function that a loop file names */                 \
	X(5, PARK, "park")     /* parks of a runtime's worker that waits nowhere else */

/*
 * Records. X(number, NAME, struct, name for messages). 5 was THREAD with a histogram of 40 octaves
 * (tests/lib/journal_v1.py converts it); a replay counts it as an unknown record.
 */
#define JANK_RECORDS(X)                                                                            \
	X(1, LOOP, struct jank_rec_loop, "loop")                                                   \
	X(2, BLOCK, struct jank_rec_block, "block")                                                \
	X(3, HANG, struct jank_rec_block, "hang")                                                  \
	X(4, STACK, struct jank_rec_stack, "stack")                                                \
	X(6, EXEC, struct jank_rec_exec, "exec")                                                   \
	X(7, WAIT, struct jank_rec_wait, "wait")                                                   \
	X(8, MESSAGE, struct jank_rec_message, "message")                                          \
	X(9, WAITED, struct jank_rec_waited, "waited")                                             \
	X(10, FACTS, struct jank_rec_facts, "facts")                                               \
	X(11, OTHER, struct jank_rec_stack, "other")                                               \
	X(12, COPY, struct jank_rec_copy, "copy")                                                  \
	X(13, SCRIPT, struct jank_rec_script, "script")                                            \
	X(14, THREAD, struct jank_rec_thread, "thread")

/* What was lost where the kernel side had to drop something. X(number, NAME, key in `lost`) */
#define JANK_LOSSES(X)                                                                             \
	X(0, RING_FULL, "ring_full")	     /* a block, hang or loop record */                    \
	X(1, SAMPLE_SHED, "samples_shed")    /* a stack record: room kept for blocks */            \
	X(2, NO_THREAD, "thread_table_full") /* no state for a thread: it is not traced */         \
	X(3, WAKEUP,                                                                               \
	  "wakeup_missed") /* runnable time of a span counted as blocked, or a span not told */    \
	X(4, LOOP_CHANGED, "loop_changed") /* an open dispatch given up: its loop was left */      \
	X(5, NO_STACK, "stack_failed")	   /* a sample without any frame */                        \
	X(6, EVIDENCE, "evidence_shed")	   /* of threads that a dispatch waited for: too much */   \
	X(7, COPY, "stack_copies_shed")	   /* callers of a sample by frame pointers alone */
#define JANK_LOSS_CNT 8

#define JANK_X_STATE(nr, NAME, key)	   JANK_STATE_##NAME = nr,
#define JANK_X_CLASS(nr, NAME)		   JANK_CLASS_##NAME = nr,
#define JANK_X_LOOP(nr, NAME, key)	   JANK_LOOP_##NAME = nr,
#define JANK_X_RECORD(nr, NAME, type, key) JANK_REC_##NAME = nr,
#define JANK_X_LOSS(nr, NAME, key)	   JANK_LOST_##NAME = nr,
enum { JANK_STATES(JANK_X_STATE) };
enum { JANK_SYSCALL_CLASSES(JANK_X_CLASS) };
enum { JANK_LOOPS(JANK_X_LOOP) };
enum { JANK_RECORDS(JANK_X_RECORD) };
enum { JANK_LOSSES(JANK_X_LOSS) };
#undef JANK_X_STATE
#undef JANK_X_CLASS
#undef JANK_X_LOOP
#undef JANK_X_RECORD
#undef JANK_X_LOSS

#define JANK_FILTER_MAX 8 /* of each kind */

/*
 * A glob made ready for matching a byte at a time: bit i of the state says that the pattern's first
 * i elements are matched. Begins with 1; accepted when a bit of `accept` is left.
 */
struct jank_glob {
	__u32 star; /* bits where a star lets any byte pass */
	__u32 accept;
	__u32 match[256]; /* by byte: bits whose next element it is */
};
_Static_assert(sizeof(struct jank_glob) == 1032, "jank_glob");

#define JANK_HANG_LIMITS 6 /* --hang and Android's four, and an end */

#define JANK_EPOLL_CNT 6 /* epoll_wait, epoll_pwait, epoll_pwait2, then those of 32-bit programs */

/* A thread's name, or its beginning: (name ^ want) & mask is 0. All zero: none. */
#define JANK_UI_THREAD_MAX 4
struct jank_comm_pattern {
	__u64 want[JANK_COMM_SZ / 8];
	__u64 mask[JANK_COMM_SZ / 8];
};

/* Set once by user space before load; a feature that is off is dead code to the verifier. */
struct jank_conf {
	__u64 threshold_ns;		       /* strictly longer is a block */
	__u64 hang_ns;			       /* 0: never */
	__u64 hang_limit_ns[JANK_HANG_LIMITS]; /* a hang is told at each; rising, then ~0 */
	__u64 span_min_ns;    /* off-CPU spans from here on are reported with their stack */
	__u64 sample_age_ns;  /* the sampler leaves a dispatch alone until it is this old */
	__u64 real_offset_ns; /* CLOCK_REALTIME minus CLOCK_MONOTONIC */
	__u64 tick_ns; /* the kernel brings a running thread's CPU time up to date at least so often */
	__u64 watch_ns; /* a dispatch that waits longer than this: what do the others do? 0: never asked */
	__u32 tgid;	    /* the one process traced, or 0: those in jank_tgids */
	__u32 self_tgid;    /* jankbpf itself */
	__u32 switch_state; /* sched_switch tells prev's state (5.18) */
	__u32 debugging;    /* time stopped by a debugger counts, for a hang too */
	__u32 infer_begin;  /* a wait's begin is not probed: see wait__turn */
	__u32 thread_sz;    /* of a kernel stack, without what lies above the registers */
	__u64 user_ip_mask; /* of the bits that an address in user space can have */
	__u32 all; /* every process that the filters below admit; tgid and jank_tgids don't matter */
	__u32 main_thread;  /* of these only threads whose number is their process's */
	__u32 loop_mask;    /* of these only loops of these kinds: bit JANK_LOOP_* */
	__u32 uid_cnt;	    /* 0: any */
	__u32 glob_cnt;	    /* in jank_globs, of the process's name; 0: any */
	__u32 cgroup_cnt;   /* in jank_cgroups; 0: any */
	__u32 compat_apart; /* sys_enter and sys_exit are only for 32-bit programs */
	__s32 select_nr; /* select, whose time is of microseconds; -1: not on this architecture */
	__u32 copy_sz;	 /* of a user stack, at first; 0: none is copied */
	__u32 pad;
	__u32 uids[JANK_FILTER_MAX];
	__s32 epoll_nr[JANK_EPOLL_CNT]; /* -1: not on this architecture */
	__s32 restart_nr[2];		/* restart_syscall, of 64-bit and 32-bit programs */
	struct jank_comm_pattern ui_threads[JANK_UI_THREAD_MAX];
	__u8 syscall_class[JANK_SYSCALL_MAX]; /* by system-call number: JANK_CLASS_* */
};
_Static_assert(sizeof(struct jank_conf) == 368 + JANK_SYSCALL_MAX, "jank_conf");

/* What the calibration object is asked, and what it answers of the task that runs it. */
struct jank_calibration {
	__u64 want_arg0; /* asked: the first argument of the system call that runs it */
	__u64 exec_ns;	 /* answered: CPU time */
	__u32 want_nr;	 /* asked: that call's number */
	__u32 tgid, tid;
	__u32 thread_sz; /* see jank_conf; 0: no size fits */
};
_Static_assert(sizeof(struct jank_calibration) == 32, "jank_calibration");

/* Begins every record. `size` is the whole record, so that an unknown kind can be skipped. */
struct jank_rec {
	__u32 size;
	__u16 kind; /* JANK_REC_* */
	__u16 flags;
	__u64 ts_ns; /* CLOCK_MONOTONIC */
	__u32 tgid;
	__u32 tid;
	__u32 cpu;
	__u32 pad;
};
_Static_assert(sizeof(struct jank_rec) == 32, "jank_rec");

/* A thread entered a loop's wait for the first time, or its loop's kind was learned. */
struct jank_rec_loop {
	struct jank_rec hdr;
	__u32 loop; /* JANK_LOOP_* */
	__s32 fd;   /* the loop's epoll descriptor, or -1 */
	__u64 key;  /* android::Looper: its address; else 0 */
	char comm[JANK_COMM_SZ];
};
_Static_assert(sizeof(struct jank_rec_loop) == 64, "jank_rec_loop");

/*
 * Follows a LOOP record: where the thread waits, for finding whose loop it is. Without one and
 * turn_cnt 0 it asks. Of POLL: a process polled for the first time; does it map a library whose
 * loop does? Of PARK: the thread sleeps, and nothing says whether that is a park. But for the
 * question of POLL a COPY precedes it.
 */
struct jank_rec_wait {
	struct jank_rec hdr;
	__u64 sp;	/* user stack pointer in the wait */
	__u64 ip;	/* user instruction pointer */
	__s32 syscall;	/* number, or -1: seen by a uprobe */
	__u32 turn_cnt; /* waits from this place in a row, before it was taken for a loop */
	__u32 fd_cnt;	/* poll and its kin: how many descriptors; else 0 */
	__u32 loop;	/* JANK_LOOP_* */
	char comm[JANK_COMM_SZ];
};
_Static_assert(sizeof(struct jank_rec_wait) == 80, "jank_rec_wait");

/*
 * Parks: futex waits and sleeps of a runtime's idle workers. What user space says of a process
 * (jank_parkers), as far as it has been asked: the chains of return addresses that lead to one, and
 * some that don't. A chain is known by the wait's own address and the words at these offsets from
 * the stack pointer, each being the return address of the frame before. An answer is of its place
 * (jank_parks), too, for the thread that asked and sleeps meanwhile. Where an interpreter makes all
 * its calls by the same chain, its own frames tell them apart: `script` is their identity
 * (jank_rec_script), 0 for threads of other processes.
 */
#define JANK_PARKS_BY_PLACE  1
#define JANK_PARKS_ANY_FUTEX 2 /* whatever the place */
#define JANK_PARKS_MAIN                                                                            \
	4 /* of the main thread and of conf.ui_threads: where they keep returning to */
#define JANK_PARKS_WORKERS  8  /* the same of each thread */
#define JANK_PARKS_SCRIPT   16 /* the identity of an interpreter's frames belongs to a place */
#define JANK_PARK_NO	    1
#define JANK_PARK_YES	    2
#define JANK_PARKER_MAX	    1024
#define JANK_PARK_PLACE_MAX 1024
#define JANK_PARK_CHAIN_MAX 8
#define JANK_PARK_WORD_MAX  8
struct jank_park_chain {
	__u64 ip;
	__u64 word[JANK_PARK_WORD_MAX];
	__u16 offset[JANK_PARK_WORD_MAX];
	__u16 word_cnt;
	__u16 verdict; /* JANK_PARK_*; 0: the chain is none */
	__u32 script;
};
_Static_assert(sizeof(struct jank_park_chain) == 96, "jank_park_chain");
struct jank_parks {
	__u32 kinds; /* JANK_PARKS_* */
	__u32 pad;
	/* Code whose waits in epoll are no loops that are wanted; equal: none. */
	__u64 off_start, off_end;
	struct jank_park_chain chains[JANK_PARK_CHAIN_MAX];
};
_Static_assert(sizeof(struct jank_parks) == 24 + 96 * JANK_PARK_CHAIN_MAX, "jank_parks");
struct jank_park_place {
	__u64 sp;
	__u64 arg0; /* of the system call: the futex's address */
	__u32 tid;
	__s32 nr;
	__u32 script;
	__u32 pad;
};
_Static_assert(sizeof(struct jank_park_place) == 32, "jank_park_place");

/*
 * Marks: what an entry probe reads of what is handled now. The address a is argument `reg`;
 * deref_cnt times a = *(u64 *)(a + offset[i]); then size 0 takes a itself, 1 to 8 the number at a +
 * offset[deref_cnt], JANK_MARK_TEXT the text there, up to a zero byte, JANK_MARK_TEXT16 the bytes
 * there, which are UTF-16.
 */
#define JANK_MARK_MAX	     256 /* marks of all rows of the catalogue */
#define JANK_MARK_ARG_MAX    5
#define JANK_MARK_FIELD_MAX  4
#define JANK_MARK_DEREF_MAX  3
#define JANK_MARK_TEXT	     255
#define JANK_MARK_TEXT16     254
#define JANK_MESSAGE_TEXT_SZ 48
struct jank_mark_field {
	__u8 reg; /* argument, from 0 */
	__u8 size;
	__u8 deref_cnt;
	__u8 is_fd; /* a descriptor: value_inode is wanted, too */
	__s32 offset[JANK_MARK_DEREF_MAX + 1];
};
_Static_assert(sizeof(struct jank_mark_field) == 20, "jank_mark_field");

struct jank_mark {
	__u32 field_cnt;
	struct jank_mark_field fields[JANK_MARK_FIELD_MAX];
};
_Static_assert(sizeof(struct jank_mark) == 84, "jank_mark");

/*
 * What a slow dispatch handles; precedes its BLOCK or HANG. Of epoll: the first events that the
 * wait returned. Of a mark: its fields, a bit in `got` for each that could be read; one text at
 * most. Of a Looper without a mark: JANK_GOT_DUE in `got`, and the first value is the time by
 * CLOCK_MONOTONIC at which its first message was due.
 */
#define JANK_GOT_DUE   1
#define JANK_READY_MAX 4
struct jank_rec_message {
	struct jank_rec hdr;
	__u64 dispatch_ns; /* start_ns of the block that it belongs to */
	__u32 mark;	   /* index into the catalogue's marks + 1; 0: none was hit */
	__u32 got;	   /* bits: fields that were read */
	__u32 ready_got;   /* of ready_data */
	__u32 nested_cnt;  /* marks hit deeper in the stack meanwhile */
	__u64 ready_data[JANK_READY_MAX];
	__u32 ready_events[JANK_READY_MAX];
	__u64 value[JANK_MARK_FIELD_MAX];
	/*
	 * of the file whose descriptor the value, or the data's lower half, is while the handler
	 * runs
	 */
	__u64 ready_inode[JANK_READY_MAX];
	__u64 value_inode[JANK_MARK_FIELD_MAX];
	char text[JANK_MESSAGE_TEXT_SZ];
	char comm[JANK_COMM_SZ];
};
_Static_assert(sizeof(struct jank_rec_message) ==
		       32 + 24 + 48 + 32 + 64 + JANK_MESSAGE_TEXT_SZ + JANK_COMM_SZ,
	       "jank_rec_message");
#define JANK_INODE_NONE (~0ull) /* no descriptor is open there; 0: not known */

/* How a dispatch ended: jank_rec_block.end */
#define JANK_END_WAIT 0 /* the loop's next wait began */
#define JANK_END_EXIT 1 /* the thread ended in it */
#define JANK_END_EXEC 2
#define JANK_END_OPEN 3 /* a hang: still open */
#define JANK_END_MARK 4 /* the next message of the same wait began */

/*
 * hdr.flags of BLOCK and HANG: a number, when the thread is on probation: not yet known to wait in
 * a loop. A LOOP and a WAIT record with the same number confirm it; with another one, or none, the
 * block was no dispatch's.
 */
#define JANK_TRIAL_MAX 0xffff

/* A dispatch over the threshold (BLOCK), or one still open after hang_ns (HANG). */
struct jank_rec_block {
	struct jank_rec hdr;
	__u64 start_ns;
	__u64 duration_ns;
	__u64 cpu_ns;			/* the thread's CPU clock over the dispatch */
	__u64 state_ns[JANK_STATE_CNT]; /* sums to duration_ns exactly */
	__u32 loop;
	__s32 fd;	 /* the loop's epoll descriptor, or -1 */
	__s32 ready_cnt; /* what the wait returned: events, 0 for a time-out, -errno */
	__u16 end;	 /* JANK_END_* */
	__u16 behind; /* descriptors that were ready as the loop came back to its wait, and 1; 0: not known */
	__u32 state;	 /* JANK_STATE_* at the record's time */
	__u32 stack_cnt; /* stack records sent for this dispatch so far */
	__u32 shed_cnt;	 /* stack records dropped for want of room */
	__u32 wakeup_missed_cnt;
	char comm[JANK_COMM_SZ];
	/*
	 * From the wake-up in the loop's wait to start_ns; 0: the wait did not sleep. Of a HANG
	 * with duration_ns 0: the thread has been woken and waits for a CPU. Records of before this
	 * field end here (JANK_BLOCK_SZ_OLD).
	 */
	__u64 start_delay_ns;
};
#define JANK_BLOCK_SZ_OLD	 (32 + 24 + 8 * JANK_STATE_CNT + 32 + JANK_COMM_SZ)
#define JANK_START_DELAY_UNKNOWN (~0ull) /* of such a record */
_Static_assert(sizeof(struct jank_rec_block) == JANK_BLOCK_SZ_OLD + 8, "jank_rec_block");

/* Another task, by its role: one that woke ours, or one that ran instead of it. */
struct jank_task {
	__u64 ns; /* of its slice; 0 for a waker */
	__u32 tgid;
	__u32 tid;
	char comm[JANK_COMM_SZ];
};
_Static_assert(sizeof(struct jank_task) == 32, "jank_task");

/* jank_rec_stack.hdr.flags */
#define JANK_STACK_CUT_KERNEL	 1  /* deeper than JANK_KSTACK_MAX */
#define JANK_STACK_CUT_USER	 2  /* deeper than JANK_USTACK_MAX */
#define JANK_STACK_NO_USER	 4  /* the user part could not be read */
#define JANK_STACK_WAKER	 8  /* waker is set */
#define JANK_STACK_WAKER_SOFTIRQ 16 /* it ran a softirq then: a loopback peer, or a bystander */
#define JANK_STACK_OPEN		 32 /* the span had not ended when this was sent (hang) */
#define JANK_STACK_PRIOS	 64 /* the slices' priorities follow them */
#define JANK_STACK_WAKES	 128 /* OTHER: taken as the thread woke `waker`, which is the wakee here */
#define JANK_STACK_START                                                                           \
	512 /* the time between the wake-up in the loop's wait and the CPU: t_ns and ns; no frames. dispatch_ns is the
	     * dispatch that began with it */
#define JANK_STACK_CUT_SLICES 1024 /* the slices are not all of those that ran meanwhile */
#define JANK_STACK_BEFORE                                                                          \
	256 /* OTHER: the span began unobserved; t_ns is by its CPU clock, the
				      * user part its first frame only */

/*
 * A task's priority on the wire: task->prio + 2 (deadline 1, real time 2 to 101, nice -20 to 19:
 * 102 to 141).
 */
#define JANK_PRIO_OFFSET 2

/*
 * One timed stack: a tick of the sampler (state RUNNING, ns 0) or a span off the CPU. Followed by
 * kernel_cnt + user_cnt addresses (__u64, leaf first, kernel before user), then slice_cnt struct
 * jank_task: who ran on the CPU while ours was runnable, latest first; with JANK_STACK_PRIOS then
 * as many priorities (__u16), filled up to 8 bytes with zeroes.
 *
 * OTHER is the same of a thread for which some dispatch may be waiting: dispatch_ns is 0. Sent
 * while, and only while, a dispatch has been waiting for longer than jank_conf.watch_ns.
 */
struct jank_rec_stack {
	struct jank_rec hdr;
	__u64 dispatch_ns; /* start_ns of the dispatch that it belongs to */
	__u64 t_ns;	   /* when the span began, or the tick */
	__u64 ns;	   /* the span's length; 0 for a tick */
	__u64 runnable_ns; /* of ns, waiting for a CPU after the wake-up */
	__u32 state;	   /* JANK_STATE_*: running, runnable, or a blocked kind */
	__s32 syscall;	   /* number, or -1 outside of a system call */
	__u16 kernel_cnt;
	__u16 user_cnt;
	__u16 slice_cnt;
	__u16 prio; /* the thread's own, see JANK_PRIO_OFFSET; 0: not known */
	struct jank_task waker;
};
_Static_assert(sizeof(struct jank_rec_stack) == 32 + 32 + 16 + 32, "jank_rec_stack");

/*
 * A display's refreshes as the DRM tells of them, of one CRTC: when, and its own count, which goes
 * on while it tells of none. The last ones; and of all before each JANK_VBLANK_STEP-th, since a
 * hang may last. cnt: how many it told of.
 */
#define JANK_CRTC_MAX	 8
#define JANK_VBLANK_NEAR 256
#define JANK_VBLANK_FAR	 64
#define JANK_VBLANK_STEP 128
struct jank_vblank {
	__u64 t_ns;
	__u32 seq;
	__u32 pad;
};
struct jank_vblanks {
	__u32 cnt;
	__u32 pad;
	struct jank_vblank near[JANK_VBLANK_NEAR], far[JANK_VBLANK_FAR];
};
_Static_assert(sizeof(struct jank_vblanks) == 8 + 16 * (256 + 64), "jank_vblanks");

/*
 * The registers as the DWARF of the architecture numbers them: of x86-64 rax, rdx, rcx, rbx, rsi,
 * rdi, rbp, rsp, r8 to r15, rip (psABI, figure 3.36); of arm64 x0 to x30, sp, pc (aadwarf64); of a
 * 32-bit program (JANK_COPY_32BIT) the same places, each by its 64-bit register's name (eip in
 * rip's; of arm r0 to r14 in x0 to x14's, sp and pc in arm64's).
 */
#define JANK_REG_MAX 33

/* jank_rec_copy.hdr.flags */
#define JANK_COPY_32BIT 1
#define JANK_COPY_HOLE                                                                             \
	2 /* pages could not be read: those of hole_mask, and the rest when these were many */
#define JANK_COPY_WHOLE                                                                            \
	4		 /* it goes up to the stack's upper end, which is less than may be copied */
#define JANK_COPY_WAIT 8 /* of a WAIT record, which it precedes: t_ns is that one's ts_ns */

/* Bit i of hole_mask: what lies in the i-th page, counted from the stack pointer's, is missing. */
#define JANK_COPY_PAGE 4096
#define JANK_COPY_MAX  (64 << 10)

/*
 * What a walk of a user stack needs; precedes its STACK, OTHER or WAIT, of which it has tid and
 * t_ns. Followed by copy_sz bytes, the stack from the stack pointer on.
 */
struct jank_rec_copy {
	struct jank_rec hdr;
	__u64 dispatch_ns;
	__u64 t_ns;
	__u64 regs[JANK_REG_MAX];
	__u32 copy_sz;
	__u32 asked_sz;
	__u32 hole_mask;
	__u32 pad;
};
_Static_assert(sizeof(struct jank_rec_copy) == 32 + 16 + 8 * JANK_REG_MAX + 16, "jank_rec_copy");

/* A frame of an interpreter's own: CPython's. */
#define JANK_SCRIPT_MAX	  64
#define JANK_SCRIPT_ENTRY 1 /* the interpreter's C function was entered for this one */
struct jank_script_frame {
	__u64 code; /* its code object's address; 0: no frame, but tells of an entry before the next one */
	__u64 instr; /* of the instruction in it */
	__u32 flags; /* JANK_SCRIPT_* */
	__u32 check; /* of the code object: another may lie there before its name is read */
};
_Static_assert(sizeof(struct jank_script_frame) == 24, "jank_script_frame");

/* jank_rec_script.hdr.flags */
#define JANK_SCRIPT_WAIT 1 /* of a WAIT record, as JANK_COPY_WAIT */

/*
 * An interpreter's stack, innermost first; precedes its STACK, of which it has tid and t_ns.
 * Followed by the frames.
 */
struct jank_rec_script {
	struct jank_rec hdr;
	__u64 dispatch_ns;
	__u64 t_ns;
	__u32 frame_cnt;
	__u32 identity; /* of a wait: a number made of the frames; other frames have another one. 0: none */
};
_Static_assert(sizeof(struct jank_rec_script) == 56, "jank_rec_script");

/*
 * Threads whose frames are read, and what is read of each frame: all that lies before its
 * variables.
 */
#define JANK_SCRIPT_THREAD_MAX 512
#define JANK_SCRIPT_FRAME_SZ   72

/*
 * Where a thread's frames are found, by its tid. Written by user space; offsets are in bytes, words
 * of 8. A frame's check is its code object's first line times JANK_SCRIPT_CHECK, plus the hash of
 * its name, which the interpreter keeps.
 *
 * Ruby's frames lie one behind the other (frame_sz) in the stack of the thread's fiber. They only
 * tell places apart: their code is the iseq, 0 of a function in C, their instruction the pc.
 */
#define JANK_SCRIPT_CHECK   31
#define JANK_SCRIPT_CODE_SZ 64
struct jank_script_where {
	__u64 tstate; /* the address of the interpreter's state of the thread */
	__u64 native_id; /* what stands there as its number, or else the state is another thread's by now */
	__u32 tgid;
	__u16 native_at;
	__u16 frame_at;	 /* of the innermost frame's address in it */
	__u16 cframe_at; /* of that address in what stands at frame_at, or: */
	__u8 direct;	 /* it stands at frame_at itself */
	__u8 code_word, previous_word, instr_word; /* in a frame */
	__u8 mark_at, mark; /* a byte in a frame, and its value where the C function was entered */
	__u8 shim;	    /* what is marked is no frame itself, but lies behind the one */
	__u8 line_shift;    /* in line_word */
	__u8 line_word,
		name_word; /* in what is read of a code object, JANK_SCRIPT_CODE_SZ from code_at on */
	__u16 code_at;
	__u16 hash_at; /* in a name */
	__u8 frame_sz; /* Ruby: of a frame; 0: it is CPython, whose frames are linked */
	__u8 pad[7];
	__u64 root; /* Ruby: where the thread's own fiber lies; in others nothing is read */
};
_Static_assert(sizeof(struct jank_script_where) == 56, "jank_script_where");

/* With the room for them; user space leaves it zeroed. */
struct jank_script {
	struct jank_script_where where;
	__u64 busy;
	struct jank_rec_script rec;
	struct jank_script_frame frames[JANK_SCRIPT_MAX];
	__u64 checked[JANK_SCRIPT_MAX]; /* the code objects that their checks are of */
	__u64 raw[16];
};

/* jank_rec_waited.hdr.flags: which of its parts are known */
#define JANK_WAITED_ARGS    1  /* the system call's arguments: `args` */
#define JANK_WAITED_FILE    2  /* fd (or -1: of a page fault), mode, dev, inode, name */
#define JANK_WAITED_SOCKET  4  /* family to peer_pid */
#define JANK_WAITED_TIMEOUT 8  /* timeout_ns */
#define JANK_WAITED_FUTEX   16 /* futex_word, owner */
#define JANK_WAITED_PATH                                                                           \
	32 /* name: the path as the call gave it; fd: the folder that it is below, -1: the current one */

#define JANK_WAITED_NAME_SZ 128

/*
 * What a span off the CPU waited for; precedes its STACK or OTHER, of which it has tid, dispatch_ns
 * and t_ns.
 */
struct jank_rec_waited {
	struct jank_rec hdr;
	__u64 dispatch_ns;
	__u64 t_ns;
	__u64 args[4];
	__u64 timeout_ns; /* that was asked for, from t_ns on; ~0: none */
	__u64 inode;
	__u32 dev;  /* the kernel's dev_t: major << 20 | minor */
	__u32 mode; /* i_mode */
	__s32 fd;
	__u32 futex_word; /* as it fell asleep */
	__u32 owner; /* glibc's pthread_mutex_t: what stands where the owner's tid would, 8 bytes on */
	__u32 peer_pid;	    /* of a unix socket: who connected or listened; 0: not known */
	__u16 family, type; /* AF_*, SOCK_* */
	__u16 state;	    /* of a TCP socket: TCP_* (net/tcp_states.h); else 0 */
	__u16 sport, dport; /* in our byte order */
	__u16 pad;
	__u32 pad2;
	__u8 saddr[16], daddr[16]; /* 4 bytes of an AF_INET one; all 0: none */
	/*
	 * A path's components, leaf first, each with its zero byte, up to the file system's root;
	 * the last may be missing. Of a unix socket the bound path, its own or the peer's; an
	 * abstract one begins with '@'.
	 */
	char name[JANK_WAITED_NAME_SZ];
	char comm[JANK_COMM_SZ];
};
_Static_assert(sizeof(struct jank_rec_waited) ==
		       32 + 16 + 32 + 16 + 24 + 16 + 32 + JANK_WAITED_NAME_SZ + JANK_COMM_SZ,
	       "jank_rec_waited");

/* More on a slow dispatch; precedes its BLOCK or HANG. */
struct jank_rec_facts {
	struct jank_rec hdr;
	__u64 dispatch_ns;  /* start_ns of the block that it belongs to */
	__u64 throttled_ns; /* runnable, while a quota of its cgroups kept it off the CPU */
	__u64 stolen_ns;    /* runnable, while a hypervisor had the CPU */
	__u64 maj_flt_cnt, min_flt_cnt; /* page faults, with and without waiting for storage */
	__u16 prio;			/* see JANK_PRIO_OFFSET */
	__u16 policy;			/* SCHED_* */
	__u32 cpus_allowed;		/* how many CPUs it may run on; 0: not known */
	char comm[JANK_COMM_SZ];
};
_Static_assert(sizeof(struct jank_rec_facts) == 32 + 40 + 8 + JANK_COMM_SZ, "jank_rec_facts");

/*
 * A thread's counts: on its end, when a counter of its histogram is full (the counts begin anew
 * then), and for every living one when the iterator is read.
 */
struct jank_rec_thread {
	struct jank_rec hdr;
	__u64 dispatch_cnt;
	__u64 block_cnt;
	__u64 hang_cnt;
	struct jank_hist dispatches; /* their durations */
	__u32 loop;
	__u32 pad;
	char comm[JANK_COMM_SZ];
	struct jank_hist
		starts; /* their start delays, without those of 0; older records end before it */
};
#define JANK_THREAD_SZ_OLD (32 + 24 + sizeof(struct jank_hist) + 8 + JANK_COMM_SZ)
_Static_assert(sizeof(struct jank_rec_thread) == JANK_THREAD_SZ_OLD + sizeof(struct jank_hist),
	       "jank_rec_thread");

/* jank_rec_exec.hdr.flags */
#define JANK_EXEC_BY_THREAD 1 /* not by the main thread, whose task is gone now */
#define JANK_EXEC_32BIT	    2 /* the new program is a 32-bit one */

/*
 * A traced process replaced its program; with -a and compat_apart also any that became a 32-bit
 * one.
 */
struct jank_rec_exec {
	struct jank_rec hdr;
	char comm[JANK_COMM_SZ];
};
_Static_assert(sizeof(struct jank_rec_exec) == 48, "jank_rec_exec");

#endif
