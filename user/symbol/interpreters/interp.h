/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader of interpreter frames: CPython 3.11 to 3.13, and Ruby 3.1 to 3.4 (frames without names).
 * The probes read the frames; this part finds the offsets and the names.
 * A process runs an interpreter when it maps a file named python, libpython, ruby or libruby with
 * the interpreter's variables. Used on the symbolizer's thread only.
 *
 * The process's memory is not trusted. A thread list must hold states that point to the
 * interpreter, and live threads of the process. Code objects must have the type that the file
 * defines. Instructions must lie inside their code object.
 */
#ifndef JANK_SYMBOL_INTERPRETERS_INTERP_H
#define JANK_SYMBOL_INTERPRETERS_INTERP_H

#include "bpf/jank_abi.h"
#include "model/block.h"
#include "symbol/elf/elf.h"
#include "symbol/interpreters/interp_memory.h"
#include "symbol/interpreters/interp_ruby.h"
#include "symbol/names/pool.h"
#include "symbol/names/process.h"
#include "symbol/names/symbolize.h"

struct interp_code;

/* Interpreter of one process. */
struct interp {
	uint64_t runtime, code_type; /* addresses */
	struct interp_offsets offsets;
	const struct script_ruby_offsets *ruby; /* NULL: CPython */
	uint64_t lock_begin, lock_end; /* range of the code by which Ruby waits for a Mutex */
	struct interp_code *codes;     /* by address */
	size_t code_bytes;
};

/*
 * Returns the interpreter of the process, or NULL when it has none. Searches once after each
 * reading of the process's maps.
 */
struct interp *interp__of(struct process_env *env, struct process *process);
void interp__free(struct interp *script); /* accepts NULL */
size_t interp__bytes(const struct interp *script);

/*
 * Gets the process's threads that have an interpreter state, at most max. Returns their number; 0
 * when the interpreter is not ready yet.
 */
size_t interp__threads(struct process_env *env, struct process *process, struct interp_thread *ret,
		       size_t max);

/* Returns a value that changes when a thread gets a state. 0: no interpreter. */
uint64_t interp__newest(struct process_env *env, struct process *process);

/*
 * Appends one frame for each entry of stack->script to the stack's frames, in order. An entry
 * without a code object gives a zeroed frame. A frame that its code object no longer describes is
 * named "[python]". 0 or -ENOMEM.
 */
int interp__add_frames(struct process_env *env, struct process *process, struct pool *pool,
		       struct stack *stack);

/* interp_code.c: describes a wait by its frames. Returns false when they can no longer be read. */
bool interp__wait(struct process_env *env, struct process *process,
		  const struct jank_script_frame *frames, uint32_t cnt, struct script_wait *ret);

/*
 * interp_code.c: returns the code object at an address, from memory or from the cache. NULL: it is
 * not known. Owned by `script`.
 */
struct interp_code {
	UT_hash_handle hh;
	uint64_t address;
	uint64_t stamp;	     /* hash of the fields that identify the code object */
	uint64_t checked_ns; /* time of the last check that it is unchanged */
	uint64_t bytecode, units;
	char *function, *file;
	uint8_t *lines;
	size_t lines_size;
	uint32_t first_line;
	uint32_t check; /* jank_script_frame's */
	bool known, app;
};
const struct interp_code *interp_code__get(struct interp *script, const struct interp_memory *mem,
					   uint64_t address);
uint32_t interp_code__line(const struct interp_code *code, uint64_t instr);
void interp_code__forget_all(struct interp *script);

/* Variables that identify an ELF file (library or program) as CPython or Ruby. */

struct interp_elf {
	bool is_ruby;
	uint64_t runtime;   /* address of _PyRuntime or ruby_current_vm_ptr, as linked */
	uint64_t code_type; /* address of PyCode_Type */
	/* value of Py_Version (since 3.11), or ruby_version in the same form */
	uint32_t version;
	/* range of the code by which Ruby waits for a Mutex; 0: not found */
	uint64_t lock_begin, lock_end;
};

/* 0; -ENOENT: some variables are missing; or -errno. */
int interp_elf__find(const struct elf *elf, struct interp_elf *ret);

#endif
