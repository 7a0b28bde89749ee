/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread's wait with the stack words that may be code addresses. The intake thread makes it from
 * the probes' stack copy; the sink thread uses it (loop_owner.h).
 */
#ifndef JANK_CATALOGUE_WAIT_NOTE_H
#define JANK_CATALOGUE_WAIT_NOTE_H

#include "base/code/insn.h"
#include "bpf/jank_abi.h"
#include "symbol/names/symbolize.h"
#include <stddef.h>
#include <stdint.h>

struct wait_note {
	struct jank_rec_wait rec;
	struct jank_rec_copy *copy; /* the stack copy with its bytes after it, owned; NULL: none */
	struct jank_rec_script *script; /* interpreter's frames, data after it, owned; NULL: none */
	char *exe;			/* the process's program, or NULL */
	uint64_t arg0;			/* first argument of the wait's system call */
	uint16_t *offsets;		/* of each word, from the stack pointer; NULL: not known */
	size_t cnt;
	uint64_t words[]; /* stack words that may be code addresses, from the top of the stack */
};

/*
 * Makes a note. exe, copy: may be NULL; without a copy there are no words. Takes ownership of the
 * copy. NULL: out of memory; the copy is freed. The caller sets `script`.
 */
struct wait_note *wait_note__new(const struct jank_rec_wait *rec, const char *exe,
				 struct jank_rec_copy *copy);

/* The code address that a stack word may be; 0: none. */
uint64_t wait_note__address(uint64_t word);

/* Like wait_note__new, for a thread that waits now: reads its process's memory (apart.h). */
struct wait_note *wait_note__of_memory(const struct jank_rec_wait *rec, const char *exe);

void wait_note__free(struct wait_note *note); /* accepts NULL */
size_t wait_note__bytes(const struct wait_note *note);

/*
 * Stack copies and interpreter frames from the ring, held until their WAIT record arrives. That
 * record follows directly, except for other CPUs' records in between.
 */
#define WAIT_COPY_MAX 32
struct wait_copies {
	struct jank_rec *recs[WAIT_COPY_MAX]; /* NULL: free; the next record replaces the oldest */
	unsigned next;
};

/*
 * Copies the record of that length if it belongs to a wait. 1: it does; 0: another record; -ENOMEM
 * or -EBADMSG.
 */
int wait_copies__put(struct wait_copies *copies, const void *data, size_t len);

/* Take the data of this wait, which the caller frees, or NULL. */
struct jank_rec_copy *wait_copies__take(struct wait_copies *copies,
					const struct jank_rec_wait *rec);
struct jank_rec_script *wait_copies__take_script(struct wait_copies *copies,
						 const struct jank_rec_wait *rec);
void wait_copies__free(struct wait_copies *copies);

/* --- return addresses among stack words: those directly after a call */

/*
 * The code of a process that the symbolizer knows, in the files that it maps. Code outside files is
 * not known.
 */
struct code_of {
	struct symbolizer *sym;
	uint32_t pid;
};

/*
 * The target of the call before the address. A target in the procedure linkage table is resolved
 * through the process's memory. 0: the call is through a register or pointer, or is not readable.
 */
uint64_t return_addresses__callee(const struct code_of *of, uint64_t address);

/* Removes words that are not return addresses. Returns the number left, in order. */
size_t return_addresses__keep(const struct code_of *of, uint64_t *addresses, size_t cnt);

#endif
