/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Contract between the BPF programs and user space: configuration, records, loss reasons.
 *
 * Both sides include it, user space before the generated skeleton. It therefore uses fixed-size
 * types only: no bool, enum, long, pointer or bit-field. Pads are explicit and zeroed. Numbers are
 * never reused, because they are also the journal's format.
 */
#ifndef JANK_JANK_ABI_H
#define JANK_JANK_ABI_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#include "bpf/jank_hist.h"
#include "bpf/jank_share.h"

#define JANK_ABI_VERSION 2

#define JANK_COMM_SZ	 16
#define JANK_KSTACK_MAX	 64  /* frames; a deeper kernel stack is marked JANK_STACK_CUT */
#define JANK_USTACK_MAX	 127 /* frames; the kernel's own limit (kernel.perf_event_max_stack) */
#define JANK_SLICE_MAX	 16  /* slices of other tasks reported with one runnable span */
#define JANK_SYSCALL_32	 512 /* added to the system-call numbers of 32-bit programs */
#define JANK_SYSCALL_MAX 1024
#define JANK_TGID_MAX	 4096
#define JANK_THREAD_MAX	 4096 /* threads with state, where the kernel has no task storage */

/*
 * States that a dispatch's time is divided into. X(number, NAME, key): `key` is the word in the
 * reports' `time` and `samples[].state`.
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
#define JANK_STATE_FIRST_BLOCKED 2

/*
 * Classes of system calls: they determine the state of a blocked thread. conf.syscall_class holds
 * one for each system call.
 */
#define JANK_SYSCALL_CLASSES(X)                                                                    \
	X(0, PLAIN) /* disk when in_iowait, else other */                                          \
	X(1, FUTEX)                                                                                \
	X(2, SLEEP)                                                                                \
	X(3, POLL)                                                                                 \
	X(4, SOCKET)                                                                               \
	X(5, FD)       /* by the type of the file of the first argument */                         \
	X(6, IOCTL)    /* binder by its command, else as PLAIN */                                  \
	X(7, FILE)     /* disk when uninterruptible, else other */                                 \
	X(8, POLL_FDS) /* poll, ppoll: blocked as POLL */                                          \
	X(9, SELECT)   /* select, pselect6: blocked as POLL */                                     \
	X(10, IO_URING)                                                                            \
	X(11, FILE_FD)	/* as FILE; the first argument is a descriptor */                          \
	X(12, SENDFILE) /* as FD; the second argument is the descriptor that is read */            \
	X(13, PATH)	/* as FILE; the first argument is a path */                                \
	X(14, PATH_AT) /* as FILE; the first two arguments are a folder's descriptor and a path */ \
	X(15, ACCEPT)  /* as SOCKET */                                                             \
	X(16, RECV)    /* as SOCKET */                                                             \
	X(17, QUEUE)   /* waits for a signal or a message: as PLAIN */                             \
	X(18, CHILD)   /* waits for the end of a child: as PLAIN */

/* Classes that tell the state alone: X(class, state) */
#define JANK_CLASS_STATES(X)                                                                       \
	X(FUTEX, FUTEX)                                                                            \
	X(SLEEP, SLEEP)                                                                            \
	X(POLL, POLL)                                                                              \
	X(POLL_FDS, POLL)                                                                          \
	X(SELECT, POLL)                                                                            \
	X(IO_URING, POLL)                                                                          \
	X(SOCKET, SOCKET)                                                                          \
	X(ACCEPT, SOCKET)                                                                          \
	X(RECV, SOCKET)
#define JANK_CASE_STATE(class, state)                                                              \
	case JANK_CLASS_##class:                                                                   \
		return JANK_STATE_##state;

/*
 * Kinds of loop, by the way the wait is detected. The name is the `loop` of the reports when the
 * catalogue knows no better one (libuv, qt, …).
 */
#define JANK_LOOPS(X)                                                                              \
	X(1, EPOLL, "epoll")                                                                       \
	X(2, ANDROID_LOOPER, "android-looper")                                                     \
	X(3, POLL, "poll")     /* poll, ppoll, select, pselect6: recognized by evidence */         \
	X(4, CUSTOM, "custom") /* its wait is a function that a loop file names */                 \
	X(5, PARK, "park")     /* parks of a runtime's worker that waits in nothing else */

/*
 * Records. X(number, NAME, struct, name for messages). Number 5 was THREAD with a histogram of 40
 * octaves (tests/lib/journal_v1.py converts it); a replay counts it as an unknown record.
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
	X(14, THREAD, struct jank_rec_thread, "thread")                                            \
	X(15, MARKS, struct jank_rec_marks, "marks")                                               \
	X(16, STARTED, struct jank_rec_started, "started")

/* Reasons for which the BPF side drops data. X(number, NAME, key in `lost`) */
#define JANK_LOSSES(X)                                                                             \
	X(0, RING_FULL, "ring_full")	     /* a block, hang or loop record */                    \
	X(1, SAMPLE_SHED, "samples_shed")    /* a stack record: the room is kept for blocks */     \
	X(2, NO_THREAD, "thread_table_full") /* no state for a thread: it is not traced */         \
	X(3, WAKEUP,                                                                               \
	  "wakeup_missed") /* runnable time of a span counted as blocked, or a span not sent */    \
	X(4, LOOP_CHANGED, "loop_changed") /* an open dispatch discarded: its loop changed */      \
	X(5, NO_STACK, "stack_failed")	   /* a sample without any frame */                        \
	X(6, EVIDENCE, "evidence_shed")	   /* stacks of threads that a dispatch awaited */         \
	X(7, COPY, "stack_copies_shed")	   /* callers of a sample by frame pointers only */        \
	X(8, SHARE, "share_exceeded")	   /* its user held too much: see jank_share */

#define JANK_X_STATE(nr, NAME, key)	   JANK_STATE_##NAME = nr,
#define JANK_X_CLASS(nr, NAME)		   JANK_CLASS_##NAME = nr,
#define JANK_X_LOOP(nr, NAME, key)	   JANK_LOOP_##NAME = nr,
#define JANK_X_RECORD(nr, NAME, type, key) JANK_REC_##NAME = nr,
#define JANK_X_LOSS(nr, NAME, key)	   JANK_LOST_##NAME = nr,
enum { JANK_STATES(JANK_X_STATE) JANK_STATE_CNT };
enum { JANK_SYSCALL_CLASSES(JANK_X_CLASS) };
enum { JANK_LOOPS(JANK_X_LOOP) };
enum { JANK_RECORDS(JANK_X_RECORD) };
enum { JANK_LOSSES(JANK_X_LOSS) JANK_LOSS_CNT };
/* Places in jank_tails of the programs that the probe of switches enters. */
enum { JANK_TAIL_LEAVE, JANK_TAIL_ARRIVE, JANK_TAIL_CNT };
#undef JANK_X_STATE
#undef JANK_X_CLASS
#undef JANK_X_LOOP
#undef JANK_X_RECORD
#undef JANK_X_LOSS

#define JANK_FILTER_MAX 8 /* of each kind of filter */

/*
 * Glob compiled for matching byte by byte. Bit i of the state is set when the pattern's first i
 * elements have matched. The state starts as 1. The text matches when the final state has a bit of
 * `accept`.
 */
struct jank_glob {
	__u32 star; /* bits at which a star accepts any byte */
	__u32 accept;
	__u32 match[256]; /* by byte: the bits whose next element is this byte */
};
_Static_assert(sizeof(struct jank_glob) == 1032, "jank_glob");

#define JANK_HANG_LIMITS 24 /* --hang, those of overrides, Android's four, and the end mark */

#define JANK_EPOLL_CNT 6 /* epoll_wait, epoll_pwait, epoll_pwait2, then those of 32-bit programs */

/* Thread name or its prefix: (name ^ want) & mask is 0. All zero: no pattern. */
#define JANK_UI_THREAD_MAX 4
struct jank_comm_pattern {
	__u64 want[JANK_COMM_SZ / 8];
	__u64 mask[JANK_COMM_SZ / 8];
};

/*
 * Configuration, set once by user space before load. The verifier removes the code of a feature
 * that is off.
 */
struct jank_conf {
	__u64 threshold_ns;		       /* a dispatch longer than this is a block */
	__u64 hang_ns;			       /* 0: never */
	__u64 hang_limit_ns[JANK_HANG_LIMITS]; /* a hang is reported at each; ascending, then ~0 */
	__u64 span_min_ns;    /* off-CPU spans of at least this length are sent with their stack */
	__u64 sample_age_ns;  /* the sampler ignores a dispatch younger than this */
	__u64 real_offset_ns; /* CLOCK_REALTIME minus CLOCK_MONOTONIC */
	/* the kernel updates a running thread's CPU time at least once in this time */
	__u64 tick_ns;
	/* other threads are recorded once a dispatch waits longer than this; 0: never */
	__u64 watch_ns;
	__u64 startup_ns; /* a start-up longer than this is a block; 0: none is watched */
	__u32 tgid;	  /* the one traced process, the machine's number; 0: those in jank_tgids */
	__u32 self_tgid;  /* jankbpf's own process */
	__u32 switch_state; /* sched_switch has prev's state as an argument (5.18) */
	__u32 debugging;    /* time stopped by a debugger counts, also for a hang */
	__u32 infer_begin;  /* the begin of a wait is not probed: see loop_wait__turn */
	__u32 thread_sz;    /* bytes of a kernel stack up to the end of the saved registers */
	__u64 user_ip_mask; /* the bits that a user-space address can have */
	/* trace every process that the filters below admit; ignore tgid and jank_tgids */
	__u32 all;
	__u32 main_thread; /* with `all`: only main threads */
	__u32 loop_mask;   /* with `all`: only loops of these kinds: bit JANK_LOOP_* */
	__u32 uid_cnt;	   /* used entries of uids; 0: any user */
	/* used entries of jank_globs, matched with the process name; 0: any name */
	__u32 glob_cnt;
	__u32 in_cgroups;   /* only those in cgroups of jank_cgroups, of which there may be none */
	__u32 compat_apart; /* sys_enter and sys_exit serve 32-bit programs only */
	/* select, whose timeout is in microseconds; -1: not on this architecture */
	__s32 select_nr;
	__u32 copy_sz;	   /* initial bytes copied of a user stack; 0: no copies */
	__u32 name_tgid;   /* the first jankbpf-name */
	__u32 adjustable;  /* the threshold is jank_threshold_ns, which user space may change */
	__u32 pid_level;   /* depth of jankbpf's pid namespace; 0: the machine's */
	__u64 pid_ns;	   /* with a level: address of its struct pid_namespace */
	__u64 fair_class;  /* address of the fair class; 0: not known; JANK_FAIR_BY_PRIO */
	__u32 history_cnt; /* entries of jank_history for each CPU, a power of two; 0: none */
	__u32 marks_hz; /* dispatches a second that are too many for marks: mark__pace; 0: none */
	__u32 uids[JANK_FILTER_MAX];
	__s32 epoll_nr[JANK_EPOLL_CNT]; /* -1: not on this architecture */
	__s32 restart_nr[2];		/* restart_syscall, of 64-bit and 32-bit programs */
	struct jank_comm_pattern ui_threads[JANK_UI_THREAD_MAX];
	__u8 syscall_class[JANK_SYSCALL_MAX]; /* by system-call number: JANK_CLASS_* */
};
_Static_assert(sizeof(struct jank_conf) == 552 + JANK_SYSCALL_MAX, "jank_conf");

/*
 * In a pid namespace, a task that is not in it has the machine's number plus this. The numbers of
 * tasks end at 4194304 (PID_MAX_LIMIT of linux/threads.h).
 */
#define JANK_PID_OUTSIDE 2000000000

/*
 * History of a CPU (--record): entries of an overwritten buffer that user space maps. CPU i has the
 * entries from i * jank_conf.history_cnt on; its n-th entry is at n modulo that count.
 */
#define JANK_HISTORY_SWITCH    1 /* tid gets the CPU, 0: idle; other_tid leaves it */
#define JANK_HISTORY_WAKE      2 /* tid, a watched thread, is woken by other_tid */
#define JANK_HISTORY_TICK      3 /* the sampler's clock ticked while tid, a watched thread, ran */
#define JANK_HISTORY_KIND      0x0f /* the bits of the kind */
#define JANK_HISTORY_PREEMPTED 0x40 /* SWITCH: other_tid was preempted */
#define JANK_HISTORY_IRQ       0x80 /* WAKE: in an interrupt, not by the code of other_tid */

#define JANK_HISTORY_DISPATCH 1 /* TICK: a dispatch is open */
#define JANK_HISTORY_USER     2 /* TICK: in user mode */

/* Bits of jank_reduced: what the governor of an agent takes away. */
#define JANK_REDUCE_COPIES 1 /* no stack is copied */
#define JANK_REDUCE_POOLS  2 /* loops that wait outside of epoll and poll are not watched */
#define JANK_REDUCE_ALL	   4 /* each thread with a state gives it up at its next wait */

#define JANK_HISTORY_CPU_UNKNOWN 0xffff

struct jank_history_entry {
	__u64 t_ns; /* CLOCK_MONOTONIC */
	__u32 tid, tgid;
	__u32 other_tid;
	/*
	 * SWITCH: the state in which other_tid leaves (TASK_* of linux/sched.h). WAKE: the CPU that
	 * tid ran on, or JANK_HISTORY_CPU_UNKNOWN. TICK: JANK_HISTORY_DISPATCH, _USER.
	 */
	__u16 state;
	__u8 prio; /* of tid, see JANK_PRIO_OFFSET */
	__u8 kind; /* JANK_HISTORY_* */
	char comm[JANK_COMM_SZ];
};
_Static_assert(sizeof(struct jank_history_entry) == 40, "jank_history_entry");

/* Of a CPU, in a cache line of its own. */
struct jank_history_head {
	__u64 cnt;  /* entries written so far */
	__u32 busy; /* one is being written: an NMI must not write another */
	__u32 pad[13];
};
_Static_assert(sizeof(struct jank_history_head) == 64, "jank_history_head");

/*
 * struct jank_conf's fair_class without sched_ext: a task with such a priority is in the fair class
 * (include/linux/sched/prio.h), but for idle tasks (pid 0).
 */
#define JANK_FAIR_BY_PRIO  1
#define JANK_FAIR_PRIO_MIN 100

/* Input (in) and output (out) of the calibration object, about the task that runs it. */
struct jank_calibration {
	__u64 want_arg0;   /* in: first argument of the system call that runs it */
	__u64 exec_ns;	   /* out: CPU time */
	__u64 pid_ns;	   /* out: address of the task's innermost pid namespace */
	__u32 want_nr;	   /* in: number of that system call */
	__u32 pid_level;   /* out: of that namespace; 0: the machine's */
	__u32 tgid, tid;   /* out: in that namespace */
	__u32 thread_sz;   /* out: see jank_conf; 0: no size fits */
	__s32 prio;	   /* out: 100 to 139 in the fair class, and in sched_ext's */
	__u64 sched_class; /* out: address of the task's scheduling class */
};
_Static_assert(sizeof(struct jank_calibration) == 56, "jank_calibration");

/*
 * Header of every record. `size` covers the whole record, so that a reader can skip an unknown
 * kind.
 */
struct jank_rec {
	__u32 size;
	__u16 kind; /* JANK_REC_* */
	__u16 flags;
	__u64 ts_ns; /* CLOCK_MONOTONIC */
	__u32 tgid;
	__u32 tid;
	__u32 cpu; /* that made it: of a BLOCK the thread's own, of a HANG the reader's */
	__u32 pad;
};
_Static_assert(sizeof(struct jank_rec) == 32, "jank_rec");

/* A thread entered a loop's wait for the first time, or the kind of its loop became known. */
struct jank_rec_loop {
	struct jank_rec hdr;
	__u32 loop; /* JANK_LOOP_* */
	__s32 fd;   /* the loop's epoll descriptor, or -1 */
	__u64 key;  /* android::Looper: its address; other loops: 0 */
	char comm[JANK_COMM_SZ];
};
_Static_assert(sizeof(struct jank_rec_loop) == 64, "jank_rec_loop");

/*
 * Place where a thread waits; user space uses it to find the loop's owner. It follows a LOOP
 * record. Without a LOOP record and with turn_cnt 0 it is a question. With loop POLL: a process
 * polls for the first time; does it map a library with a loop that polls? With loop PARK: the
 * thread sleeps and it is unknown whether that is a park. A COPY precedes it, except for the POLL
 * question.
 */
struct jank_rec_wait {
	struct jank_rec hdr;
	__u64 sp;	/* user stack pointer in the wait */
	__u64 ip;	/* user instruction pointer */
	__s32 syscall;	/* number, or -1: seen by a uprobe */
	__u32 turn_cnt; /* consecutive waits from this place before it counted as a loop */
	/*
	 * Question: waits there in a row. After a LOOP record: its probation lasted so many ms.
	 * idle_waits__each: the number of descriptors of poll, ppoll, select and pselect6.
	 */
	__u32 fd_cnt;
	__u32 loop; /* JANK_LOOP_* */
	char comm[JANK_COMM_SZ];
};
_Static_assert(sizeof(struct jank_rec_wait) == 80, "jank_rec_wait");

/*
 * Parks: futex waits and sleeps of a runtime's idle workers. User space describes a process in
 * jank_parkers, as far as it has been asked: chains of return addresses that lead to a park, and
 * some that do not. A chain is identified by the wait's own address and by the words at these
 * offsets from the stack pointer. Each word is the return address of the preceding frame.
 *
 * An answer also applies to its place (jank_parks), for the thread that asked and sleeps meanwhile.
 * An interpreter may make all its calls through the same chain; then the interpreter's frames tell
 * the calls apart. `script` is the identity of these frames (jank_rec_script), 0 for threads of
 * other processes.
 */
#define JANK_PARKS_BY_PLACE  1
#define JANK_PARKS_ANY_FUTEX 2 /* at any place */
#define JANK_PARKS_MAIN                                                                            \
	4 /* main thread and conf.ui_threads: the places to which they keep returning */
#define JANK_PARKS_WORKERS  8  /* the same for every thread */
#define JANK_PARKS_SCRIPT   16 /* a place includes the identity of the interpreter's frames */
#define JANK_PARKS_COMPARED 32 /* another thread: only beside a loop that polls, see park.bpf.h */
#define JANK_PARK_NO	    1
#define JANK_PARK_YES	    2
#define JANK_PARK_IDLE	    3 /* a park if the poll before it returned no event */
#define JANK_PARK_LEFT	    4 /* of a place only: a park; the dispatch before it ended unseen */
#define JANK_WAIT_COMPARE   1 /* flag of a question: the thread has a loop that polls */
#define JANK_PARKER_MAX	    1024
#define JANK_LEFT_MAX	    4096 /* slots of jank_left */
#define JANK_PARK_PLACE_MAX 1024
#define JANK_PARK_CHAIN_MAX 8
#define JANK_PARK_WORD_MAX  8
struct jank_park_chain {
	__u64 ip;
	__u64 word[JANK_PARK_WORD_MAX];
	__u16 offset[JANK_PARK_WORD_MAX];
	__u16 word_cnt;
	__u16 verdict; /* JANK_PARK_*; 0: unused entry */
	__u32 script;
};
_Static_assert(sizeof(struct jank_park_chain) == 96, "jank_park_chain");
struct jank_parks {
	__u32 kinds; /* JANK_PARKS_* */
	__u32 pad;
	/* Code range whose waits in epoll are not traced as loops; equal: no range. */
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
 * Marks: an entry probe reads what the thread handles now. The address `a` starts as argument
 * `reg`; then deref_cnt times a = *(u64 *)(a + offset[i]). The last step depends on `size`: 0 takes
 * `a` itself; 1 to 8 take the number at a + offset[deref_cnt]; JANK_MARK_TEXT takes the text there,
 * up to a zero byte; JANK_MARK_TEXT16 takes the bytes there, which are UTF-16.
 */
#define JANK_MARK_MAX	     256 /* marks of all rows of the catalogue */
#define JANK_MARK_ARG_MAX    5
#define JANK_MARK_FIELD_MAX  4
#define JANK_MARK_DEREF_MAX  3
#define JANK_MARK_TEXT	     255
#define JANK_MARK_TEXT16     254
#define JANK_MESSAGE_TEXT_SZ 48
struct jank_mark_field {
	__u8 reg; /* argument number, from 0 */
	__u8 size;
	__u8 deref_cnt;
	__u8 is_fd; /* a descriptor: send value_inode, too */
	__s32 offset[JANK_MARK_DEREF_MAX + 1];
};
_Static_assert(sizeof(struct jank_mark_field) == 20, "jank_mark_field");

/*
 * If the object has several layouts, each is a mark, one after the other; all but the last have a
 * check. The object has the first layout whose check holds.
 */
#define JANK_MARK_LAYOUT_MAX 3
struct jank_mark {
	__u8 field_cnt;
	__u8 has_next;	/* the next mark is another layout, for the case that the check fails */
	__u8 check;	/* with has_next: this field and the next one must be equal … */
	__u8 check_shl; /* … without their first bits */
	struct jank_mark_field fields[JANK_MARK_FIELD_MAX];
};
_Static_assert(sizeof(struct jank_mark) == 84, "jank_mark");

/*
 * Message that a slow dispatch handles; precedes its BLOCK or HANG. Of epoll: the first events that
 * the wait returned. Of a mark: its fields, with a bit in `got` for each one that was read; one
 * text at most. Of a Looper without a mark: `got` is JANK_GOT_DUE, and the first value is the
 * CLOCK_MONOTONIC time at which its first message was due.
 */
#define JANK_GOT_DUE   1
#define JANK_READY_MAX 4
struct jank_rec_message {
	struct jank_rec hdr;
	__u64 dispatch_ns; /* start_ns of its block */
	__u32 mark;	   /* index into the catalogue's marks + 1; 0: no mark was hit */
	__u32 got;	   /* bits of the fields that were read */
	__u32 ready_got;   /* bits of the entries of ready_data that were read */
	__u32 nested_cnt;  /* marks hit deeper in the stack in the meantime */
	__u64 ready_data[JANK_READY_MAX];
	__u32 ready_events[JANK_READY_MAX];
	__u64 value[JANK_MARK_FIELD_MAX];
	/*
	 * Inode of the file while the handler runs. The descriptor is the value, or the lower half
	 * of the data.
	 */
	__u64 ready_inode[JANK_READY_MAX];
	__u64 value_inode[JANK_MARK_FIELD_MAX];
	char text[JANK_MESSAGE_TEXT_SZ];
	char comm[JANK_COMM_SZ];
};
_Static_assert(sizeof(struct jank_rec_message) ==
		       32 + 24 + 48 + 32 + 64 + JANK_MESSAGE_TEXT_SZ + JANK_COMM_SZ,
	       "jank_rec_message");
#define JANK_INODE_NONE (~0ull) /* no open descriptor has this number; 0: not known */

/* How a dispatch ended: jank_rec_block.end */
#define JANK_END_WAIT 0 /* the loop's next wait began */
#define JANK_END_EXIT 1 /* the thread ended in it */
#define JANK_END_EXEC 2
#define JANK_END_OPEN 3 /* a hang: still open */
#define JANK_END_MARK 4 /* the next message of the same wait began */
/*
 * A handler in which the loop turned, deeper in the stack; these turns are dispatches of their own.
 * Its only evidence is a STACK record with JANK_STACK_NESTED. A block only if its stack says so.
 */
#define JANK_END_NESTED 5

/*
 * hdr.flags of BLOCK and HANG: number of the thread's trial, while it is not yet known to wait in a
 * loop; else 0. A LOOP and a WAIT record with the same number confirm the trial. With another
 * number, or without these records, the block does not belong to a dispatch.
 */
#define JANK_TRIAL_MAX 0xffff

/*
 * The wait ended before the trace. The dispatch is counted from when its thread fell asleep, or was
 * found running.
 */
#define JANK_READY_BEFORE (-0x7fffffff - 1)

/* No wait: the dispatch is the program's start-up (bpf/startup.bpf.h). */
#define JANK_READY_STARTUP (-0x7fffffff)

/* A dispatch over the threshold (BLOCK), or one still open after hang_ns (HANG). */
struct jank_rec_block {
	struct jank_rec hdr;
	__u64 start_ns;
	__u64 duration_ns;
	__u64 cpu_ns;			/* the thread's CPU clock over the dispatch */
	__u64 state_ns[JANK_STATE_CNT]; /* sums to duration_ns exactly */
	__u32 loop;
	__s32 fd; /* the loop's epoll descriptor, or -1 */
	/* return value of the wait: events, 0 for a timeout, -errno, JANK_READY_* */
	__s32 ready_cnt;
	__u16 end;    /* JANK_END_* */
	__u16 behind; /* 1 + descriptors ready when the loop came back to its wait; 0: not known */
	__u32 state;  /* JANK_STATE_* at the record's time */
	__u32 stack_cnt; /* stack records sent for this dispatch so far */
	__u32 shed_cnt;	 /* stack records dropped for lack of room */
	__u32 wakeup_missed_cnt;
	char comm[JANK_COMM_SZ];
	/*
	 * Time from the wake-up in the loop's wait to start_ns; 0: the wait did not sleep. A HANG
	 * with duration_ns 0: the thread was woken and waits for a CPU. Records from before this
	 * field end here (JANK_BLOCK_SZ_OLD).
	 */
	__u64 start_delay_ns;
};
#define JANK_BLOCK_SZ_OLD	 (32 + 24 + 8 * JANK_STATE_CNT + 32 + JANK_COMM_SZ)
#define JANK_START_DELAY_UNKNOWN (~0ull) /* for a record of the old size */
_Static_assert(sizeof(struct jank_rec_block) == JANK_BLOCK_SZ_OLD + 8, "jank_rec_block");

/* Another task: one that woke the thread, or one that ran instead of it. */
struct jank_task {
	__u64 ns; /* length of its slice; of a waker: see jank_rec_stack */
	__u32 tgid;
	__u32 tid;
	char comm[JANK_COMM_SZ];
};
_Static_assert(sizeof(struct jank_task) == 32, "jank_task");

/* jank_rec_stack.hdr.flags */
#define JANK_STACK_CUT_KERNEL 1 /* deeper than JANK_KSTACK_MAX */
#define JANK_STACK_CUT_USER   2 /* deeper than JANK_USTACK_MAX */
#define JANK_STACK_NO_USER    4 /* the user part could not be read */
#define JANK_STACK_WAKER      8 /* waker is set */
/* the waker ran a softirq: a loopback peer, or an unrelated task */
#define JANK_STACK_WAKER_SOFTIRQ 16
#define JANK_STACK_OPEN		 32 /* the span had not ended when this was sent (hang) */
#define JANK_STACK_PRIOS	 64 /* the priorities of the slices follow the slices */
/* OTHER: taken when the thread woke another; here `waker` is the wakee */
#define JANK_STACK_WAKES 128
#define JANK_STACK_START                                                                           \
	512 /* time t_ns, ns from the wake-up in the loop's wait to the CPU; no frames */
#define JANK_STACK_CUT_SLICES 1024 /* some of the slices in the span are missing */
/* of a nested wait (JANK_END_NESTED): t_ns is the time of the copy, ns 0 */
#define JANK_STACK_NESTED 8192
#define JANK_STACK_BEFORE                                                                          \
	256 /* OTHER: the span's begin was missed: t_ns by the task, one user frame */

/* a CPU quota of its cgroups withheld the CPU for most of runnable_ns */
#define JANK_STACK_THROTTLED 2048
#define JANK_STACK_FROZEN    4096 /* state STOPPED: frozen with its cgroup */

/*
 * Offset of a task's priority in records: task->prio + 2 (deadline 1, real time 2 to 101, nice -20
 * to 19: 102 to 141).
 */
#define JANK_PRIO_OFFSET 2

/* OTHER: a shorter span may lack a record if the thread has sent one (watch_budget.bpf.h). */
#define JANK_OTHER_SHORT_NS 16000000

/*
 * Timed stack: a tick of the sampler (state RUNNING, ns 0) or a span off the CPU. kernel_cnt +
 * user_cnt addresses (__u64) follow: leaf first, kernel before user. Then slice_cnt struct
 * jank_task follow: the tasks that ran on the CPU while the thread was runnable, latest first. With
 * JANK_STACK_PRIOS as many priorities (__u16) come next, padded to 8 bytes with zeros. With
 * JANK_STACK_START dispatch_ns is the dispatch that began after the span.
 *
 * OTHER is the same for a thread that a dispatch may be waiting for. It is sent only while a
 * dispatch has been waiting for longer than jank_conf.watch_ns. Instead of a dispatch's begin it
 * has the thread's times since its start, so that the time between two records of a thread is
 * known: delay_ns is its wait for CPUs, waker.ns its CPU time (in WAKES as of the last tick). 0:
 * not known.
 */
struct jank_rec_stack {
	struct jank_rec hdr;
	union {
		__u64 dispatch_ns; /* start_ns of its dispatch */
		__u64 delay_ns;	   /* of OTHER */
	};
	__u64 t_ns;	   /* begin of the span, or time of the tick */
	__u64 ns;	   /* length of the span; 0 for a tick */
	__u64 runnable_ns; /* part of ns spent waiting for a CPU after the wake-up */
	__u32 state;	   /* JANK_STATE_*: running, runnable, or a blocked state */
	__s32 syscall;	   /* number; -1 outside of a system call */
	__u16 kernel_cnt;
	__u16 user_cnt;
	__u16 slice_cnt;
	__u16 prio; /* the thread's own, see JANK_PRIO_OFFSET; 0: not known */
	struct jank_task waker;
};
_Static_assert(sizeof(struct jank_rec_stack) == 32 + 32 + 16 + 32, "jank_rec_stack");

/*
 * Refreshes of one CRTC of a display, as the DRM reports them: time and the CRTC's own count, which
 * continues while the DRM reports nothing. `near` holds the last ones. `far` holds every
 * JANK_VBLANK_STEP-th earlier one, since a hang may last long. `cnt` is the number of reported
 * refreshes.
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
 * Number of registers, numbered as in the architecture's DWARF. x86-64: rax, rdx, rcx, rbx, rsi,
 * rdi, rbp, rsp, r8 to r15, rip (psABI, figure 3.36). arm64: x0 to x30, sp, pc (aadwarf64). A
 * 32-bit program (JANK_COPY_32BIT) uses the same places, each under the name of the 64-bit
 * register: eip in rip's place; arm's r0 to r14 in the places of x0 to x14, its sp and pc in
 * arm64's.
 */
#define JANK_REG_MAX 33

/* jank_rec_copy.hdr.flags */
#define JANK_COPY_32BIT 1
#define JANK_COPY_HOLE                                                                             \
	2 /* pages were unreadable: those of hole_mask; with many of them, all that follow */
#define JANK_COPY_WHOLE                                                                            \
	4 /* the copy reaches the stack's upper end, which is below the permitted size */
#define JANK_COPY_WAIT 8 /* for the WAIT record that follows: t_ns is that record's ts_ns */

/* Bit i of hole_mask: the content of the i-th page is missing, counted from the stack pointer's. */
#define JANK_COPY_PAGE 4096

/* Bytes of a copy: the usual size, which --stack-bytes has as its default, and the largest. */
#define JANK_COPY_SZ  (16 << 10)
#define JANK_COPY_MAX (64 << 10)

/*
 * Bytes below the stack pointer that a function of x86-64 may use (psABI, 3.2.2): OpenSSL's hashes
 * for AVX2 keep there where their caller's frame is.
 */
#define JANK_RED_ZONE 128

/*
 * Input of the unwinder for a user stack; precedes its STACK, OTHER or WAIT and has the same tid
 * and t_ns. copy_sz bytes follow: the stack from the stack pointer on. JANK_COPY_NESTED in
 * dispatch_ns: it belongs to a STACK with JANK_STACK_NESTED.
 */
#define JANK_COPY_NESTED (1ull << 63)
struct jank_rec_copy {
	struct jank_rec hdr;
	__u64 dispatch_ns;
	__u64 t_ns;
	__u64 regs[JANK_REG_MAX];
	__u32 copy_sz;
	__u32 asked_sz;
	__u32 hole_mask;
	__u32 pad;
	__u8 red_zone[JANK_RED_ZONE]; /* of x86-64; zeros if it could not be read */
};
_Static_assert(sizeof(struct jank_rec_copy) == 32 + 16 + 8 * JANK_REG_MAX + 16 + JANK_RED_ZONE,
	       "jank_rec_copy");

/*
 * The second place of a number in a table of cnt places, a power of two; the first one is its last
 * bits. They are an odd number apart: never the same. Numbers that share the first one rarely share
 * the second one.
 */
#define JANK_SECOND_PLACE(nr, cnt) (((nr) + ((nr) / (cnt)*31 | 1)) & ((cnt)-1))

/* The probes' table of copies that are not sent yet, see bpf/copy_user_stack.bpf.h. */
#define JANK_COPY_CNT 512
struct jank_copy {
	__u64 writes; /* see slot__lock */
	struct jank_rec_copy rec;
	__u8 bytes[JANK_COPY_SZ + JANK_COPY_PAGE]; /* the verifier adds a whole page */
};

/* Frame of an interpreter (CPython). */
#define JANK_SCRIPT_MAX	  64
#define JANK_SCRIPT_ENTRY 1 /* the interpreter's C function was entered for this frame */
/*
 * Of user space: a function in a frame of the native stack. Bits 8 to 15: of several functions of
 * that frame, which one; bits 16 to 31: the index of the frame's address in the user part.
 */
#define JANK_SCRIPT_NATIVE 2
struct jank_script_frame {
	/* address of its code object; 0: no frame, marks an entry before the next one */
	__u64 code;
	__u64 instr; /* address of the instruction in it */
	__u32 flags; /* JANK_SCRIPT_* */
	/* checksum of the code object: another may lie there before its name is read */
	__u32 check;
};
_Static_assert(sizeof(struct jank_script_frame) == 24, "jank_script_frame");

/* jank_rec_script.hdr.flags */
#define JANK_SCRIPT_WAIT 1 /* for a WAIT record, as JANK_COPY_WAIT */

/*
 * Stack of an interpreter, innermost frame first; precedes its STACK and has the same tid and t_ns.
 * The frames follow.
 */
struct jank_rec_script {
	struct jank_rec hdr;
	__u64 dispatch_ns; /* begin of the dispatch; 0: of a wait without one */
	__u64 t_ns;
	__u32 frame_cnt;
	__u32 identity; /* of a wait: hash of the frames, to tell stacks apart; 0: none */
};
_Static_assert(sizeof(struct jank_rec_script) == 56, "jank_rec_script");

/*
 * Number of threads with an interpreter's stack, and the bytes read of each frame: the part before
 * its variables.
 */
#define JANK_SCRIPT_THREAD_MAX 512
#define JANK_SCRIPT_FRAME_SZ   72

/*
 * Location of a thread's interpreter frames, by its tid. Written by user space. Offsets are in
 * bytes, words of 8 bytes. A frame's check is its code object's first line times JANK_SCRIPT_CHECK,
 * plus the hash of its name, which the interpreter stores.
 *
 * Ruby's frames are contiguous (frame_sz) in the stack of the thread's fiber. `code` is the iseq, 0
 * for a C function; `instr` is the pc.
 */
#define JANK_SCRIPT_CHECK   31
#define JANK_SCRIPT_CODE_SZ 64
struct jank_script_where {
	__u64 tstate; /* address of the interpreter's state of the thread */
	/* expected thread number in it; another number: the state belongs to another thread */
	__u64 native_id;
	__u32 tgid;
	__u16 native_at;
	__u16 frame_at;	 /* offset in tstate of the innermost frame's address */
	__u16 cframe_at; /* offset of that address in the object at frame_at, unless `direct` */
	__u8 direct;	 /* that address is at frame_at itself */
	__u8 code_word, previous_word, instr_word; /* words in a frame */
	__u8 mark_at, mark; /* byte in a frame, and its value where the C function was entered */
	__u8 shim;	 /* CPython 3.12: the mark is on a shim without code, next to the frame */
	__u8 line_shift; /* right shift of line_word */
	__u8 line_word,
		/* words in the bytes read of a code object: JANK_SCRIPT_CODE_SZ from code_at on */
		name_word;
	__u16 code_at;
	__u16 hash_at;	  /* offset in the name */
	__u8 frame_sz;	  /* Ruby: bytes of a frame; 0: CPython, whose frames are linked */
	__u8 places_only; /* the frames only tell places apart: they are not in stacks */
	__u8 pad[6];
	__u64 root; /* Ruby: the thread's own fiber; no frames are read in other fibers */
};
_Static_assert(sizeof(struct jank_script_where) == 56, "jank_script_where");

/* The location and the buffers for the frames; user space zeroes the buffers. */
struct jank_script {
	struct jank_script_where where;
	__u64 busy;
	struct jank_rec_script rec;
	struct jank_script_frame frames[JANK_SCRIPT_MAX];
	__u64 checked[JANK_SCRIPT_MAX]; /* code objects of which frames[].check was computed */
	__u64 raw[16];
};

/* jank_rec_waited.hdr.flags: the parts that are known */
#define JANK_WAITED_ARGS    1  /* the system call's arguments: `args` */
#define JANK_WAITED_FILE    2  /* fd (-1: page fault), mode, dev, inode, name */
#define JANK_WAITED_SOCKET  4  /* family to peer_pid */
#define JANK_WAITED_TIMEOUT 8  /* timeout_ns */
#define JANK_WAITED_FUTEX   16 /* futex_word, owner */
#define JANK_WAITED_PATH                                                                           \
	32 /* name: the path argument; fd: the folder it is relative to, -1: the current one */
#define JANK_WAITED_BINDER 64 /* peer_pid, binder_code */

#define JANK_WAITED_NAME_SZ 128

/*
 * Object that a span off the CPU waited for; precedes its STACK or OTHER and has the same tid,
 * dispatch_ns and t_ns.
 */
struct jank_rec_waited {
	struct jank_rec hdr;
	__u64 dispatch_ns;
	__u64 t_ns;
	__u64 args[4];
	__u64 timeout_ns; /* requested timeout, from t_ns on; ~0: none */
	__u64 inode;
	__u32 dev;  /* the kernel's dev_t: major << 20 | minor */
	__u32 mode; /* i_mode */
	__s32 fd;
	__u32 futex_word; /* value when the thread fell asleep */
	/* if glibc's pthread_mutex_t: the word of the owner's tid, 8 bytes after the futex */
	__u32 owner;
	/*
	 * of a unix socket: the process that connected or listened; of a binder call: the server;
	 * 0: not known
	 */
	__u32 peer_pid;
	__u16 family, type; /* AF_*, SOCK_* */
	__u16 state;	    /* of a TCP socket: TCP_* (net/tcp_states.h); else 0 */
	__u16 sport, dport; /* host byte order */
	__u16 pad;
	__u32 binder_code;	   /* as the server's interface numbers its methods */
	__u8 saddr[16], daddr[16]; /* 4 bytes for AF_INET; all 0: none */
	/*
	 * Components of a path, leaf first, each with its zero byte, up to the file system's root;
	 * the last may be missing. Of a unix socket: the bound path, its own or the peer's; an
	 * abstract one begins with '@'.
	 */
	char name[JANK_WAITED_NAME_SZ];
	char comm[JANK_COMM_SZ];
};
_Static_assert(sizeof(struct jank_rec_waited) ==
		       32 + 16 + 32 + 16 + 24 + 16 + 32 + JANK_WAITED_NAME_SZ + JANK_COMM_SZ,
	       "jank_rec_waited");

/*
 * A dispatch that was open before the trace (bpf/opening.bpf.h), by thread. User space writes the
 * first part, the probes the second. As long as it is in the map, the dispatch is no hang: its
 * stack is not known yet.
 */
#define JANK_OPENING_MAX 64
/* What the wait is for, in the memory of the program. */
struct jank_seen_wait {
	__u32 got; /* JANK_WAITED_FUTEX, JANK_WAITED_PATH */
	__u32 futex_word, owner;
	char path[JANK_WAITED_NAME_SZ];
	__u32 first; /* the first descriptor of a poll or select, plus 1; 0: not known */
};
/*
 * Instead of an epoll: the thread was in no handler after all; only the second part is asked for;
 * the handler was found on the stack, and what its loop waits on is not known.
 */
#define JANK_OPENING_WITHDRAWN (-1)
#define JANK_OPENING_SEEN      (-2)
#define JANK_OPENING_BY_STACK  (-3)
/* or it starts up, since start_ns; and what starts up will have a loop: it may hang */
#define JANK_OPENING_STARTUP (-4)
#define JANK_OPENING_HANGS   (-5)
struct jank_opening {
	__u64 sleep_cnt; /* how often the thread had slept, when user space looked at it */
	__s64 fd;	 /* the epoll whose loop it is in, or JANK_OPENING_* */
	__u64 loop;	 /* JANK_LOOP_EPOLL, JANK_LOOP_POLL */
	__u64 sp;	 /* JANK_OPENING_BY_STACK: of the loop when it called the handler */
	struct jank_seen_wait wait;

	__u64 opened;	/* the dispatch is open; as long as it sleeps, the rest is its wait's */
	__u64 start_ns; /* of the dispatch: when it fell asleep, else when it was found */
	__u64 span_ns;	/* of the span off the CPU; the same, but for a start-up */
	__u64 cpu_ns;	/* of a start-up, as in jank_exec */
	__u32 state;	/* JANK_STATE_* in which it was found, and the system call or -1 */
	__s32 nr;
	__u64 regs[JANK_REG_MAX];
	__u64 stack_end; /* ~0: not known */
};

/* --- start-ups: bpf/startup.bpf.h, user/session/startups.c */

/* A process that has begun lately, by its number; user space removes it when it is older. */
#define JANK_EXEC_MAX	 4096
#define JANK_EXEC_NS	 60000000000ull /* what has no loop by then starts up no more */
#define JANK_STARTUP_MAX 64
struct jank_exec {
	__u64 begin_ns; /* the later of exec and fork */
	__u64 own_ns;	/* the same, also where it continues its parent's start-up */
	/* the CPU clock of its main thread minus what its start-up has used so far */
	__u64 cpu_ns;
	/* the same two of its parent's start-up, which it continues if that ends; 0: none */
	__u64 origin_ns, origin_cpu_ns;
	/* when it was found in epoll, its loop's first wait: since when, and its CPU clock then */
	__u64 rest_ns, rest_cpu_ns;
	__u32 parent; /* by the machine's number; 0: it has its own program */
	__u16 looped; /* JANK_LOOPED_* */
	__u16 made;   /* it has a jank_startup */
	__u32 tgid;   /* of the process that has the entry; 0: free */
	__u32 pad;
};
#define JANK_LOOPED_MAIN  1 /* the main thread waits in a loop */
#define JANK_LOOPED_OTHER 2 /* another one does */

/* A thread of a process that began lately waits in its loop for the first time. */
struct jank_rec_started {
	struct jank_rec hdr;
	__u64 begin_ns; /* as in jank_exec */
	__u64 end_ns;	/* begin of the wait */
	__u32 loop;	/* JANK_LOOP_* */
	__u32 pad;
	char comm[JANK_COMM_SZ];
};
_Static_assert(sizeof(struct jank_rec_started) == 72, "jank_rec_started");

/* Further facts about a slow dispatch; precedes its BLOCK or HANG. */
struct jank_rec_facts {
	struct jank_rec hdr;
	__u64 dispatch_ns;  /* start_ns of its block */
	__u64 throttled_ns; /* runnable time in which a quota of its cgroups withheld the CPU */
	__u64 stolen_ns;    /* runnable time in which a hypervisor had the CPU */
	__u64 maj_flt_cnt, min_flt_cnt; /* page faults with and without waiting for storage */
	__u16 prio;			/* see JANK_PRIO_OFFSET */
	__u16 policy;			/* SCHED_* */
	__u32 cpus_allowed;		/* number of CPUs it may run on; 0: not known */
	char comm[JANK_COMM_SZ];
};
_Static_assert(sizeof(struct jank_rec_facts) == 32 + 40 + 8 + JANK_COMM_SZ, "jank_rec_facts");

/*
 * Counters of a thread. Sent when the thread ends, when a counter of its histogram is full (the
 * counters then restart at 0), and for every live thread when the iterator is read.
 *
 * hdr.flags: JANK_THREAD_LAST in the iterator's record of a thread that is no longer watched. Its
 * state is freed without another record, and starts at 0 when the thread is watched again.
 */
#define JANK_THREAD_LAST 1
struct jank_rec_thread {
	struct jank_rec hdr;
	__u64 dispatch_cnt;
	__u64 block_cnt;
	__u64 hang_cnt;
	struct jank_hist dispatches; /* their durations */
	__u32 loop;
	__u32 pad;
	char comm[JANK_COMM_SZ];
	struct jank_hist starts; /* their start delays, except 0; older records end before it */
	/*
	 * Of a live thread, its dispatch that has not ended; later records only. With open_ns 0 and
	 * a start delay it has not begun: the thread was woken and has had no CPU since.
	 */
	__u64 open_ns;	     /* its time so far; 0: none */
	__u64 open_delay_ns; /* its start delay, so far if it has not begun */
	__u32 open_state;    /* JANK_STATE_*, if open_ns is not 0 */
	__u32 pad2;
};
#define JANK_THREAD_SZ_OLD    (32 + 24 + sizeof(struct jank_hist) + 8 + JANK_COMM_SZ)
#define JANK_THREAD_SZ_STARTS (JANK_THREAD_SZ_OLD + sizeof(struct jank_hist))
_Static_assert(sizeof(struct jank_rec_thread) == JANK_THREAD_SZ_STARTS + 24, "jank_rec_thread");

/* jank_rec_exec.hdr.flags */
#define JANK_EXEC_BY_THREAD 1 /* not by the main thread, whose task no longer exists */
#define JANK_EXEC_32BIT	    2 /* the new program is a 32-bit one */

/*
 * A traced process replaced its program. With -a and compat_apart also any process that became a
 * 32-bit one.
 */
struct jank_rec_exec {
	struct jank_rec hdr;
	char comm[JANK_COMM_SZ];
};
_Static_assert(sizeof(struct jank_rec_exec) == 48, "jank_rec_exec");

/* A thread meets marks so often that its process should lose them. */
struct jank_rec_marks {
	struct jank_rec hdr;
	__u32 cnt; /* marks that it met */
	__u32 ms;  /* within so many milliseconds */
};
_Static_assert(sizeof(struct jank_rec_marks) == 40, "jank_rec_marks");

#endif
