/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages between the tests (logic_run.h) and the programs of logic.bpf.c. Fixed-size types, as in
 * the ABI.
 */
#ifndef JANK_TEST_LOGIC_H
#define JANK_TEST_LOGIC_H

#include "bpf/jank_abi.h"

struct logic_bucket {
	__u64 ns;
	__u32 bucket;
	__u32 pad;
};

/* X(NAME): what happens to the current thread */
#define LOGIC_STEPS(X)                                                                             \
	X(BEGIN)  /* it is about to wait on fd, its stack at sp */                                 \
	X(END)	  /* its wait has returned ret */                                                  \
	X(LOOPER) /* it enters pollOnce of looper, its stack at sp */                              \
	X(OPEN)	  /* at now_ns, as for all below: the caller sets the time */                      \
	X(LEAVE)                                                                                   \
	X(WAKE)                                                                                    \
	X(ARRIVE)                                                                                  \
	X(SLICE) /* task arg (0: the process's first) leaves this CPU */                           \
	X(FORGET)                                                                                  \
	X(DUE)	       /* in its loop's wait: it is woken */                                       \
	X(WAIT_LEAVE)  /* and leaves the CPU, preempted or asleep */                               \
	X(READY)       /* it returns ret */                                                        \
	X(FREEZE)      /* a freeze interrupts that wait */                                         \
	X(WAIT_ARRIVE) /* and gets it */                                                           \
	X(POLL)	       /* poll of the fd descriptors at arg returned ret, its stack at sp; a  */   \
	/* select that waits to read the descriptors `looper` falls asleep */                      \
	X(POLL_LEAVE)  /* it leaves the CPU in poll, its stack at sp */                            \
	X(HANDLE)      /* its dispatch handles something by mark fd, called with arg */            \
	X(TAKE)	       /* the probe reads it */                                                    \
	X(WORKER)      /* an outside check finds it in a process with parks */                     \
	X(PARK)	       /* it falls asleep at now_ns; it is not known to be a loop */               \
	X(UNPARK)      /* it gets the CPU at now_ns after a park */                                \
	X(WATCH)       /* it is watched from now_ns on, for arg stacks; it left the CPU at sp */   \
	X(OTHER_LEAVE) /* it leaves the CPU at now_ns, without a dispatch */                       \
	X(OTHER_WAKE)                                                                              \
	X(OTHER_ARRIVE)                                                                            \
	X(OTHER_RESTS) /* it leaves at now_ns, and is back after arg: `key` has WATCH_REST_* */    \
	X(CLOSE)       /* its dispatch ends at now_ns */                                           \
	X(FILL)	       /* its counter number ret is at arg */                                      \
	X(COUNT)       /* nothing; only these three fill `counted` */                              \
	X(MARK)	       /* user space does not want its loop */                                     \
	X(LOOK)	       /* nothing; return its state */                                             \
	X(RESET)       /* it becomes a new thread */
#define LOGIC_X_STEP(NAME) LOGIC_##NAME,
enum { LOGIC_STEPS(LOGIC_X_STEP) };
#undef LOGIC_X_STEP

struct logic_step {
	__u32 step;
	__s32 fd;
	__u64 sp;
	__s64 ret;
	__u64 looper;
	__u64 arg;
	__u64 now_ns;
	__u32 task_state;
	__u32 preempted;

	/* the thread's state after the step */
	__u32 known; /* it has a state */
	__u32 phase, trial;
	__u64 start_ns, mark_ns, loop_sp, key;
	__u64 start_delay_ns, woken_ns;
	__s32 loop_fd;
	__u32 loop;
	__u32 state;
	__u32 looper_entry;
	__s32 ready_cnt;
	__u32 nested_cnt;
	__u32 wakeup_missed_cnt;
	__u32 stack_cnt;
	__u64 dispatch_cnt, block_cnt;
	__u64 over_cnt, max_ns, counted; /* the last one: all buckets together */
	__u64 state_ns[JANK_STATE_CNT];
	__u32 due; /* it waits for a CPU */
	__s32 span_syscall;
	__u32 mark, got, ready_got;
	__u64 value[JANK_MARK_FIELD_MAX];
	__u64 ready_inode[JANK_READY_MAX], value_inode;
	char text[JANK_MESSAGE_TEXT_SZ];
};

#endif
