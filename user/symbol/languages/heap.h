/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Languages with frames in the heap of their interpreter: CPython 3.11 to 3.13, Ruby 3.1 to 3.4.
 * The frames are gone when user space looks, so the probes read them (bpf/script.bpf.h): the code
 * and the instruction of each. A language says where the probes find them, and what they are.
 * Used on the symbolizer's thread only.
 *
 * The process's memory is not trusted: a language checks each object that it reads.
 */
#ifndef JANK_SYMBOL_LANGUAGES_HEAP_H
#define JANK_SYMBOL_LANGUAGES_HEAP_H

#include "bpf/jank_abi.h"
#include "model/block.h"
#include "symbol/elf/elf.h"
#include "symbol/languages/language.h"
#include "symbol/names/cache.h"
#include "symbol/names/process.h"
#include "symbol/names/symbolize.h"

/* --- the process that is read: objects in its memory, at any address and length */

struct heap_memory {
	const char *proc;
	uint32_t pid;
};

/* As memory__read_across. 0; -ENODATA: not loaded yet; -ESRCH: it has ended; or -errno. */
int heap_memory__read(const struct heap_memory *mem, uint64_t addr, void *buf, size_t len);
int heap_memory__word(const struct heap_memory *mem, uint64_t addr, uint64_t *ret);

/* --- the part of a language's row */

/*
 * A thread with frames: its id in the PID namespace of the process, and where its frames are;
 * where->tgid is set by the caller. Returns false when no more threads are wanted.
 */
typedef bool (*heap_thread_fn)(void *ctx, uint64_t number, const struct jank_script_where *where);

struct heap_language {
	/*
	 * Bits 1 << JANK_CLASS_*: waits of which the callers in C do not tell the idle place from a
	 * handler's wait.
	 */
	uint32_t alike;
	const char *sleep; /* function that sleeps by the system call of a queue's wait, or NULL */
	/*
	 * The state of a process. file: from open; bias: what to add to its addresses. 0; -ENODATA:
	 * the process may have one later; or -errno.
	 */
	int (*start)(const void *file, uint64_t bias, const struct heap_memory *mem, void **ret);
	/* Does the file lack what finds the frames of stacks? NULL: none does. */
	bool (*nameless)(const void *file);
	/* Calls fn for each thread, at most some thousand. */
	void (*threads)(const void *state, const struct heap_memory *mem, heap_thread_fn fn,
			void *ctx);
	/* A value that changes when a thread is added or ends; 0: none yet. */
	uint64_t (*newest)(const void *state, const struct heap_memory *mem);
	/* Describes a wait by its frames. Returns false when they can no longer be read. */
	bool (*wait)(void *state, const struct heap_memory *mem,
		     const struct jank_script_frame *frames, uint32_t cnt, struct script_wait *ret);
	/* Fills a frame; one that its code no longer describes has no function. NULL: no names. */
	void (*name)(void *state, const struct heap_memory *mem, struct pool *pool,
		     const struct jank_script_frame *from, struct frame *ret);
};

/* --- of a process */

struct heap_process {
	const struct language *language;
	const struct language_file *file; /* compare only: its module may be gone */
	uint64_t bias;
	void *state; /* of heap->start */
};

void heap_process__free(struct heap_process *heap); /* accepts NULL */
size_t heap_process__bytes(const struct heap_process *heap);

/*
 * Gets the process's threads with frames, at most max. Returns their number; 0 when the interpreter
 * is not ready yet.
 */
size_t heap__threads(struct process_env *env, struct process *process, struct interp_thread *ret,
		     size_t max);

/* Returns a value that changes when a thread gets a state. 0: no such language. */
uint64_t heap__newest(struct process_env *env, struct process *process);

/* Describes a wait by its frames. Returns false when they can no longer be read. */
bool heap__wait(struct process_env *env, struct process *process,
		const struct jank_script_frame *frames, uint32_t cnt, struct script_wait *ret);

/*
 * Appends one frame for each entry of stack->script to the stack's frames, in order, of either
 * family. An entry without a code object gives a zeroed frame. 0 or -ENOMEM.
 */
int script__add_frames(struct process_env *env, struct process *process, struct pool *pool,
		       struct stack *stack);

#endif
