/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The scenarios: one table for the enum, the handlers' declarations, the help and the words of the
 * truth.
 */
#ifndef SIMJANK_TABLE_H
#define SIMJANK_TABLE_H

/* The parts of the fixture that a scenario needs. */
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
	NEED_SLOW = 1 << 10, /* a file, and a limit on how fast this thread may use its disk */
	NEED_QUOTA = 1 << 11,
	NEED_MEMORY = 1 << 12,
	NEED_SWAP = 1 << 13,
	NEED_SERVER = 1 << 14,
	NEED_LOCKER = 1 << 15,
	NEED_CROWD = 1 << 16,
	NEED_RT_HOG = 1 << 17,
	NEED_RWHOLDER = 1 << 18,
	NEED_POSTER = 1 << 19,
	NEED_RESOLVER = 1 << 20,
	NEED_BACKLOG = 1 << 21,
	NEED_LOWLY = 1 << 22,
};

/* Needs for which something is made that must be removed, however the program ends. */
#define NEEDS_TIDYING                                                                              \
	(NEED_DISK | NEED_COLD | NEED_READER | NEED_SLOW | NEED_QUOTA | NEED_MEMORY | NEED_SWAP |  \
	 NEED_SERVER | NEED_LOCKER)

/*
 * The cause of a dispatch whose time went as intended: BLAME(the kind of time; jankbpf's cause.what
 * or ""; the thread that the loop's thread waits for, and the one that this one waits for (names of
 * actors, separated by a blank); the preemptors; the file or peer by its name in the fixture).
 */
#define BLAME(kind_, what_, chain_, preemptors_, object_)                                          \
	{                                                                                          \
		.kind = kind_, .what = what_, .chain = chain_, .preemptors = preemptors_,          \
		.object = object_                                                                  \
	}
#define NO_BLAME(kind_) BLAME(kind_, "", "", "", "")

/*
 * X(name, class, kind of its time on the CPU, kind of its time off it, our function below the
 *   handler that calls into libc or faults ("" if the handler itself burns CPU),
 *   shortest and longest default length in µs, needs, blame, what it does)
 *
 * kernel and page_fault run in the kernel on the handler's behalf, so that is their kind on the
 * CPU. A scenario that never waits is always runnable: time that no clock of the thread counts was
 * taken by a hypervisor.
 */
#define SIMJANK_SCENARIOS(X)                                                                       \
	X(busy, JANK, "cpu", "runnable", "", 30000, 120000, 0, NO_BLAME("cpu"),                    \
	  "CPU in user mode")                                                                      \
	X(kernel, JANK, "kernel", "runnable", "do_read_zero", 30000, 120000, 0,                    \
	  NO_BLAME("kernel"), "CPU in the kernel: reads of /dev/zero")                             \
	X(sleep, JANK, "cpu", "sleep", "do_sleep", 30000, 120000, 0, NO_BLAME("sleep"),            \
	  "clock_nanosleep")                                                                       \
	X(mutex, JANK, "cpu", "futex", "do_lock", 30000, 120000, NEED_HOLDER,                      \
	  BLAME("futex", "mutex", "holder", "", ""), "a mutex that the thread `holder` holds")     \
	X(cond, JANK, "cpu", "futex", "do_cond_wait", 30000, 120000, NEED_SIGNALLER,               \
	  BLAME("futex", "condition", "signaller", "", ""),                                        \
	  "a condition variable, signalled by the thread `signaller`")                             \
	X(pipe, JANK, "cpu", "pipe", "do_read_pipe", 30000, 120000, NEED_WRITER,                   \
	  BLAME("pipe", "", "writer", "", ""),                                                     \
	  "a blocking read of a pipe, written by the thread `writer`")                             \
	X(socket, JANK, "cpu", "socket", "do_recv", 30000, 120000, NEED_ANSWERER,                  \
	  BLAME("socket", "receive", "answerer", "", ""),                                          \
	  "a blocking recv on a unix socket, answered by the thread `answerer`")                   \
	X(tcp, JANK, "cpu", "socket", "do_recv", 30000, 120000, NEED_ANSWERER,                     \
	  BLAME("socket", "receive", "answerer", "", "tcp"),                                       \
	  "the same over TCP on the loopback interface")                                           \
	X(disk, JANK, "kernel", "disk", "do_write_fsync", 30000, 120000, NEED_DISK | NEED_READER,  \
	  BLAME("disk", "fsync", "", "", "disk"), "write and fsync, again and again")              \
	X(dsync, JANK, "kernel", "disk", "do_write_direct", 30000, 120000,                         \
	  NEED_DISK | NEED_READER, BLAME("disk", "write", "", "", "dsync"),                        \
	  "writes with O_DSYNC and, where it can be had, O_DIRECT")                                \
	X(page_fault, JANK, "kernel", "page_fault", "do_touch_cold", 30000, 120000,                \
	  NEED_COLD | NEED_READER, BLAME("page_fault", "file", "", "", "cold"),                    \
	  "touches a file mapping that is not in memory: major faults")                            \
	X(userfault, JANK, "cpu", "page_fault", "do_touch_missing", 30000, 120000, NEED_PAGER,     \
	  BLAME("page_fault", "userfault", "pager", "", ""),                                       \
	  "one fault, answered late by the thread `pager` through userfaultfd")                    \
	X(runnable, JANK, "cpu", "runnable", "", 30000, 120000, NEED_HOGS,                         \
	  BLAME("runnable", "affinity", "", "hog", ""),                                            \
	  "is bound to the CPU that the processes `hog` have, too")                                \
	X(poll, JANK, "cpu", "poll", "do_poll", 30000, 120000, NEED_WRITER,                        \
	  BLAME("poll", "", "writer", "", ""), "a nested poll() for the thread `writer`")          \
	X(select, JANK, "cpu", "poll", "do_select", 30000, 120000, 0,                              \
	  BLAME("poll", "timeout", "", "", ""), "a nested select() that times out")                \
	X(epoll, JANK, "cpu", "poll", "do_epoll_wait", 30000, 120000, NEED_WRITER,                 \
	  BLAME("poll", "", "writer", "", ""),                                                     \
	  "a nested epoll_wait() on another epoll descriptor")                                     \
	X(stopped, JANK, "cpu", "stopped", "do_stop", 30000, 120000, NEED_CONTINUER,               \
	  NO_BLAME("stopped"), "stops itself; the process `continuer` sends SIGCONT")              \
	X(mixed, JANK, "cpu", "sleep", "do_sleep", 30000, 120000, 0, NO_BLAME("sleep"),            \
	  "40 % CPU in user mode, 60 % sleep")                                                     \
	X(mixed_cpu, JANK, "cpu", "pipe", "do_read_pipe", 30000, 120000, NEED_WRITER,              \
	  NO_BLAME("cpu"), "30 % blocked on a pipe, 70 % CPU in user mode")                        \
	/* the thread that is waited for works, or waits in turn */                                \
	X(mutex_busy, JANK, "cpu", "futex", "do_lock", 30000, 120000, NEED_HOLDER,                 \
	  BLAME("futex", "mutex", "holder", "", ""), "a mutex whose holder computes")              \
	X(mutex_disk, JANK, "cpu", "futex", "do_lock", 30000, 120000, NEED_HOLDER | NEED_SLOW,     \
	  BLAME("futex", "mutex", "holder", "", "slow"), "a mutex whose holder is in fsync")       \
	X(chain, JANK, "cpu", "futex", "do_lock", 30000, 120000,                                   \
	  NEED_HOLDER | NEED_SIGNALLER | NEED_SLOW,                                                \
	  BLAME("futex", "mutex", "holder signaller", "", "slow"),                                 \
	  "a mutex whose holder waits for `signaller`, which is in fsync")                         \
	X(inversion, JANK, "cpu", "futex", "do_lock", 30000, 120000, NEED_LOWLY | NEED_HOGS,       \
	  BLAME("futex", "mutex", "lowly", "hog", ""),                                             \
	  "a mutex held by `lowly` of SCHED_IDLE, whose CPU the hogs have")                        \
	/* other waits for threads and processes */                                                \
	X(cond_timeout, JANK, "cpu", "futex", "do_cond_timedwait", 30000, 120000, 0,               \
	  BLAME("futex", "timeout", "", "", ""), "a condition that nobody signals: times out")     \
	X(rwlock, JANK, "cpu", "futex", "do_rdlock", 30000, 120000, NEED_RWHOLDER,                 \
	  BLAME("futex", "rwlock", "rwholder", "", ""),                                            \
	  "a read lock, while the thread `rwholder` has it for writing")                           \
	X(semaphore, JANK, "cpu", "futex", "do_sem_wait", 30000, 120000, NEED_POSTER,              \
	  BLAME("futex", "semaphore", "poster", "", ""),                                           \
	  "a semaphore, posted by the thread `poster`")                                            \
	X(join, JANK, "cpu", "futex", "do_join", 30000, 120000, 0,                                 \
	  BLAME("futex", "join", "joined", "", ""), "pthread_join of a thread that sleeps")        \
	X(eventfd, JANK, "cpu", "other", "do_read_eventfd", 30000, 120000, NEED_WRITER,            \
	  BLAME("other", "eventfd", "writer", "", ""),                                             \
	  "a blocking read of an eventfd, written by the thread `writer`")                         \
	X(child, JANK, "cpu", "child", "do_waitpid", 30000, 120000, 0,                             \
	  BLAME("child", "child", "child", "", ""), "waitpid of a child that sleeps")              \
	X(flock, JANK, "cpu", "filesystem", "do_flock", 30000, 120000, NEED_LOCKER,                \
	  BLAME("filesystem", "file_lock", "locker", "", "lock"),                                  \
	  "a file's lock that the process `locker` has")                                           \
	/* peers */                                                                                \
	X(server, JANK, "cpu", "socket", "do_recv", 30000, 120000, NEED_SERVER,                    \
	  BLAME("socket", "receive", "server", "", "unix_server"),                                 \
	  "asks the process `server` over a unix socket; it sleeps first")                         \
	X(tcp_server, JANK, "cpu", "socket", "do_recv", 30000, 120000, NEED_SERVER,                \
	  BLAME("socket", "receive", "server", "", "tcp_server"),                                  \
	  "asks it over TCP on the loopback interface; it computes first")                         \
	X(connect, JANK, "cpu", "socket", "do_connect", 30000, 120000, NEED_BACKLOG,               \
	  BLAME("socket", "connect", "", "", "backlog"),                                           \
	  "a TCP connect to a listener whose backlog is full: times out")                          \
	X(dns, JANK, "cpu", "socket", "do_recv", 30000, 120000, NEED_RESOLVER,                     \
	  BLAME("socket", "dns", "resolver", "", "resolver"),                                      \
	  "a query to the name server `resolver`, a thread, which is slow")                        \
	/* a slow disk */                                                                          \
	X(fsync, JANK, "kernel", "disk", "do_fsync_slow", 30000, 120000, NEED_SLOW,                \
	  BLAME("disk", "fsync", "", "", "slow"), "write and fsync on a slow disk")                \
	X(read_cold, JANK, "kernel", "disk", "do_read_slow", 30000, 120000, NEED_SLOW,             \
	  BLAME("disk", "read", "", "", "slow"),                                                   \
	  "reads a file that is not in memory from a slow disk")                                   \
	X(cold_file, JANK, "kernel", "page_fault", "do_touch_slow", 30000, 120000, NEED_SLOW,      \
	  BLAME("page_fault", "file", "", "", "slow"),                                             \
	  "touches a mapping of a file that is on a slow disk")                                    \
	/* competition for the CPU */                                                              \
	X(preempted, JANK, "cpu", "runnable", "", 30000, 120000, NEED_CROWD,                       \
	  BLAME("runnable", "preempted", "", "crowd", ""),                                         \
	  "may use any CPU; on each there are four processes `crowd`")                             \
	X(rt_preempt, JANK, "cpu", "runnable", "", 30000, 120000, NEED_RT_HOG,                     \
	  BLAME("runnable", "priority", "", "rt-hog", ""),                                         \
	  "the process `rt-hog` of SCHED_FIFO takes its CPU")                                      \
	X(wakeup_latency, JANK, "cpu", "sleep", "do_nap", 30000, 120000, NEED_HOGS,                \
	  BLAME("runnable", "wakeup_latency", "", "hog", ""),                                      \
	  "naps, and each time waits for the CPU that the hogs have")                              \
	X(throttled, JANK, "cpu", "runnable", "", 60000, 160000, NEED_QUOTA,                       \
	  BLAME("runnable", "throttled", "", "", ""), "a tenth of a CPU, by its cgroup's quota")   \
	/* these two limit the whole process, and are only run by their names */                   \
	X(swap, LONE, "kernel", "page_fault", "do_touch_swapped", 30000, 120000,                   \
	  NEED_MEMORY | NEED_SWAP | NEED_SLOW, BLAME("page_fault", "swap_in", "", "", ""),         \
	  "touches memory that is on swap on a slow disk")                                         \
	X(reclaim, LONE, "kernel", "disk", "do_write_much", 30000, 120000,                         \
	  NEED_MEMORY | NEED_DISK, BLAME("disk", "memory_limit", "", "", ""),                      \
	  "writes to a file in a cgroup that is at its memory limit")                              \
	X(hang, HANG, "cpu", "sleep", "do_sleep", 6000000, 6000000, 0, NO_BLAME("sleep"),          \
	  "a very long sleep")                                                                     \
	X(hang_busy, HANG, "cpu", "runnable", "", 6000000, 6000000, 0, NO_BLAME("cpu"),            \
	  "very long CPU in user mode")                                                            \
	X(short, QUIET, "cpu", "runnable", "", 20, 500, 0, NO_BLAME(""),                           \
	  "a dispatch well under any threshold")                                                   \
	X(idle, QUIET, "cpu", "runnable", "", 50000, 200000, 0, NO_BLAME(""),                      \
	  "a wait that times out: long, but no dispatch")                                          \
	X(none, QUIET, "cpu", "runnable", "", 0, 0, 0, NO_BLAME(""),                               \
	  "nothing (what a start or a stop wakes)")

#endif
