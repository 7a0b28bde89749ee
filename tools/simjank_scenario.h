/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What simjank can do in one dispatch: one table, from which the enum, the handlers' declarations,
 * the help and the truth's words are made.
 */
#ifndef SIMJANK_SCENARIO_H
#define SIMJANK_SCENARIO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct stage;

/* Both ends are possible. */
struct range {
	uint64_t min_ns, max_ns;
};

/* What of the stage a scenario needs. */
enum need {
	NEED_HOLDER = 1,
	NEED_SIGNALLER = 2,
	NEED_WRITER = 4,
	NEED_ANSWERER = 8,
	NEED_PAGER = 16,
	NEED_HOGS = 32,
	NEED_CONTINUER = 64,
	NEED_DISK = 128,
	NEED_COLD = 256,
	NEED_READER = 512,
};

enum scenario_class {
	CLASS_JANK,  /* part of `all`; --length sets its length */
	CLASS_HANG,  /* too long for a mix: by its name only */
	CLASS_QUIET, /* no jank: by its name only */
};

/*
 * X(name, class, kind of its time on the CPU, kind of its time off it, the function of ours below
 *   the handler that calls into libc or faults ("" when the handler itself burns CPU),
 *   shortest and longest default length in µs, needs, what it does)
 *
 * kernel and page_fault run in the kernel on the handler's behalf, so that is their kind on the CPU;
 * what is off the CPU in a scenario that never waits is "other".
 */
#define SIMJANK_SCENARIOS(X)                                                                       \
	X(busy, JANK, "cpu", "other", "", 30000, 120000, 0, "CPU in user mode")                    \
	X(kernel, JANK, "kernel", "other", "do_read_zero", 30000, 120000, 0,                       \
	  "CPU in the kernel: reads of /dev/zero")                                                 \
	X(sleep, JANK, "cpu", "sleep", "do_sleep", 30000, 120000, 0, "clock_nanosleep")            \
	X(mutex, JANK, "cpu", "futex", "do_lock", 30000, 120000, NEED_HOLDER,                      \
	  "a mutex that the thread `holder` holds")                                                \
	X(cond, JANK, "cpu", "futex", "do_cond_wait", 30000, 120000, NEED_SIGNALLER,               \
	  "a condition variable, signalled by the thread `signaller`")                             \
	X(pipe, JANK, "cpu", "pipe", "do_read_pipe", 30000, 120000, NEED_WRITER,                   \
	  "a blocking read of a pipe, written by the thread `writer`")                             \
	X(socket, JANK, "cpu", "socket", "do_recv", 30000, 120000, NEED_ANSWERER,                  \
	  "a blocking recv on a unix socket, answered by the thread `answerer`")                   \
	X(tcp, JANK, "cpu", "socket", "do_recv", 30000, 120000, NEED_ANSWERER,                     \
	  "the same over TCP on the loopback interface")                                           \
	X(disk, JANK, "kernel", "disk", "do_write_fsync", 30000, 120000, NEED_DISK | NEED_READER,  \
	  "write and fsync, again and again")                                                      \
	X(dsync, JANK, "kernel", "disk", "do_write_direct", 30000, 120000,                         \
	  NEED_DISK | NEED_READER, "writes with O_DSYNC and, where it can be had, O_DIRECT")       \
	X(page_fault, JANK, "kernel", "page_fault", "do_touch_cold", 30000, 120000,                \
	  NEED_COLD | NEED_READER, "touches a file mapping that is not in memory: major faults")   \
	X(userfault, JANK, "cpu", "page_fault", "do_touch_missing", 30000, 120000, NEED_PAGER,     \
	  "one fault, answered late by the thread `pager` through userfaultfd")                    \
	X(runnable, JANK, "cpu", "other", "", 30000, 120000, NEED_HOGS,                            \
	  "wants the CPU that the processes `hog` have")                                           \
	X(poll, JANK, "cpu", "poll", "do_poll", 30000, 120000, NEED_WRITER,                        \
	  "a nested poll() for the thread `writer`")                                               \
	X(select, JANK, "cpu", "poll", "do_select", 30000, 120000, 0,                              \
	  "a nested select() that times out")                                                      \
	X(epoll, JANK, "cpu", "poll", "do_epoll_wait", 30000, 120000, NEED_WRITER,                 \
	  "a nested epoll_wait() on another epoll descriptor")                                     \
	X(stopped, JANK, "cpu", "stopped", "do_stop", 30000, 120000, NEED_CONTINUER,               \
	  "stops itself; the process `continuer` sends SIGCONT")                                   \
	X(mixed, JANK, "cpu", "sleep", "do_sleep", 30000, 120000, 0,                               \
	  "40 % CPU in user mode, 60 % sleep")                                                     \
	X(mixed_cpu, JANK, "cpu", "pipe", "do_read_pipe", 30000, 120000, NEED_WRITER,              \
	  "30 % blocked on a pipe, 70 % CPU in user mode")                                         \
	X(hang, HANG, "cpu", "sleep", "do_sleep", 6000000, 6000000, 0, "a very long sleep")        \
	X(hang_busy, HANG, "cpu", "other", "", 6000000, 6000000, 0, "very long CPU in user mode")  \
	X(short, QUIET, "cpu", "other", "", 20, 500, 0, "a dispatch well under any threshold")     \
	X(idle, QUIET, "cpu", "other", "", 50000, 200000, 0,                                       \
	  "a wait that times out: long, but no dispatch")                                          \
	X(none, QUIET, "cpu", "other", "", 0, 0, 0, "nothing (what a start or a stop wakes)")

#define SIMJANK_X_ID(name, ...) SCENARIO_##name,
enum scenario_id { SIMJANK_SCENARIOS(SIMJANK_X_ID) SCENARIO_CNT };
#undef SIMJANK_X_ID

struct scenario {
	const char *name;
	enum scenario_class type;
	const char *cpu_kind, *off_kind;
	const char *handler, *inner;
	struct range length;
	unsigned needs;
	const char *help;
	void (*handle)(struct stage *stage, uint64_t end_ns); /* returns at about end_ns */
};

extern const struct scenario scenarios[SCENARIO_CNT];

/* NULL when there is none of that name; the name need not be terminated. */
const struct scenario *scenario__find(const char *name, size_t len);

#ifdef __cplusplus
}
#endif
#endif
