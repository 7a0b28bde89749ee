/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The block: jankbpf's BlockInfo. Data only: filled by the judge (what happened), then by the
 * symbolizer (frames' names) and blame (cause); sinks borrow it const.
 *
 * Ownership: everything reachable is owned by the block and freed by block__free, but for strings
 * in frames, which belong to the symbolizer and live until its next symbolizer__trim.
 */
#ifndef JANK_BLOCK_H
#define JANK_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/jank_abi.h"
#include "model/message.h"

#define BLOCK_SCHEMA "jankbpf/1"

/* One frame with what is known of it; NULL or 0 where it isn't. */
struct frame {
	uint64_t address;     /* as sampled, in the process (or kernel) */
	const char *function; /* demangled */
	uint64_t
		offset; /* from the function's begin; with no function, from the module's (file offset) */
	const char *module;   /* path, "[vdso]", "[jit]", "vmlinux" or a kernel module's name */
	const char *build_id; /* lower-case hex */
	const char *file;     /* source file and line, where DWARF was read */
	uint32_t line;
	bool kernel;
	bool inlined;
	bool app; /* of the target's own code: not kernel, vdso, libc, libstdc++, ld.so or their kin */
};

/* A stack: raw addresses from the probe (leaf first, kernel before user), then the frames made of them. */
struct stack {
	uint64_t *addresses;
	uint32_t kernel_cnt, user_cnt;
	uint16_t flags;	      /* JANK_STACK_CUT_*, JANK_STACK_NO_USER */
	struct frame *frames; /* by the symbolizer; frame_cnt may exceed the addresses (inlining) */
	size_t frame_cnt;
};

/* Another task, by role: waker, or preemptor (then with ns). */
struct other_task {
	uint32_t pid, tid;
	uint64_t ns;
	char comm[JANK_COMM_SZ + 1];
};

/* A tick of the sampler, or a span off the CPU. */
struct sample {
	uint64_t t_ns;		  /* CLOCK_MONOTONIC */
	uint64_t ns;		  /* length of a span, 0 for a tick */
	uint64_t runnable_ns;	  /* of ns: after the wake-up, waiting for a CPU */
	uint32_t state;		  /* JANK_STATE_* */
	int32_t syscall;	  /* number, -1 for none */
	const char *syscall_name; /* static storage; NULL when unknown */
	bool open;		  /* the span had not ended (hang) */
	bool has_waker;
	bool waker_softirq;
	struct other_task waker;
	struct stack stack;
};

/* What the machine did meanwhile, in percent of all its CPUs; negative: not known. */
struct machine_load {
	double total_pct, process_pct, user_pct, system_pct, iowait_pct;
	bool busy; /* the thread wanted a CPU and others had it for > 1/5 of the dispatch */
};

struct host_info {
	char *name, *kernel, *arch, *boot_id;
	uint32_t cpus;
	uint64_t mem_total_kb, mem_free_kb, mem_available_kb;
};

enum block_type { BLOCK_JANK, BLOCK_HANG };

/* Why stacks end early, as bits; 0 is "complete". JSON: `stack_quality`. */
enum stack_quality {
	QUALITY_CUT = 1,     /* deeper than the probe's limit */
	QUALITY_NO_USER = 2, /* a user part could not be read */
	QUALITY_FP = 4,	     /* walked by frame pointer through code that may keep none */
	QUALITY_NO_SAMPLES = 8,
};

#define CAUSE_SIGNATURE_LEN 16

struct cause {
	const char *
		kind; /* "cpu", "kernel", "page_fault", "runnable" or a blocked state's key; static */
	double share; /* of the wall time, 0 to 1 */
	const struct frame
		*frame; /* into a sample's stack; NULL when no application frame was seen */
	char signature[CAUSE_SIGNATURE_LEN + 1]; /* hex */
};

/* Losses of one block by reason: kernel reasons by JANK_LOST_*, then user reasons (loss.h). */
struct block_loss {
	const char *reason; /* static: the key in `lost` */
	uint64_t cnt;
};

struct block {
	enum block_type type;
	char *id;
	uint64_t start_ns;	/* CLOCK_MONOTONIC */
	int64_t real_offset_ns; /* start_ns + this = wall time */
	uint64_t duration_ns, threshold_ns;
	struct host_info host;
	uint32_t pid, tid;
	uint32_t uid;		      /* UINT32_MAX when unknown */
	uint32_t ns_pid;	      /* in its own pid namespace; 0 when unknown */
	char *process;		      /* command name or the executable's base name */
	char *thread;		      /* comm */
	char *exe;		      /* path, NULL when unknown */
	char *cgroup;		      /* NULL when unknown */
	char *container, *pod, *unit; /* by the cgroup's path; NULL when there is none */
	uint32_t loop;		      /* JANK_LOOP_* */
	const char *loop_name; /* the catalogue's or the journal's, borrowed; NULL: loop's own */
	int32_t fd;	       /* the loop's epoll descriptor, or -1 */
	int32_t ready_cnt;
	bool hang_reported; /* its hang record was sent before */
	bool over_hang;	    /* longer than --hang, reported before or not */
	bool ended_by_exit;
	uint32_t end;		 /* JANK_END_* */
	struct message *message; /* what was handled; NULL: not known */
	uint32_t dropped_frames;
	uint64_t cpu_ns;
	uint64_t state_ns[JANK_STATE_CNT];
	struct cause cause;
	struct machine_load load;
	struct other_task *preemptors; /* worst first */
	size_t preemptor_cnt;
	struct sample *samples; /* in time order */
	size_t sample_cnt;
	unsigned stack_quality;	 /* enum stack_quality bits */
	struct block_loss *lost; /* only reasons with cnt > 0 */
	size_t lost_cnt;
};

/* Durations of one process's dispatches of one loop kind: the denominators of the blocks. */
struct loop_hist {
	uint32_t pid;
	char *process;
	uint32_t loop;
	const char *loop_name; /* as in struct block */
	uint64_t dispatch_cnt, block_cnt;
	uint64_t hist[JANK_HIST_BUCKETS];
};

struct summary {
	uint64_t elapsed_ns, dispatch_cnt, block_cnt, hang_cnt;
	struct block_loss *lost;
	size_t lost_cnt;
	uint64_t bpf_ns, bpf_runs;
	bool bpf_known; /* the kernel's BPF statistics could be had */
	uint64_t user_cpu_ns, rss_kb;
	struct loop_hist *loops;
	size_t loop_cnt;
};

struct block *block__new(void);			/* zeroed; NULL when out of memory */
void block__free(struct block *block);		/* accepts NULL */
size_t block__bytes(const struct block *block); /* of memory, about */
void summary__free(struct summary *summary);	/* what it points to, not itself */

const char *state__name(uint32_t state); /* the contract's key; "other" for an unknown one */
const char *loop__name(uint32_t loop);	 /* the contract's `loop`; "unknown" for an unknown one */
const char *hist__loop(const struct loop_hist *hist);	/* the same of a summary's */
const char *block__loop(const struct block *block);	/* the catalogue's name, else that */
const char *block__severity(const struct block *block); /* "jank" or "hang" */

#endif
