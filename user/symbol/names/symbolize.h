/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbolizer: resolves addresses to frames. Used on one thread only (the sink thread).
 *
 * All input comes from untrusted programs. Files, maps and names are bounded; a broken one costs
 * its symbols, never the run.
 */
#ifndef JANK_SYMBOL_NAMES_SYMBOLIZE_H
#define JANK_SYMBOL_NAMES_SYMBOLIZE_H

#include "base/err.h"
#include "model/block.h"
#include <stdbool.h>
#include <stdint.h>

struct symbolizer;
struct copy_event;

struct symbolizer_opts {
	const char *kallsyms;  /* NULL: /proc/kallsyms; "": no kernel symbols */
	const char *debug_dir; /* NULL: /usr/lib/debug */
	const char *proc;      /* NULL: /proc (tests set another) */
	bool demangle;
	uint64_t max_cache_bytes; /* soft limit, 0: 24 MiB */
	/* Of stack copies that were recorded elsewhere (tests): */
	uint16_t machine; /* EM_* of 64-bit threads; 0: this machine's */
	uint64_t pc_mask; /* bits of its code addresses; 0: this machine's */
	/*
	 * the stack that a handler on a signal stack has interrupted, with its begin as the stack
	 * pointer (borrowed); NULL: the probes copy one stack
	 */
	const struct copy_event *other;
};

int symbolizer__new(const struct symbolizer_opts *opts, struct symbolizer **ret, struct err *err);

struct symbolizer_ops;

/*
 * A symbolizer that does nothing itself: each function below calls the function of that name in ops
 * with ctx, which stays the caller's (user/name does the work in another process). NULL: out of
 * memory.
 */
struct symbolizer *symbolizer__new_remote(const struct symbolizer_ops *ops, void *ctx);

void symbolizer__free(struct symbolizer *sym); /* accepts NULL */

/*
 * Call when a process appears or executes another program. Reads its mappings while it lives, and
 * keeps what is needed to open its files later (map_files, then root/PATH). Another call for the
 * same pid refreshes. Returns 0 or -errno (-ESRCH: it has ended; what was known stays).
 */
int symbolizer__process(struct symbolizer *sym, uint32_t pid, struct err *err);

/* A file that was mapped executable. */
struct mapping {
	uint64_t start, end, offset; /* addresses in memory, offset in the file */
	uint64_t dev, inode;	     /* as in /proc/PID/maps */
	uint64_t t_ns;		     /* CLOCK_MONOTONIC */
	const char *path;	     /* as the process sees it, without " (deleted)" */
};

/*
 * Adds a file that a known process mapped executable at mapping->t_ns. Addresses sampled earlier
 * still resolve to what was mapped there at that time.
 */
void symbolizer__mapped(struct symbolizer *sym, uint32_t pid, const struct mapping *mapping);

/*
 * Another process gets several mappings at once, before its next work. Call this when nothing else
 * follows: their files may be removed soon.
 */
void symbolizer__flush(struct symbolizer *sym);

bool symbolizer__knows(const struct symbolizer *sym, uint32_t pid);

/*
 * Path of the first mapped file that was not opened because another process holds a lease on it;
 * NULL: none. *ret_cnt: how often this happened. Functions of such a file have no names until a
 * later reading of the mappings finds the lease gone.
 */
const char *symbolizer__leased(const struct symbolizer *sym, uint64_t *ret_cnt);

/*
 * Number of frames without name or line because the lookup took too long. The limits are some
 * tenths of a second for DWARF, and 50 ms at once for a perf map or jitdump.
 */
uint64_t symbolizer__cut_cnt(const struct symbolizer *sym);

/* Drops the mappings of a process; no more of its stacks follow. */
void symbolizer__process_gone(struct symbolizer *sym, uint32_t pid);

/*
 * For each thread with interpreter frames: where the probes find them. Writes at most max threads
 * to ret. Returns their number; 0: the process runs no known interpreter, or not yet.
 */
struct interp_thread {
	uint32_t tid;
	struct jank_script_where where;
};
size_t symbolizer__script_threads(struct symbolizer *sym, uint32_t pid, struct interp_thread *ret,
				  size_t max);

/*
 * A number that changes when the process has threads that symbolizer__script_threads has not
 * returned yet; takes about 20 us. 0: unknown process, or no interpreter.
 */
uint64_t symbolizer__script_newest(struct symbolizer *sym, uint32_t pid);

/*
 * What the frames of a wait tell about it, innermost first. Returns false when nothing is known
 * except that they exist.
 */
struct script_wait {
	uint32_t depth; /* frames, without those of the language's library that wait for a caller */
	bool for_caller; /* there are such frames of the library */
	bool one_call;	 /* all waits in these frames are one call of the program */
	/* code by which the interpreter waits for a lock; 0: any futex wait without for_caller */
	uint64_t lock_begin, lock_end;
};
bool symbolizer__script_wait(struct symbolizer *sym, uint32_t pid,
			     const struct jank_script_frame *frames, uint32_t cnt,
			     struct script_wait *ret);

/*
 * Fills the frames of the stack (allocated, owned by the stack); those of stack->script come last.
 * An address without a symbol keeps its module and offset, or only its address. When an address is
 * in no mapping, refreshes the mappings at most once per call and 100 ms. Returns 0 or -ENOMEM.
 */
int symbolizer__stack(struct symbolizer *sym, uint32_t pid, struct stack *stack);

/* The same for several stacks, at once if another process does the work. */
int symbolizer__stacks(struct symbolizer *sym, uint32_t pid, struct stack *const *stacks,
		       size_t cnt);

/*
 * Resolves an address that a variable of the process holds: a function, or the C++ class with its
 * vtable there. Fills ret like a frame of a stack; function is NULL without a name. Returns 0 or
 * -ENOMEM.
 */
int symbolizer__function(struct symbolizer *sym, uint32_t pid, uint64_t addr, struct frame *ret);
int symbolizer__class(struct symbolizer *sym, uint32_t pid, uint64_t vtable, struct frame *ret);

/* The same for a variable with static storage that includes the address; ret->offset is in it. */
int symbolizer__variable(struct symbolizer *sym, uint32_t pid, uint64_t addr, struct frame *ret);

/*
 * Whether a word of memory may be a code address of a known process, by the mappings as last read.
 * Fills ret->module with the file as in maps. With `named`, fills ret->function with the name as in
 * the symbol table; addr is `exact`, or else a return address. Returns false when no code is there.
 */
struct code_opts {
	bool exact, named;
};
bool symbolizer__code(struct symbolizer *sym, uint32_t pid, uint64_t addr, struct code_opts opts,
		      struct frame *ret);

/*
 * Keeps those words that symbolizer__code takes for return addresses, at most max, in their order.
 * Returns their number.
 */
size_t symbolizer__keep_code(struct symbolizer *sym, uint32_t pid, const uint64_t *words,
			     size_t cnt, uint64_t *ret, size_t max);

/* Whether the process's program is an ELF file with a section of this name. */
bool symbolizer__has_section(struct symbolizer *sym, uint32_t pid, const char *section);

/*
 * Addresses of the variables of libuv's thread pool (src/threadpool.c), which is within the program
 * or a library; its queues are `{ next, prev }`.
 */
struct uv_pool_at {
	uint64_t threads;      /* pthread_t *, of nthreads */
	uint64_t nthreads;     /* unsigned */
	uint64_t idle_threads; /* unsigned: those that wait for work */
	uint64_t
		slow_running; /* unsigned: threads in work of which only half of them may do some */
	uint64_t slow_pending; /* queue of such work */
	uint64_t cond;	       /* the condition variable that an idle thread waits for */
	uint64_t cond_sz;
};

/*
 * False: the process has no libuv, or there is no .symtab of it; *ret is unchanged then. Reads a
 * whole symbol table.
 */
bool symbolizer__uv_pool(struct symbolizer *sym, uint32_t pid, struct uv_pool_at *ret);

/*
 * Reads code of a known process from the file mapped at an address, not from its memory. Returns 0,
 * -ENODATA: no file's code is there, or -errno of the read.
 */
int symbolizer__code_bytes(struct symbolizer *sym, uint32_t pid, uint64_t addr, void *buf,
			   size_t len);

/*
 * Frees cached names beyond max_cache_bytes. Invalidates all strings in frames: call it between
 * blocks only.
 */
void symbolizer__trim(struct symbolizer *sym);

/*
 * Frees DWARF that no new address has needed for a minute; known addresses keep their names. Call
 * it now and then. now_ns: CLOCK_MONOTONIC.
 */
void symbolizer__rest(struct symbolizer *sym, uint64_t now_ns);

struct unwound;

/* The functions above, and symbolizer__unwind (unwind.h). */
struct symbolizer_ops {
	int (*process)(void *ctx, uint32_t pid, struct err *err);
	void (*mapped)(void *ctx, uint32_t pid, const struct mapping *mapping);
	void (*flush)(void *ctx);
	bool (*knows)(void *ctx, uint32_t pid);
	const char *(*leased)(void *ctx, uint64_t *ret_cnt);
	uint64_t (*cut_cnt)(void *ctx);
	void (*process_gone)(void *ctx, uint32_t pid);
	size_t (*script_threads)(void *ctx, uint32_t pid, struct interp_thread *ret, size_t max);
	uint64_t (*script_newest)(void *ctx, uint32_t pid);
	bool (*script_wait)(void *ctx, uint32_t pid, const struct jank_script_frame *frames,
			    uint32_t cnt, struct script_wait *ret);
	int (*stacks)(void *ctx, uint32_t pid, struct stack *const *stacks, size_t cnt);
	int (*function)(void *ctx, uint32_t pid, uint64_t addr, struct frame *ret);
	int (*class)(void *ctx, uint32_t pid, uint64_t vtable, struct frame *ret);
	int (*variable)(void *ctx, uint32_t pid, uint64_t addr, struct frame *ret);
	bool (*code)(void *ctx, uint32_t pid, uint64_t addr, struct code_opts opts,
		     struct frame *ret);
	size_t (*keep_code)(void *ctx, uint32_t pid, const uint64_t *words, size_t cnt,
			    uint64_t *ret, size_t max);
	bool (*has_section)(void *ctx, uint32_t pid, const char *section);
	bool (*uv_pool)(void *ctx, uint32_t pid, struct uv_pool_at *ret);
	int (*code_bytes)(void *ctx, uint32_t pid, uint64_t addr, void *buf, size_t len);
	/* rets have the threads' pcs already, which stay where there is no answer. */
	int (*unwind)(void *ctx, const struct copy_event *copies, struct unwound *rets, size_t cnt);
	void (*trim)(void *ctx);
	void (*rest)(void *ctx, uint64_t now_ns);
};

#endif
