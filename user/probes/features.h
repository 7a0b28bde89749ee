/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Features of this kernel, each tested once before load (never guessed from the version). The
 * loader uses the results; `jankbpf doctor` prints them with their reasons.
 */
#ifndef JANK_PROBES_FEATURES_H
#define JANK_PROBES_FEATURES_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_types;

/*
 * The list of features, one row each. The enum, the names for --disable-feature, the probes and
 * `jankbpf doctor` are generated from it.
 */

/*
 * X(NAME, name, need, since, purpose, without, remedy)
 *   need     REQUIRED: no tracing without it; OPTIONAL: something is lost or costs more
 *   since    the version that brought it, and its commit where one can be named
 *   purpose  what jankbpf does with it; without: the consequence; both for people
 */
#define JANK_FEATURES(X)                                                                           \
	X(RINGBUF, ringbuf, REQUIRED, "5.8 (457f44363a88)", "records on their way to user space",  \
	  "no record can be sent", "boot a kernel from 5.8 on")                                    \
	X(BTF, btf, OPTIONAL, "5.4 (in sysfs: 341dfcf8d78e)",                                      \
	  "the kernel's own types, to find its fields",                                            \
	  "types come from --btf FILE or from those built in; plain probes",                       \
	  "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y")                                      \
	X(TP_BTF, tp_btf, OPTIONAL, "5.5 (ac4414b5ca47)", "typed probes: a field costs one load",  \
	  "plain probes (raw_tp), which read each field by a call",                                \
	  "boot a kernel from 5.5 on with CONFIG_DEBUG_INFO_BTF=y")                                \
	X(CURRENT_TASK_BTF, current_task_btf, OPTIONAL, "5.11 (3ca1032ab7ab)",                     \
	  "typed probes: the current task", "plain probes", "boot a kernel from 5.11 on")          \
	X(TASK_STORAGE, task_storage, OPTIONAL, "5.12 (a10787e6d58c)",                             \
	  "typed probes: the state of each thread, with the thread",                               \
	  "plain probes, which keep it in a hash by thread id: 4,096 threads at most",             \
	  "boot a kernel from 5.12 on")                                                            \
	X(TASK_PT_REGS, task_pt_regs, OPTIONAL, "5.15 (dd6e10fbd9fb)",                             \
	  "typed probes: a thread's user registers", "plain probes, which find them by address",   \
	  "boot a kernel from 5.15 on")                                                            \
	X(TASK_ITER, task_iter, OPTIONAL, "5.8 (eaaacd23910f)",                                    \
	  "typed probes: a look at living threads, for counts and hangs",                          \
	  "plain probes, run once for each thread (test_run)", "boot a kernel from 5.8 on")        \
	X(TEST_RUN, test_run, OPTIONAL, "5.10 (1b4d60ec162f)",                                     \
	  "calibration; plain probes' look at living threads",                                     \
	  "no calibration; by plain probes a hang is told at its end only, counts come when "      \
	  "threads "                                                                               \
	  "end",                                                                                   \
	  "boot a kernel from 5.10 on")                                                            \
	X(SWITCH_STATE, switch_state, OPTIONAL, "5.18 (fa2c3254d7cf)",                             \
	  "the state that a thread leaves the CPU in, as of then",                                 \
	  "it is read from the thread, where a waker may just have changed it",                    \
	  "boot a kernel from 5.18 on")                                                            \
	X(TAIL_CALLS, tail_calls, OPTIONAL, "5.10 (e411901c0b77; arm64: 6.0, d4609a5d8c70)",       \
	  "the probe of switches enters a program apart for what few of them need",                \
	  "that probe is one program: a start takes longer; on x86-64 plain probes",               \
	  "boot a kernel from 5.10 on, on arm64 from 6.0 on")                                      \
	X(SYSCALL_TRACEPOINTS, syscall_tracepoints, OPTIONAL, "2.6.31",                            \
	  "an epoll wait's begin and end at the least cost for other system calls",                \
	  "waits are seen through raw_syscalls or uprobes",                                        \
	  "boot a kernel built with CONFIG_FTRACE_SYSCALLS=y, or mount tracefs")                   \
	X(RAW_SYSCALLS, raw_syscalls, OPTIONAL, "4.17 (c4f6699dfcb8)",                             \
	  "an epoll wait's begin and end among all system calls; 32-bit programs' too",            \
	  "waits are seen through syscall_tracepoints or uprobes",                                 \
	  "boot a kernel built with CONFIG_HAVE_SYSCALL_TRACEPOINTS=y")                            \
	X(UPROBE, uprobe, OPTIONAL, "4.17 (33ea4b24277b)", "android::Looper and --backend uprobe", \
	  "a Looper is seen as the epoll loop beneath it",                                         \
	  "boot a kernel built with CONFIG_UPROBE_EVENTS=y")                                       \
	X(ATTACH_COOKIE, attach_cookie, OPTIONAL, "5.15 (7adfc6c9b315)",                           \
	  "marks: what a loop's library handles, told apart by cookie",                            \
	  "messages have no handler: only descriptors", "boot a kernel from 5.15 on")              \
	X(PERF_EVENT, perf_event, OPTIONAL, "4.9 (0515e5999a46)", "stacks of running threads",     \
	  "time on the CPU has no stacks", "boot a kernel built with CONFIG_PERF_EVENTS=y")        \
	X(HW_CYCLES, hw_cycles, OPTIONAL, "2.6.31",                                                \
	  "the sampler's clock, which also ticks with interrupts off",                             \
	  "samples come from cpu_clock, which sees code with interrupts off late",                 \
	  "in a virtual machine, give it a virtual PMU")                                           \
	X(CPU_CLOCK, cpu_clock, OPTIONAL, "2.6.31",                                                \
	  "the sampler's clock where there is no hardware counter",                                \
	  "without hw_cycles too there are no samples",                                            \
	  "boot a kernel built with CONFIG_PERF_EVENTS=y")                                         \
	X(TASK_ITER_PID, task_iter_pid, OPTIONAL, "6.1 (f0d74c4da1f0)",                            \
	  "that look at one process only", "that look walks every thread of the machine",          \
	  "boot a kernel from 6.1 on")                                                             \
	X(FILE_FAULT, file_fault, OPTIONAL, "6.10", "page faults: the file whose page is missing", \
	  "the file is told where its page was not in the cache (cache_add)",                      \
	  "boot a kernel from 6.10 on")                                                            \
	X(CACHE_ADD, cache_add, OPTIONAL, "3.12",                                                  \
	  "page faults: the file, where file_fault is missing",                                    \
	  "without file_fault too a page fault has no file",                                       \
	  "boot a kernel built with CONFIG_TRACEPOINTS=y")                                         \
	X(PREEMPT_OFF, preempt_off, OPTIONAL, "6.10",                                              \
	  "probes that are not preempted half-way, on kernels that would (tracepoints from 7.0 "   \
	  "on, uprobes from 6.0 on)",                                                              \
	  "such a kernel may miss a dispatch's begin or end (counted: probes_skipped)",            \
	  "boot a kernel from 6.10 on with CONFIG_DEBUG_INFO_BTF=y")                               \
	X(VBLANK, vblank, OPTIONAL, "5.0 (a38d1107f937)",                                          \
	  "the frames of a display that a block missed",                                           \
	  "records have no `frames`, only those dropped by --fps",                                 \
	  "on a machine with a display, load its driver (module drm)")                             \
	X(BINDER, binder, OPTIONAL, "3.14 (rust_binder: 6.18)",                                    \
	  "the process that an Android binder call waits for, and the call's code",                \
	  "a binder call has its server only where that ended the wait, and no code",              \
	  "on a machine that uses binder, load its driver (module binder_linux), and mount "       \
	  "tracefs")                                                                               \
	X(ARRAY_MMAP, array_mmap, OPTIONAL, "5.5 (fc9702273e2e)",                                  \
	  "the history around a block (--record)", "--record is refused",                          \
	  "boot a kernel from 5.5 on")                                                             \
	X(BPF_STATS, bpf_stats, OPTIONAL, "5.8 (d46edd671a14)", "the cost of our own programs",    \
	  "the summary lacks bpf_ns and bpf_runs", "boot a kernel from 5.8 on")

#define JANK_X_FEATURE(NAME, ...) FEATURE_##NAME,
enum feature { JANK_FEATURES(JANK_X_FEATURE) FEATURE_CNT };
#undef JANK_X_FEATURE

enum feature_need { FEATURE_REQUIRED, FEATURE_OPTIONAL };

/* A row of the list; all strings are static, for users. */
struct feature_info {
	const char *name; /* as for --disable-feature */
	enum feature_need need;
	const char *since, *purpose, *without, *remedy;
};

struct features {
	uint32_t has;	      /* bit (1 << enum feature) */
	uint32_t disabled;    /* switched off by the user, even if the kernel has it */
	int why[FEATURE_CNT]; /* 0: available; -ECANCELED: switched off; else -errno */
	/* with FEATURE_PREEMPT_OFF: the kernel's functions of these names, by type */
	int preempt_disable_id, preempt_enable_id;
	bool has_cast;	      /* a program may call bpf_rdonly_cast (6.2) */
	int cast_id, regs_id; /* then: it and struct pt_regs, by type */
};
_Static_assert(FEATURE_CNT <= 32, "features.has");

/*
 * Tests every feature; those named in `disabled` count as missing. types: the kernel's own, or
 * NULL. Returns 0, or -EINVAL with JANK_EXIT_USAGE for an unknown name (the message lists the known
 * ones). A missing feature is not an error here: see features__require.
 */
int features__probe(const struct kernel_types *types, const char *const *disabled, size_t n,
		    struct features *ret, struct err *err);

bool features__has(const struct features *feats, enum feature feature);

/*
 * Returns 0, or -ENOTSUP with JANK_EXIT_CANNOT; the message names the first missing required
 * feature and its remedy.
 */
int features__require(const struct features *feats, struct err *err);

/* Can the typed probes (bpf/kernel.bpf.h) be loaded? Otherwise use the plain ones. */
bool features__typed(const struct features *feats);

/* Can living threads be inspected, for hangs and for counts before the threads end? */
bool features__can_look(const struct features *feats);

const struct feature_info *feature__info(enum feature feature);

#endif
