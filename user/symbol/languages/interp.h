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
#ifndef JANK_SYMBOL_LANGUAGES_INTERP_H
#define JANK_SYMBOL_LANGUAGES_INTERP_H

#include "bpf/jank_abi.h"
#include "model/block.h"
#include "symbol/elf/elf.h"
#include "symbol/names/cache.h"
#include "symbol/names/process.h"
#include "symbol/names/symbolize.h"

/*
 * --- offsets of CPython's structures, in bytes, by version. For 3.11 and 3.12 from their headers
 * (64-bit); 3.13 gives its offsets itself, at the begin of _PyRuntime.
 */

struct interp_offsets {
	uint32_t version;	    /* like Py_Version: 0x030b02f0 */
	uint32_t interpreters_head; /* in _PyRuntime */
	uint32_t interp_next, threads_head;
	struct {
		/* frame: of the current frame, or of a structure that holds it at cframe */
		uint32_t next, interp, native_id, frame;
		uint32_t cframe;
		bool direct;
	} tstate;
	struct {
		uint32_t code, previous, instr, mark_at;
		uint8_t mark;
		bool shim; /* see struct jank_script_where */
	} frame;
	struct {
		uint32_t units, filename, name, qualname, linetable, first_line, bytecode;
	} code; /* units: the number of 2-byte units of the bytecode */
	struct {
		/* the text begins at ascii_sz or compact_sz */
		uint32_t length, hash, state, ascii_sz, compact_sz;
	} unicode;
	struct {
		uint32_t size, data;
	} bytes;
};

/* Bytes of _PyRuntime that interp_offsets__read needs. */
#define SCRIPT_OFFSETS_SZ (73 * 8)

/* Gets the offsets of a version with known offsets. Returns false for other versions. */
bool interp_offsets__of(uint32_t version, struct interp_offsets *ret);

/* Returns true when the version gives its offsets itself. */
bool interp_offsets__told(uint32_t version);

/*
 * Parses the offsets that a process gives. They are not trusted. Returns false when frames cannot
 * be read by them.
 */
bool interp_offsets__read(const uint8_t told[SCRIPT_OFFSETS_SZ], uint32_t version,
			  struct interp_offsets *ret);

/* Returns the offset in a code object from which the probes read. */
uint32_t interp_offsets__code_at(const struct interp_offsets *offsets);

/* --- the process that is read: objects in its memory, at any address and length */

struct interp_memory {
	const char *proc;
	uint32_t pid;
};

/* Like memory__read, but may cross pages. */
int interp_memory__read(const struct interp_memory *mem, uint64_t addr, void *buf, size_t len);

int interp_memory__word(const struct interp_memory *mem, uint64_t addr, uint64_t *ret);

/*
 * Gets a str in UTF-8; the caller frees it. Cut after some thousand characters, or at a NUL. 0 or
 * -errno.
 */
int interp_memory__text(const struct interp_memory *mem, const struct interp_offsets *offsets,
			uint64_t addr, char **ret);

/* Gets a bytes object of at most max bytes; the caller frees it. 0 or -errno. */
int interp_memory__bytes(const struct interp_memory *mem, const struct interp_offsets *offsets,
			 uint64_t addr, size_t max, uint8_t **ret, size_t *ret_size);

/*
 * --- Ruby's threads, by version. The process's memory is not trusted: a state in the thread list
 * of the main Ractor must point to the virtual machine, and its thread must be a live thread of the
 * process.
 */

/* In bytes. */
struct script_ruby_offsets {
	uint32_t version;     /* 0x03010000 */
	uint16_t main_ractor; /* in rb_vm_t */
	uint16_t threads;     /* offset of the list head in rb_ractor_t */
	struct {
		/* native: a value that no two live threads share */
		uint16_t vm, ec, native, root_fiber;
	} thread;
	uint16_t tid;	/* offset of the thread id, in rb_thread_t or in what `native` points to */
	bool is_native; /* it is in what `native` points to */
	uint8_t frame_sz;
	uint8_t parent; /* in rb_iseq_constant_body */
	uint8_t text;	/* offset of the text of a short String */
};

/* Returns the offsets of a version. NULL: version or machine not supported. */
const struct script_ruby_offsets *script_ruby__offsets(uint32_t version);

/* Code of a method, or of a block in a method. */
struct script_ruby_code {
	uint64_t parent;  /* for a block: the code that contains it, else 0 */
	bool is_internal; /* Ruby's own: "<internal:thread_sync>" */
};
/* 0 or -errno. */
int script_ruby__code(const struct script_ruby_offsets *offsets, const struct interp_memory *mem,
		      uint64_t iseq, struct script_ruby_code *ret);

/* A thread's state. */
struct script_ruby_thread {
	uint64_t address, native;
	uint64_t root_fiber; /* or its execution context, when the thread has no other fiber yet */
	uint32_t tid;	     /* thread id in the process's PID namespace */
};

/*
 * Calls fn for each thread (at most some thousand) until fn returns false. vm_ptr: the address of
 * ruby_current_vm_ptr.
 */
void script_ruby__each(const struct script_ruby_offsets *offsets, const struct interp_memory *mem,
		       uint64_t vm_ptr,
		       bool (*fn)(void *ctx, const struct script_ruby_thread *thread), void *ctx);

/* Returns a value that changes when a thread is added or ends; 0: no threads. */
uint64_t script_ruby__newest(const struct script_ruby_offsets *offsets,
			     const struct interp_memory *mem, uint64_t vm_ptr);

/* --- interpreter of one process */

struct interp_code;

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

/*
 * interp_threads.c: describes a wait by its frames. Returns false when they can no longer be read.
 */
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

/*
 * Reads the location table of a code object, since CPython 3.11 (Objects/locations.md): the line of
 * the instruction at `unit` (in units of 2 bytes from the begin of the bytecode). 0: the
 * instruction has no line, or the table is not valid.
 */
uint32_t interp_line__at(const uint8_t *table, size_t size, uint32_t first_line, uint64_t unit);

/* --- variables that identify an ELF file (library or program) as CPython or Ruby. */

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
