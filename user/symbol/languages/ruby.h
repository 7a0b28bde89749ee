/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ruby 3.1 to 3.4, a language with frames in the heap. A state in the thread list of the main
 * Ractor must point to the virtual machine; the code of a frame must be an iseq that contains its
 * pc. Methods have names if the file has a symbol for the function that runs them (rb_vm_exec:
 * exported up to 3.2), which their frames replace.
 */
#ifndef JANK_SYMBOL_LANGUAGES_RUBY_H
#define JANK_SYMBOL_LANGUAGES_RUBY_H

#include "symbol/languages/frame_places.h"
#include "symbol/languages/heap.h"

#define RUBY_SEEN 64

/* Offsets of a version, in bytes. */
struct ruby_offsets {
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
const struct ruby_offsets *ruby_offsets__of(uint32_t version);

/* What a file tells (language->open); with the bias in the state of a process. */
struct ruby {
	const struct ruby_offsets *offsets;
	uint64_t vm_ptr;	       /* address of ruby_current_vm_ptr */
	uint64_t lock_begin, lock_end; /* range of the code by which Ruby waits for a Mutex */
	bool is_named;		       /* stacks show the function that runs methods */
	/* of a process: names by place, and iseqs that were checked lately */
	struct frame_places places;
	struct ruby_seen {
		uint64_t iseq, stamp, checked_ns;
	} seen[RUBY_SEEN];
};

/* --- ruby_code.c: names of code */

/*
 * Reads a String's text, cut to fit, with a NUL. 0; -EINVAL: it is none; or -errno of the read.
 */
int ruby__text(const struct ruby_offsets *offsets, const struct heap_memory *mem, uint64_t string,
	       char *ret, size_t cap);

/* As heap->name. */
void ruby__name(void *state, const struct heap_memory *mem, struct pool *pool,
		const struct jank_script_frame *from, struct frame *ret);

#endif
