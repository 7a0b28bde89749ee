/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The block: jankbpf's BlockInfo. Data only: filled by the judge (what happened), then by the
 * symbolizer (frames' names) and blame (cause); sinks borrow it const.
 *
 * Ownership: everything reachable is owned by the block and freed by block__free, but for strings
 * in frames, which belong to the symbolizer and live until its next symbolizer__trim.
 */
#ifndef JANK_MODEL_BLOCK_H
#define JANK_MODEL_BLOCK_H

#include "bpf/jank_abi.h"
#include "model/durations.h"
#include "model/unwatched.h"
#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a slow dispatch handled: the raw values as the probes sent them, and what they stand for, as
 * far as it could be found out. Data only. What isn't known is NULL, -1 or 0, never guessed.
 *
 * Everything reachable is owned by the message and freed by message__free.
 */

/* A function, class or text. Of a function without a name only module and offset are known. */
struct message_name {
	char *symbol;
	char *module;	 /* path, or "[jit]" */
	uint64_t offset; /* in the module's file; only where there is no symbol */
};

#define MESSAGE_FD_CLOSED                                                                          \
	"already closed" /* the target of a descriptor that could not be named in time */

/* A descriptor that was ready, or that the message belongs to. */
struct message_fd {
	int32_t fd;	 /* -1: not known */
	uint32_t events; /* EPOLL*; 0: not known */
	char *target;	 /* what it is: "tcp 127.0.0.1:80->127.0.0.1:5012"; NULL: not known */
};

struct message {
	struct jank_rec_message raw;
	char *what; /* its number, or the number's name */
	struct message_name handler, callback, source;
	struct message_fd fd; /* the mark's, or the first that the wait returned */
	struct message_fd also[JANK_READY_MAX - 1]; /* the next that it returned */
	unsigned also_cnt;
	uint32_t ready_cnt; /* how many it returned in all; 0: no message of a wait */
	bool was_queued;    /* queued_ns is known */
	uint64_t queued_ns; /* from the time it was due to the dispatch's begin */
	bool too_many_fds; /* what was ready was not sought: the process has too many descriptors */
};

/* With nothing but the raw values; NULL: out of memory. */
struct message *message__new(const struct jank_rec_message *raw);
void message__free(struct message *message);	      /* accepts NULL */
size_t message__bytes(const struct message *message); /* of memory, about; accepts NULL */

/* Whether anything of it can be shown; accepts NULL. */
bool message__is_known(const struct message *message);
bool message_name__is_known(const struct message_name *name);

/* Why a walk of a user stack ended where it did. */

enum stack_end {
	STACK_END_UNKNOWN,  /* walked by the probe, by frame pointers */
	STACK_END_COMPLETE, /* reached the thread's first function */
	STACK_END_COPY,	    /* more of the stack would have had to be copied */
	STACK_END_HOLE,	    /* a page of the stack could not be read */
	STACK_END_NO_TABLE, /* code without an unwind table, and no frame pointer that holds */
	STACK_END_ASTRAY,   /* the table led to where no call returns to */
	STACK_END_DEEP,	    /* more frames than are kept */
};

/*
 * What a thread waited for: the raw values as the probes sent them, and what they stand for, as far
 * as it could be found out. Data only. What isn't known is NULL or 0, never guessed.
 *
 * Everything reachable is owned by the waited and freed by wait_object__free.
 */

/* Another task, by role: waker, owner, peer, or preemptor (then with ns and prio). */
struct other_task {
	uint32_t pid, tid; /* 0: nobody */
	uint64_t ns;
	uint16_t prio; /* as on the wire (JANK_PRIO_OFFSET); 0: not known */
	char comm[JANK_COMM_SZ + 1];
	char *cgroup; /* its path, owned by whoever owns the task; NULL: not known */
};

struct wait_object {
	struct jank_rec_waited raw;
	char *target; /* what the descriptor is: "eventfd 12", "pipe 4711", "epoll"; NULL: not known */
	char *path;   /* of a file */
	char *device; /* that it is on: "vda", "tmpfs"; NULL: not known */
	char *peer; /* a socket's other end: "tcp 10.0.0.7:5432", "unix /run/x.sock"; NULL: none, or not known */
	struct other_task
		peer_task;	 /* there, on this machine; with a path: the file system's daemon */
	struct other_task owner; /* of the mutex; only a living thread of the process */
};

/*
 * Was the futex waited for as locks are? By the call: glibc's, musl's and Rust's mutexes sleep
 * while the word is 2, PI mutexes by calls of their own. False as well where the call's arguments
 * are not known.
 */
bool wait_object__is_lock(const struct jank_rec_waited *raw);

struct wait_object *
wait_object__new(const struct jank_rec_waited *raw); /* nothing but that; NULL: out of memory */
struct wait_object *
wait_object__copy(const struct wait_object *waited); /* deep; NULL: out of memory, or waited is */
void wait_object__free(struct wait_object *waited);  /* accepts NULL */
size_t wait_object__bytes(const struct wait_object *waited); /* of memory, about; accepts NULL */

#define BLOCK_SCHEMA "jankbpf/1"

/* One frame with what is known of it; NULL or 0 where it isn't. */
struct frame {
	uint64_t address;     /* as sampled, in the process (or kernel) */
	const char *function; /* demangled */
	uint64_t
		offset; /* from the function's begin; with no function, from the module's (file offset) */
	const char *module;   /* path, "[vdso]", "[jit]", "vmlinux" or a kernel module's name */
	const char *build_id; /* lower-case hex */
	const char *file;     /* source file and line, where DWARF or an interpreter tells */
	uint32_t line;
	const char *language; /* of managed code: "python", "javascript", "java" …; static */
	bool kernel;
	bool inlined;
	bool dispatcher; /* shared with the callers of the loop's wait (stack__mark_dispatcher) */
	bool app; /* of the target's own code: not kernel, vdso, libc, libstdc++, ld.so or their kin */
};

/*
 * A stack: raw addresses from the probe (leaf first, kernel before user), then the frames made of
 * them.
 */
struct stack {
	uint64_t *addresses;
	uint32_t kernel_cnt, user_cnt;
	uint16_t flags;	    /* JANK_STACK_CUT_*, JANK_STACK_NO_USER */
	uint64_t t_ns;	    /* its record's: with the thread, what its copy is known by */
	enum stack_end end; /* of the user part */
	char *end_module;   /* whose code it ended early in, owned; NULL: none, or not known */
	/* An interpreter's own frames, innermost first, owned; NULL: none. */
	struct jank_script_frame *script;
	uint32_t script_cnt;
	struct frame *frames; /* by the symbolizer; frame_cnt may exceed the addresses (inlining) */
	size_t frame_cnt;
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
	struct wait_object *waited; /* what a span waited for; NULL: not known */
	uint32_t cpu;		    /* where it was taken */
	uint64_t stands_for; /* samples, itself included: the others were left out (sample.h) */
	struct stack stack;
};

/* Why a link is in the chain. */
enum link_role {
	LINK_WOKE, /* it ended the wait of the link before (of the first: of the dispatch) */
	LINK_HELD, /* it held the mutex that the one before waited for */
};

/*
 * A link of the chain of wakers: a thread for which the one before it waited, and what it did while
 * that one did. All times are of the interval that the two share: ns is its length, part_ns how it
 * was spent, as far as it is known (they sum to ns at most).
 */
struct link {
	enum link_role role;
	struct other_task task; /* ns unused */
	char *process;		/* its name; NULL: not known */
	uint64_t t_ns, ns;
	uint64_t part_ns[JANK_STATE_CNT];
	uint32_t
		state; /* the largest part; JANK_STATE_CNT: nothing of it was seen but that it woke */
	uint16_t prio; /* as on the wire (JANK_PRIO_OFFSET); 0: not known */
	int32_t syscall;
	const char *syscall_name;   /* static; NULL: none, or not known */
	struct wait_object *waited; /* what it waited for in turn, in that state; NULL: not known */
	struct stack stack;	    /* where it was in that state; empty when not known */
	struct stack wake_stack;    /* where it was as it ended the wait; empty when not known */
	struct other_task *preemptors; /* who ran while it wanted to, worst first */
	size_t preemptor_cnt;
};
#define CHAIN_MAX 8

/* What the machine did meanwhile, in percent of all its CPUs; negative: not known. */
struct machine_load {
	double total_pct, process_pct, user_pct, system_pct, iowait_pct;
	bool busy;	  /* the thread wanted a CPU and others had it for > 1/5 of the dispatch */
	double steal_pct; /* taken by a hypervisor */
	/*
	 * PSI: part of the time in which some task of the machine waited for it; negative: not
	 * known
	 */
	double psi_cpu_pct, psi_memory_pct, psi_io_pct;
};

/* More on the dispatch, as the probes had it (jank_rec_facts). */
struct facts {
	bool known;
	uint64_t throttled_ns, stolen_ns, maj_flt_cnt, min_flt_cnt;
	uint16_t prio, policy; /* prio: as on the wire */
	uint32_t cpus_allowed;
	/*
	 * What the live system answered about the thread's CPU and quota, as the record has it: the
	 * journal keeps it, and a replay gets it back. The fields above are not set in it. Texts
	 * belong to the block.
	 */
	Jankbpf__Scheduling live;
};

/* Frames of a display that went by meanwhile. */
struct missed_frames {
	uint32_t missed; /* 0: none was counted, and the others mean nothing */
	uint32_t crtc;	 /* the display, by its number in the DRM */
	double hz;	 /* how often it shows one; 0: not known */
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
	QUALITY_COPY = 16, /* the copy of the stack ends before it does */
	QUALITY_HOLE = 32,
	QUALITY_NO_TABLE = 64, /* in quality_module, that of the first such stack */
	QUALITY_ASTRAY = 128,
	QUALITY_DEEP = 256,
};

#define CAUSE_SIGNATURE_LEN 16

/* One of several causes, by its share. */
struct cause_part {
	const char *
		kind; /* "cpu", "kernel", "page_fault", "runnable" or a blocked state's key; static */
	const char *
		what; /* finer, where it is known: "mutex", "fsync", "throttled" …; static, see sentence.h */
	double share; /* of the wall time, 0 to 1 */
	const struct frame
		*frame; /* into a sample's stack; NULL when no application frame was seen */
};
#define CAUSE_PART_MAX 4

struct cause {
	const char *kind;
	const char *what;
	double share;
	const struct frame *frame;		 /* these four as in parts[0] */
	char signature[CAUSE_SIGNATURE_LEN + 1]; /* hex */
	char *summary;				 /* one sentence in English; owned by the block */
	double confidence; /* 0 to 1: how much of the verdict was seen, not inferred */
	struct cause_part parts[CAUSE_PART_MAX]; /* largest first */
	size_t part_cnt;
};

/* Losses of one block by reason, see block__add_loss; of a summary, see losses__list. */
struct block_loss {
	const char *reason; /* the word in `lost`: static */
	uint64_t cnt;
};

struct block {
	enum block_type type;
	char *id;
	uint64_t start_ns;	/* CLOCK_MONOTONIC */
	int64_t real_offset_ns; /* start_ns + this = wall time */
	uint64_t duration_ns, threshold_ns;
	uint64_t
		start_delay_ns; /* from the wake-up in the loop's wait to start_ns; 0 as well where it is not known: */
	bool start_known;
	struct host_info host;
	uint32_t pid, tid;
	uint16_t
		behind; /* descriptors that were ready as the loop came back, and 1; 0: not known */
	uint16_t trial; /* its thread was on probation, by this number; 0: its loop is known */
	uint32_t uid;	/* UINT32_MAX when unknown */
	uint32_t ns_pid;	      /* in its own pid namespace; 0 when unknown */
	char *process;		      /* command name or the executable's base name */
	char *thread;		      /* comm */
	char *exe;		      /* path, NULL when unknown */
	char *cgroup;		      /* NULL when unknown */
	char *container, *pod, *unit; /* by the cgroup's path; NULL when there is none */
	uint32_t loop;		      /* JANK_LOOP_* */
	char *role;		      /* of a browser's process: "renderer"; NULL: none */
	const char *loop_name; /* the catalogue's or the journal's, borrowed; NULL: loop's own */
	int32_t fd;	       /* the loop's epoll descriptor, or -1 */
	int32_t ready_cnt;
	bool hang_reported; /* its hang record was sent before */
	bool over_hang;	    /* longer than --hang, reported before or not */
	bool ended_by_exit;
	uint32_t end;		 /* JANK_END_* */
	struct stack idle_place; /* the callers of its loop's wait; empty: not known */
	struct message *message; /* what was handled; NULL: not known */
	uint32_t dropped_frames;
	struct missed_frames frames;
	uint64_t cpu_ns;
	uint64_t state_ns[JANK_STATE_CNT];
	struct cause cause;
	struct machine_load load;
	struct facts facts;
	struct other_task *preemptors; /* worst first */
	size_t preemptor_cnt;
	struct sample *samples; /* in time order */
	size_t sample_cnt;
	/* Of the longest wait that somebody ended: whom it waited for, whom that one … */
	struct link *chain;
	size_t chain_cnt;
	size_t chain_sample;	    /* that wait: index into samples */
	unsigned stack_quality;	    /* enum stack_quality bits */
	const char *quality_module; /* in a sample's stack; NULL: none, or not known */
	struct block_loss *lost;    /* only reasons with cnt > 0 */
	size_t lost_cnt;
};

/* Durations of one process's dispatches of one loop kind: the denominators of the blocks. */
struct loop_hist {
	uint32_t pid;
	char *process;
	uint32_t loop;
	const char *loop_name; /* as in struct block */
	uint64_t dispatch_cnt, block_cnt;
	struct durations durations; /* of its dispatches */
	struct durations starts;    /* start delays of those whose wait slept */
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
	uint64_t
		stopped_cnt; /* blocks that were not reported, for the process was mostly stopped */
	struct unwatched_list unwatched;
	bool idle_loop; /* one waits that made no turn; not kept in a journal */
};

struct block *block__new(void);			/* zeroed; NULL when out of memory */
void block__free(struct block *block);		/* accepts NULL */
size_t block__bytes(const struct block *block); /* of memory, about */

/*
 * May it have been several turns of its loop? Those that wait for a queue (JANK_LOOP_PARK) make no
 * system call while it is not empty; a message that a mark told is one.
 */
bool block__turns_unknown(const struct block *block);

/* What a client waited for, in ns: the start delay and the duration. */
uint64_t block__delay(const struct block *block);

/* How long it waited for a CPU, in ns: the start delay is such a time, too. */
uint64_t block__runnable(const struct block *block);

/*
 * When its delay began, on CLOCK_MONOTONIC: the wake-up, or the dispatch's begin when that is not
 * known.
 */
uint64_t block__due(const struct block *block);

/* Frees samples and chain; the time account stays. Returns the number of samples. */
size_t block__drop_evidence(struct block *block);

/*
 * All of its stacks, in one order: its samples', then each link's own and that of its wake-up.
 * NULL: there is no stack nr. tid: whose it is.
 */
struct stack *block__stack(const struct block *block, size_t nr, uint32_t *tid);
void summary__free(struct summary *summary); /* what it points to, not itself */

const char *state__name(uint32_t state); /* the contract's key; "other" for an unknown one */
const char *loop__name(uint32_t loop);	 /* the contract's `loop`; "unknown" for an unknown one */
const char *hist__loop(const struct loop_hist *hist); /* the same of a summary's */
const char *block__loop(const struct block *block);   /* the catalogue's name, else that */
/*
 * What tells a dispatch's records apart, besides its thread and begin: 0 for its block, for a hang
 * 1 and the seconds of Android's limit that it exceeds.
 */
uint32_t hang__number(enum block_type type, uint64_t delay_ns);
uint32_t block__hang(const struct block *block);
const char *block__severity(const struct block *block); /* "jank" or "hang" */

/* What a block says of its process: read while it lived, kept until the run ends. */

#define UID_UNKNOWN UINT32_MAX

struct identity {
	uint32_t pid;
	uint32_t uid;	 /* UID_UNKNOWN: it had ended before it could be looked at */
	uint32_t ns_pid; /* in its own pid namespace; 0 when unknown */
	char *name;	 /* command name or the executable's base name */
	/* NULL when unknown, or when there is none. */
	char *exe;
	char *cgroup;
	char *container; /* its id; LXC's or systemd-nspawn's name */
	char *pod;	 /* its uid in Kubernetes */
	char *unit;	 /* systemd's */
};

/* A deep copy, or NULL: out of memory. */
struct identity *identity__copy(const struct identity *process);
void identity__free(struct identity *process); /* accepts NULL */

#endif
