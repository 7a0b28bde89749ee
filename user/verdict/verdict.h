/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The finer cause: which of a kind's faults it was, by the kernel's and the libraries' functions on the stacks, the
 * system call, and what was waited for. One word of the list below, for `cause.what`; NULL where it isn't known.
 */
#ifndef JANK_VERDICT_VERDICT_H
#define JANK_VERDICT_VERDICT_H

#include "model/block.h"

/* X(key, words): what a person would say, after "waited 150 ms" or "spent 150 ms" */
#define VERDICT_WHATS(X)                                                                           \
	/* cpu, kernel, and waits in them */                                                       \
	X("gc", "in garbage collection")                                                           \
	X("safepoint", "for the runtime, which had stopped its threads")                           \
	X("gil", "for the interpreter's lock")                                                     \
	X("interrupts", "in interrupts")                                                           \
	X("reclaim", "reclaiming memory")                                                          \
	X("compaction", "compacting memory")                                                       \
	X("memory_limit", "at its cgroup's memory limit")                                          \
	/* runnable */                                                                             \
	X("throttled", "for its cgroup's CPU quota")                                               \
	X("stolen", "for a CPU that the hypervisor had taken")                                     \
	X("priority", "for a CPU that higher priorities had")                                      \
	X("affinity", "for the CPUs that it is bound to")                                          \
	X("preempted", "for a CPU that others had")                                                \
	X("wakeup_latency", "for a CPU after its wake-up")                                         \
	/* futex */                                                                                \
	X("mutex", "for a mutex")                                                                  \
	X("condition", "for a condition variable")                                                 \
	X("rwlock", "for a read-write lock")                                                       \
	X("semaphore", "for a semaphore")                                                          \
	X("join", "for a thread's end")                                                            \
	X("barrier", "at a barrier")                                                               \
	/* disk */                                                                                 \
	X("fsync", "for the disk in fsync")                                                        \
	X("read", "for data to be read")                                                           \
	X("write", "for data to be written")                                                       \
	X("metadata", "for a directory or an inode")                                               \
	X("dirty_limit", "since too much is to be written")                                        \
	X("fuse", "for a file system that a program serves (FUSE)")                                \
	X("network_fs", "for a file system over the network")                                      \
	X("io_limit", "for its cgroup's share of the disk")                                        \
	/* page_fault */                                                                           \
	X("file", "for a page of a file")                                                          \
	X("swap_in", "for memory that was swapped out")                                            \
	X("userfault", "for a page from its userfaultfd's handler")                                \
	/* socket, poll, pipe, other */                                                            \
	X("connect", "for a connection")                                                           \
	X("dns", "for a name to be looked up")                                                     \
	X("receive", "for an answer")                                                              \
	X("send", "to send")                                                                       \
	X("timeout", "for a time to pass")                                                         \
	X("eventfd", "for an eventfd")                                                             \
	X("child", "for a child process")                                                          \
	X("fifo", "for the other end of a FIFO")                                                   \
	X("file_lock", "for a file's lock")                                                        \
	X("kernel_lock", "for a lock in the kernel")                                               \
	X("frozen", "frozen with its cgroup")

#endif
