/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interpreters whose frames the probes read: CPython, 3.11 to 3.13, and Ruby, 3.1 to 3.4, whose
 * frames have no names. A process is one when it maps a file that is called python or libpython,
 * ruby or libruby, and has the interpreter's variables. The symbolizer's thread.
 *
 * What is read of the process is believed as far as it fits together: a list of threads whose
 * states name the interpreter and living threads of the process, code objects of the type that the
 * file has for them, instructions inside.
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

/* Of a process. */
struct interp {
	uint64_t runtime, code_type; /* addresses */
	struct interp_offsets offsets;
	const struct script_ruby_offsets *ruby; /* NULL: it is CPython */
	uint64_t lock_begin, lock_end;		/* the code by which Ruby waits for a Mutex */
	struct interp_code *codes;		/* by address */
	size_t code_bytes;
};

/*
 * What the process has become known as, or NULL: none. Looked for once after each reading of its
 * maps.
 */
struct interp *interp__of(struct process_env *env, struct process *process);
void interp__free(struct interp *script); /* accepts NULL */
size_t interp__bytes(const struct interp *script);

/*
 * Its threads that have a state, at most max. Their number; 0 where the interpreter is not ready
 * yet.
 */
size_t interp__threads(struct process_env *env, struct process *process, struct interp_thread *ret,
		       size_t max);

/* Differs after a thread got a state from what it was before; 0: no interpreter. */
uint64_t interp__newest(struct process_env *env, struct process *process);

/*
 * Appends a frame for each of stack->script to the stack's frames, in their order; one without a
 * code object is left zeroed. What the code object no longer tells is "[python]". 0 or -ENOMEM.
 */
int interp__add_frames(struct process_env *env, struct process *process, struct pool *pool,
		       struct stack *stack);

/* interp_code.c: what frames of a wait say of it. False: they can't be read any more. */
bool interp__wait(struct process_env *env, struct process *process,
		  const struct jank_script_frame *frames, uint32_t cnt, struct script_wait *ret);

/*
 * interp_code.c: the code object at an address, read now or before; NULL: it can't be told. The
 * script's.
 */
struct interp_code {
	UT_hash_handle hh;
	uint64_t address;
	uint64_t stamp;	     /* of what it was made of */
	uint64_t checked_ns; /* that it is the same still */
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

/* The variables by which an ELF file is CPython or Ruby, whether a library or a program. */

struct interp_elf {
	bool is_ruby;
	uint64_t runtime;   /* of _PyRuntime, or of ruby_current_vm_ptr, as linked */
	uint64_t code_type; /* of PyCode_Type */
	uint32_t
		version; /* what Py_Version holds: since 3.11; or ruby_version's text in the same form */
	uint64_t lock_begin,
		lock_end; /* of the code by which Ruby waits for a Mutex; 0: not found */
};

/* 0; -ENOENT: it has not all of them; or -errno. */
int interp_elf__find(const struct elf *elf, struct interp_elf *ret);

#endif
