/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for addresses. One owner thread (the sink thread); nothing here is thread-safe.
 *
 * Everything read comes from programs that nobody trusts: files, maps and names are bounded, and a
 * broken one costs its names, never the run.
 */
#ifndef JANK_SYMBOL_NAMES_SYMBOLIZE_H
#define JANK_SYMBOL_NAMES_SYMBOLIZE_H

#include "base/err.h"
#include "model/block.h"
#include "symbol/names/mapping.h"
#include <stdbool.h>
#include <stdint.h>

struct symbolizer;

struct symbolizer_opts {
	const char *kallsyms;  /* NULL: /proc/kallsyms; "": no kernel symbols */
	const char *debug_dir; /* NULL: /usr/lib/debug */
	const char *proc;      /* NULL: /proc (tests point it elsewhere) */
	bool demangle;
	uint64_t max_cache_bytes; /* soft limit, 0: 24 MiB */
};

int symbolizer__new(const struct symbolizer_opts *opts, struct symbolizer **ret, struct err *err);
void symbolizer__free(struct symbolizer *sym); /* accepts NULL */

/*
 * A process was seen, or replaced its program: (re)reads its mappings while it lives, keeps what is
 * needed to open its files later (map_files, then root/PATH). Called again for a known pid it
 * refreshes. Returns 0 or -errno (-ESRCH: it is gone, what was known stays).
 */
int symbolizer__process(struct symbolizer *sym, uint32_t pid, struct err *err);

/*
 * A known process has mapped a file executable, at mapping->t_ns. Addresses that were taken before
 * belong to what was there then.
 */
void symbolizer__mapped(struct symbolizer *sym, uint32_t pid, const struct mapping *mapping);

bool symbolizer__knows(const struct symbolizer *sym, uint32_t pid);

/*
 * The first mapped file that was not opened since another process holds a lease on it, NULL: none;
 * and how often that was so. Its functions have no names until a later reading of the mappings
 * finds the lease gone.
 */
const char *symbolizer__leased(const struct symbolizer *sym, uint64_t *ret_cnt);

/*
 * Frames so far whose name or line is missing since the look-up took too long: of DWARF some tenths
 * of a second, of a perf map or jitdump 50 ms at once.
 */
uint64_t symbolizer__cut_cnt(const struct symbolizer *sym);

/* Drops a process's mappings: no more of its stacks will come. */
void symbolizer__process_gone(struct symbolizer *sym, uint32_t pid);

/*
 * Where the probes find an interpreter's frames, for each thread of the process that has some, at
 * most max. Their number; 0: it runs no interpreter that we know, or not yet.
 */
struct interp_thread {
	uint32_t tid;
	struct jank_script_where where;
};
size_t symbolizer__script_threads(struct symbolizer *sym, uint32_t pid, struct interp_thread *ret,
				  size_t max);

/*
 * Differs from what it was before once the process has threads that symbolizer__script_threads did
 * not tell; takes some 20 us. 0: it is not known, or runs no interpreter.
 */
uint64_t symbolizer__script_newest(struct symbolizer *sym, uint32_t pid);

/* What the frames of a wait say of it, innermost first. False: no more than that they are there. */
struct script_wait {
	uint32_t
		depth; /* how many there are, but for those of the language's own that wait for their caller */
	bool for_caller; /* Python: there are such, threading's or queue's */
	bool is_ruby;
	uint64_t lock_begin, lock_end; /* of Ruby: the code that waits for a Mutex */
};
bool symbolizer__script_wait(struct symbolizer *sym, uint32_t pid,
			     const struct jank_script_frame *frames, uint32_t cnt,
			     struct script_wait *ret);

/*
 * Fills frames of the stack (allocated, owned by the stack), those of stack->script last. Never
 * fails but for -ENOMEM: an address without a name keeps its module and offset, or its address
 * alone. Refreshes the mappings at most once per call and 100 ms when an address lies in none.
 */
int symbolizer__stack(struct symbolizer *sym, uint32_t pid, struct stack *stack);

/*
 * What is at one address of a process, as it stands in a variable: a function, or with `class` the
 * C++ class that has its vtable there. Fills ret as a frame of a stack; with no name its function
 * is NULL. 0 or -ENOMEM.
 */
int symbolizer__function(struct symbolizer *sym, uint32_t pid, uint64_t addr, struct frame *ret);
int symbolizer__class(struct symbolizer *sym, uint32_t pid, uint64_t vtable, struct frame *ret);

/*
 * Whose code a word of memory may point into: of a known process, by the mappings as last read.
 * Fills ret->module with the file as in maps, and with `named` ret->function with the name as in
 * its symbol table, for an address that is `exact` or else returned to. False: no code is there.
 */
struct code_opts {
	bool exact, named;
};
bool symbolizer__code(struct symbolizer *sym, uint32_t pid, uint64_t addr, struct code_opts opts,
		      struct frame *ret);

/*
 * Code of a known process at an address, from the file that is mapped there; its memory isn't
 * asked. 0, or -ENODATA: no file's code is there, or -errno of reading it.
 */
int symbolizer__code_bytes(struct symbolizer *sym, uint32_t pid, uint64_t addr, void *buf,
			   size_t len);

/* Frees cached names beyond max_cache_bytes. Invalidates all frame strings handed out: call between
 * blocks only. */
void symbolizer__trim(struct symbolizer *sym);

#endif
