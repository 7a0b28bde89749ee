/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The block: jankbpf's BlockInfo, the report of one slow dispatch. Data only. The judge fills the
 * times and the evidence, the symbolizer the names of frames, blame the cause. Sinks borrow it
 * const.
 *
 * Ownership: block__free frees everything reachable, except strings in frames. The symbolizer owns
 * those; they are valid until its next symbolizer__trim.
 */
#ifndef JANK_MODEL_BLOCK_H
#define JANK_MODEL_BLOCK_H

#include "base/strbuf.h"
#include "bpf/jank_abi.h"
#include "model/hist.h"
#include "model/identity.h"
#include "model/loss.h"
#include "model/not_shown.h"
#include "model/unwatched.h"
#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MESSAGE_FD_CLOSED                                                                          \
	"already closed" /* target of a descriptor that closed before it was named */

/* A copy; free it with free. NULL: out of memory. */
struct jank_rec_message *message__new(const struct jank_rec_message *raw);

/*
 * Adds the event bits by their epoll_ctl(2) names in lower case, "in|hup"; bits without a name in
 * hex.
 */
void message__add_events(struct strbuf *sb, uint32_t events);

/* Why unwinding of a user stack ended. */

enum stack_end {
	STACK_END_UNKNOWN,  /* unwound by the probe, with frame pointers */
	STACK_END_COMPLETE, /* reached the thread's first function */
	STACK_END_COPY,	    /* the copy of the stack is too short */
	STACK_END_HOLE,	    /* a page of the stack could not be read */
	STACK_END_NO_TABLE, /* no unwind table, and no valid frame pointer */
	STACK_END_ASTRAY,   /* the unwind table gave an invalid return address */
	STACK_END_DEEP,	    /* more frames than the limit */
};

/*
 * The object that a thread waited for: the raw values from the probes and what they refer to. Data
 * only. Unknown values are NULL or 0, never guessed.
 *
 * wait_object__free frees everything reachable.
 */

/* Another task in one of these roles: waker, owner, peer, or preemptor (with ns and prio). */
struct other_task {
	uint32_t pid, tid; /* 0: none */
	uint64_t ns;
	uint16_t prio; /* wire format (JANK_PRIO_OFFSET); 0: not known */
	char comm[JANK_COMM_SZ + 1];
	char *cgroup; /* path, of a preemptor only; freed with the task; NULL: not known */
	bool is_ours; /* a preemptor's process is jankbpf, or one that it started for itself */
};

struct wait_object {
	struct jank_rec_waited raw;
	char *target; /* descriptor: "eventfd 12", "pipe 4711", "epoll"; NULL: not known */
	char *path;   /* of a file */
	char *device; /* device of the file: "vda", "tmpfs"; NULL: not known */
	char *lock;   /* "mutex 'queue_lock'": in a deadlock; NULL: not known */
	char *peer; /* remote end: "tcp 10.0.0.7:5432", "unix /run/x.sock"; NULL: none or unknown */
	struct other_task peer_task; /* local; of a path: FUSE's daemon, a tty's reader; of binder:
					the server */
	struct other_task owner;     /* of the mutex; only a live thread of the process */
};

/*
 * True if the futex call is one that locks make: glibc, musl and Rust mutexes sleep while the word
 * is 2; PI mutexes use their own futex operations. False if the call's arguments are not known.
 */
bool wait_object__is_lock(const struct jank_rec_waited *raw);

/*
 * True if both futex calls are for one lock or one condition variable, whose waits alternate
 * between two of its words. False if the arguments of one are not known.
 */
bool wait_object__is_same_futex(const struct jank_rec_waited *a, const struct jank_rec_waited *b);

struct wait_object *
wait_object__new(const struct jank_rec_waited *raw); /* raw values only; NULL: out of memory */
struct wait_object *
wait_object__copy(const struct wait_object *waited); /* deep; NULL: no memory, or waited is NULL */
void wait_object__free(struct wait_object *waited);  /* accepts NULL */
size_t wait_object__bytes(const struct wait_object *waited); /* bytes, about; accepts NULL */

#define BLOCK_SCHEMA "jankbpf/1"

/* Owner of a frame's code, as stack__mark_owners decides. */
enum code_owner {
	CODE_UNKNOWN, /* also each frame of an interpreter's stack, and main */
	CODE_OWN,     /* the executable, or a library of its package */
	CODE_LIBRARY,
};

/* One frame. Unknown fields are NULL or 0. */
struct frame {
	uint64_t address;     /* as sampled, in the process or kernel */
	const char *function; /* demangled */
	uint64_t offset;      /* in the function, or without one in the module's file */
	uint64_t start;	      /* without a name: the function's begin in that file; 0: unknown */
	const char *module;   /* path, "[vdso]", "[jit]", "vmlinux" or a kernel module's name */
	const char *build_id; /* lower-case hex */
	const char *file;     /* source file and line, where DWARF or an interpreter tells */
	uint32_t line;
	const char *language; /* of managed code: "python", "javascript", "java" …; static */
	bool kernel;
	bool inlined;
	bool dispatcher; /* also a caller of the loop's wait (stack__mark_dispatcher) */
	bool app; /* the target's own code: not kernel, vdso, libc, libstdc++, ld.so or similar */
	enum code_owner owner;
};

/*
 * A stack: raw addresses from the probe (leaf first, kernel before user), and the frames made from
 * them.
 */
struct stack {
	uint64_t *addresses;
	uint32_t kernel_cnt, user_cnt;
	uint16_t flags;	    /* JANK_STACK_CUT_*, JANK_STACK_NO_USER */
	uint64_t t_ns;	    /* time of its record; with the tid, the key of its stack copy */
	enum stack_end end; /* end of the user part */
	char *end_module; /* module where unwinding ended early, owned; NULL: none, or not known */
			  /*
	 * Frames of an interpreter, or functions of native frames (JANK_SCRIPT_NATIVE); innermost
	 * first, owned; NULL: none.
	 */
#define STACK_SCRIPT_MAX 256
	struct jank_script_frame *script;
	uint32_t script_cnt;
	struct frame *frames; /* named by the symbolizer; may exceed the addresses (inlining) */
	size_t frame_cnt;
};

/* A tick of the sampler, or a span off the CPU. */
struct sample {
	uint64_t t_ns;		  /* CLOCK_MONOTONIC */
	uint64_t ns;		  /* length of a span, 0 for a tick */
	uint64_t runnable_ns;	  /* part of ns: waiting for a CPU after the wake-up */
	uint32_t state;		  /* JANK_STATE_* */
	int32_t syscall;	  /* number, -1 for none */
	const char *syscall_name; /* static; NULL: not known */
	bool open;		  /* the span had not ended (hang) */
	bool has_waker;
	bool waker_softirq;
	struct other_task waker;
	struct wait_object *waited; /* object of the wait; NULL: not known */
	uint32_t cpu;		    /* CPU that took the sample */
	uint64_t stands_for; /* number of samples that it represents, itself included (sample.h) */
	struct stack stack;
};

/* Why a link is in the chain. */
enum link_role {
	LINK_WOKE,    /* it ended the wait of the previous link (the first: of the dispatch) */
	LINK_HELD,    /* it held the lock that the previous link waited for */
	LINK_AWAITED, /* the wait lasts, and it is expected to end it */
};

/* The word of a role in records; the role of a word (LINK_WOKE: of any other). */
const char *link_role__name(enum link_role role);
enum link_role link_role__of(const char *name);

/* Why a holder will never release the lock. */
enum link_gone {
	LINK_HERE,  /* it may */
	LINK_ENDED, /* it has ended */
	LINK_FORK,  /* it is a thread of the parent, which had the lock at the fork */
};

/*
 * A link of the chain of wakers: a thread that the previous link waited for, and what it did during
 * that wait. All times cover the shared interval: ns is its length, part_ns the known time per
 * state (the sum is at most ns).
 */
struct link {
	enum link_role role;
	enum link_gone gone;
	struct other_task
		task;  /* ns unused; gone: the tid as the lock has it, pid 0 or the parent */
	char *process; /* process name; NULL: not known */
	uint64_t t_ns, ns;
	uint64_t part_ns[JANK_STATE_CNT];
	uint64_t throttled_ns; /* of the runnable part: a CPU quota withheld the CPU */
	uint32_t state;	       /* the largest part; JANK_STATE_CNT: only its wake-up was seen */
	uint16_t prio;	       /* wire format (JANK_PRIO_OFFSET); 0: not known */
	int32_t syscall;
	const char *syscall_name;      /* static; NULL: none, or not known */
	struct wait_object *waited;    /* object of its own wait in that state; NULL: not known */
	struct stack stack;	       /* its stack in that state; empty: not known */
	struct stack wake_stack;       /* its stack when it ended the wait; empty: not known */
	struct other_task *preemptors; /* tasks that ran while it waited for a CPU, worst first */
	size_t preemptor_cnt;
};
#define CHAIN_MAX 8  /* also the `max` of Block.chain in schema/fields.tbl */
#define ENDER_MAX 16 /* the same of Block.enders */

/* More facts on the dispatch, from the probes (jank_rec_facts). */
struct facts {
	bool known;
	uint64_t throttled_ns, stolen_ns, maj_flt_cnt, min_flt_cnt;
	uint16_t prio, policy; /* prio: wire format */
	uint32_t cpus_allowed;
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
	QUALITY_FP = 4,	     /* unwound by frame pointers through code that may have none */
	QUALITY_NO_SAMPLES = 8,
	QUALITY_COPY = 16, /* the copy of the stack is too short */
	QUALITY_HOLE = 32,
	QUALITY_NO_TABLE = 64, /* module: quality_module, of the first such stack */
	QUALITY_ASTRAY = 128,
	QUALITY_DEEP = 256,
};

#define CAUSE_SIGNATURE_LEN 16
#define SIGNATURE_VERSION   2 /* of verdict/signature.c; 1: records without a version */

/* One of several causes, with its share. */
struct cause_part {
	/* "cpu", "kernel", a state's name, or what analysis.c derives of state and what; static */
	const char *kind;
	uint32_t state;	  /* that has its time: JANK_STATE_* */
	const char *what; /* finer: "mutex", "fsync" …, see sentence.h; static; NULL: not known */
	double share;	  /* of the wall time, 0 to 1 */
	const struct frame *frame; /* in a sample's stack; NULL: no application frame seen */
};
#define CAUSE_PART_MAX 4

struct cause {
	const char *kind;
	const char *what;
	double share;
	const struct frame *frame;		 /* these four repeat parts[0] */
	char signature[CAUSE_SIGNATURE_LEN + 1]; /* hex */
	char *summary;				 /* one sentence in English; owned by the block */
	double confidence; /* 0 to 1: how much of the verdict was observed, not inferred */
	struct cause_part parts[CAUSE_PART_MAX]; /* largest first */
	size_t part_cnt;
};

/* Losses of one block by reason, see block__add_loss; losses of a run, see losses__list. */
struct block_loss {
	const char *reason; /* key in `lost`: static */
	uint64_t cnt;
};

struct block {
	enum block_type type;
	char *id;
	uint64_t start_ns;	/* CLOCK_MONOTONIC */
	int64_t real_offset_ns; /* wall time = start_ns + this */
	uint64_t duration_ns, threshold_ns;
	uint64_t start_delay_ns; /* from the wake-up to start_ns; 0 also if unknown */
	bool start_known;
	uint64_t start_frozen_ns; /* of the start delay: frozen with its cgroup */
	struct other_task thawer; /* ended that; without a pid: not known */
	struct host_info host;
	uint32_t pid, tid;
	uint16_t behind; /* ready descriptors when the loop returned, plus 1; 0: not known */
	uint16_t trial;	 /* number of the thread's probation; 0: its loop is known */
	Jankbpf__Identity *process; /* never NULL */
	/*
	 * What the live system says, as the record has it: the fields that are `live` in
	 * schema/fields.tbl. It, its cpu, cpu->psi and scheduling are never NULL. The builder of
	 * records adds what the probes say of scheduling.
	 */
	Jankbpf__Block *live;
	char *thread;	       /* comm */
	const char *reduced;   /* by the governor: a word of the schema, static; NULL: nothing */
	bool has_record_limit; /* of an override, for its fault: records an hour */
	unsigned record_limit;
	uint32_t loop;	       /* JANK_LOOP_* */
	const char *loop_name; /* from the catalogue or journal, borrowed; NULL: use loop */
	int32_t fd;	       /* epoll descriptor of the loop, or -1 */
	int32_t ready_cnt;
	bool hang_reported;    /* a hang record was sent before */
	uint64_t hang_told_ns; /* the delay in the last of these */
	bool over_hang;	       /* longer than --hang, with or without a hang record */
	bool ended_by_exit;
	uint32_t end;		 /* JANK_END_* */
	struct stack idle_place; /* callers of the loop's wait; empty: not known */
	/* What it handled, as the probes read it; live->message has the names. NULL: unknown. */
	struct jank_rec_message *message;
	uint32_t dropped_frames;
	uint64_t cpu_ns;
	uint64_t state_ns[JANK_STATE_CNT];
	struct cause cause;
	struct facts facts;
	struct other_task *preemptors; /* worst first */
	size_t preemptor_cnt;
	struct other_task *syncers; /* of files of the device that it waited for, longest first */
	size_t syncer_cnt;
	struct other_task *enders; /* any of them may end the wait of a hang; none: see `chain` */
	size_t ender_cnt;
	struct sample *samples; /* in time order */
	size_t sample_cnt;
	/* Chain of wakers for the longest wait that a thread ended. */
	struct link *chain;
	size_t chain_cnt;
	size_t chain_sample;	    /* that wait: index into samples */
	bool deadlock;		    /* the chain shows why that wait cannot end */
	bool seen_chain;	    /* its links are from the live system, not from records */
	unsigned stack_quality;	    /* enum stack_quality bits */
	const char *quality_module; /* string in a sample's stack; NULL: none, or not known */
	struct block_loss *lost;    /* only reasons with cnt > 0 */
	size_t lost_cnt;
};

/* Durations of all dispatches of one process and loop kind: the denominator for its blocks. */
struct loop_hist {
	uint32_t pid;
	uint32_t process_cnt;	    /* 0: the one with this pid */
	Jankbpf__Identity *process; /* its names; in intervals also its application; or NULL */
	uint64_t threshold_ns;	    /* of an override; 0: as all */
	uint32_t loop;
	const char *loop_name; /* as in struct block */
	uint64_t dispatch_cnt, block_cnt;
	struct durations durations; /* of the dispatches */
	struct durations starts;    /* start delays of dispatches after a wait that slept */
	uint64_t first_turn_ns;	    /* from the start of the process; 0: not known */
};

/* Commands that the user asked for on records. */
struct summary_reactions {
	bool known; /* an option asks for commands */
	uint64_t run_cnt, failed_cnt, timed_out_cnt, skipped_cnt;
};

struct summary_histories {
	bool known; /* --record */
	uint64_t cnt, incomplete_cnt, gap_cnt;
	uint64_t left_out_cnt; /* blocks that their history does not show */
	uint64_t stop_ns;      /* the probes recorded until then (CLOCK_MONOTONIC) */
};

struct ignored;

/* Time of all reported blocks, and how much of it was want of a CPU. */
struct stalled {
	uint64_t ns;	       /* sum of their delays */
	uint64_t cpu_wait_ns;  /* of it: the thread, or the one it waited for, wanted a CPU */
	uint64_t throttled_ns; /* of that: a CPU quota withheld it */
	double busy_pct;       /* use of the machine's CPUs meanwhile; negative: not known */
	const char *cgroup;    /* that has the quota, borrowed; NULL: not known, or several */
};

struct summary {
	uint64_t elapsed_ns, dispatch_cnt, block_cnt, hang_cnt;
	struct block_loss *lost;
	size_t lost_cnt;
	bool lost_grows; /* blocks before it in the queue may lose more than it knows: */
	struct losses sent_with;
	uint64_t bpf_ns, bpf_runs;
	bool bpf_known;	       /* the kernel's BPF statistics were available */
	uint64_t start_cpu_ns; /* of it, before tracing began */
	uint64_t user_cpu_ns, rss_kb, pss_kb;
	struct loop_hist *loops;
	size_t loop_cnt;
	struct not_shown not_shown;
	struct stalled stalled;
	struct unwatched_list unwatched;
	struct over_shares over_share;
	uint64_t incomplete_cnt; /* reported blocks and hangs that have losses of their own */
	bool idle_loop;		 /* a loop waits and made no turn; not in the journal */
	uint64_t paused_ns, blind_ns, governor_step_cnt; /* of an agent */
	struct summary_reactions reactions;
	struct summary_histories histories;
	const struct ignored *ignored; /* of --ignore; borrowed */
	size_t ignored_cnt;
};

/* A dispatch that has not ended. */
struct open_dispatch {
	uint32_t pid, tid, loop;
	const char *loop_name; /* as in struct block */
	char comm[JANK_COMM_SZ];
	uint64_t duration_ns;	    /* so far; 0: it has not begun */
	uint64_t delay_ns;	    /* its start delay; so far if it has not begun */
	uint32_t state;		    /* JANK_STATE_* */
	Jankbpf__Identity *process; /* its names, in an interval; NULL: not known */
};

/* What the loops did in a part of the run. */
struct interval {
	int64_t real_offset_ns; /* CLOCK_REALTIME minus CLOCK_MONOTONIC */
	/* Its numbers, and words that are static. record_counts.c adds the rest. */
	Jankbpf__Interval facts;
	Jankbpf__Cost cost;
	struct loop_hist *loops; /* those with a dispatch */
	size_t loop_cnt;
	struct open_dispatch *open; /* at its end, the longest first */
	size_t open_cnt;
	struct block_loss *lost;
	size_t lost_cnt;
	struct unwatched_list unwatched; /* once, when it is known */
	struct host_info host;		 /* its texts are borrowed; name NULL: not known */
};

/* Frees its texts. */
void loop_hist__clear(struct loop_hist *loop);

struct block *block__new(void);			/* zeroed; NULL: out of memory */
void block__free(struct block *block);		/* accepts NULL */
size_t block__bytes(const struct block *block); /* approximate size in memory */

/*
 * True if the block may be several turns of its loop. Loops that wait for a queue (JANK_LOOP_PARK)
 * make no system call while the queue is not empty. A message from a mark is always one turn.
 */
bool block__turns_unknown(const struct block *block);

/* True if the dispatch was open already when the trace began; it took at least its duration. */
bool block__began_before(const struct block *block);

/* True if it is the start-up of the program: from its exec or fork to its loop's first wait. */
bool block__is_startup(const struct block *block);

/* Delay that a client saw, in ns: start delay plus duration. */
uint64_t block__delay(const struct block *block);

/* Time waiting for a CPU, in ns, start delay included. */
uint64_t block__runnable(const struct block *block);

/*
 * Start of the delay, on CLOCK_MONOTONIC: the wake-up, or the start of the dispatch if the wake-up
 * is not known.
 */
uint64_t block__due(const struct block *block);

/*
 * Build id of the process's executable, as frames of its stacks have it; borrowed. NULL: no stack
 * reached it, or it has none.
 */
const char *block__app_build_id(const struct block *block);

/* Frees samples and chain; the time account stays. Returns the number of freed samples. */
size_t block__drop_evidence(struct block *block);

/*
 * Enumerates all stacks: of the samples, then of each link its own and its wake stack. *tid: the
 * thread of the stack. NULL: there is no stack nr.
 */
struct stack *block__stack(const struct block *block, size_t nr, uint32_t *tid);
void summary__free(struct summary *summary);	/* frees what it points to, not the struct */
void interval__free(struct interval *interval); /* the same */

const char *state__name(uint32_t state); /* key in the output; "other" if unknown */
const char *loop__name(uint32_t loop);	 /* `loop` in the output; "unknown" if unknown */
const char *hist__loop(const struct loop_hist *hist); /* the same for a summary's row */
const char *block__loop(const struct block *block);   /* catalogue name, else loop__name */
/*
 * Distinguishes records of one dispatch, together with thread and start: 0 for a block; for a hang,
 * 1 plus the seconds of Android's limit that it exceeds.
 */
uint32_t hang__number(enum block_type type, uint64_t delay_ns);
/* The same of a start-up, which is sent again with each trial of its loop. */
uint32_t startup__number(enum block_type type, uint32_t trial, uint64_t delay_ns);
uint32_t block__hang(const struct block *block);
const char *block__severity(const struct block *block); /* "jank" or "hang" */

#endif
