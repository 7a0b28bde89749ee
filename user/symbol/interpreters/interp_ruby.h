/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader of Ruby's threads, by version. The process's memory is not trusted: a state in the thread
 * list of the main Ractor must point to the virtual machine, and its thread must be a live thread
 * of the process.
 */
#ifndef JANK_SYMBOL_INTERPRETERS_INTERP_RUBY_H
#define JANK_SYMBOL_INTERPRETERS_INTERP_RUBY_H

#include "symbol/interpreters/interp_memory.h"

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

#endif
