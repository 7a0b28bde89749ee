/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ruby's threads, by version. What is read of the process is believed as far as it fits together:
 * states in the list of the main Ractor's threads that name the virtual machine, and living threads
 * of the process.
 */
#ifndef JANK_SYMBOL_INTERPRETERS_INTERP_RUBY_H
#define JANK_SYMBOL_INTERPRETERS_INTERP_RUBY_H

#include "symbol/interpreters/interp_memory.h"

/* In bytes. */
struct script_ruby_offsets {
	uint32_t version;     /* 0x03010000 */
	uint16_t main_ractor; /* in rb_vm_t */
	uint16_t threads;     /* the head of the list in rb_ractor_t */
	struct {
		uint16_t vm, ec, native,
			root_fiber; /* native: what no two threads share while both live */
	} thread;
	uint16_t tid;	/* the thread's number, in rb_thread_t or in: */
	bool is_native; /* what `native` points to */
	uint8_t frame_sz;
	uint8_t parent; /* in rb_iseq_constant_body */
	uint8_t text;	/* where a short String begins in its object */
};

/* NULL: not of this version, or not on this machine. */
const struct script_ruby_offsets *script_ruby__offsets(uint32_t version);

/* A method's code, or that of a block in it. */
struct script_ruby_code {
	uint64_t parent;  /* a block's: what it stands in, else 0 */
	bool is_internal; /* Ruby's own: "<internal:thread_sync>" */
};
/* 0 or -errno. */
int script_ruby__code(const struct script_ruby_offsets *offsets, const struct interp_memory *mem,
		      uint64_t iseq, struct script_ruby_code *ret);

/* A thread's state. */
struct script_ruby_thread {
	uint64_t address, native;
	uint64_t root_fiber; /* or its execution context, where no other fiber was made so far */
	uint32_t tid;	     /* as the thread itself sees it */
};

/*
 * Calls fn for each thread, at most some thousand, until it returns false. vm_ptr: the address of
 * ruby_current_vm_ptr.
 */
void script_ruby__each(const struct script_ruby_offsets *offsets, const struct interp_memory *mem,
		       uint64_t vm_ptr,
		       bool (*fn)(void *ctx, const struct script_ruby_thread *thread), void *ctx);

/* Differs after a thread was added or ended; 0: there is none. */
uint64_t script_ruby__newest(const struct script_ruby_offsets *offsets,
			     const struct interp_memory *mem, uint64_t vm_ptr);

#endif
