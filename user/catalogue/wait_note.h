/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a thread waits: the words around its stack pointer that may be addresses of code. Made by
 * the intake thread from the probes' copy of the stack, used by the sink thread (loop_owner.h).
 */
#ifndef JANK_CATALOGUE_WAIT_NOTE_H
#define JANK_CATALOGUE_WAIT_NOTE_H

#include "base/code/call_site.h"
#include "bpf/jank_abi.h"
#include "symbol/names/symbolize.h"
#include <stddef.h>
#include <stdint.h>

struct wait_note {
	struct jank_rec_wait rec;
	struct jank_rec_copy *copy; /* of the stack, with its bytes behind it, owned; NULL: none */
	struct jank_rec_script
		*script;   /* its interpreter's frames, with these behind it, owned; NULL: none */
	char *exe;	   /* the process's program, or NULL */
	uint64_t arg0;	   /* of a question: the wait's first argument */
	uint16_t *offsets; /* of each word, from the stack pointer; NULL: not known */
	size_t cnt;
	uint64_t words[]; /* what the stack holds that may be an address of code, from its top on */
};

/*
 * exe, copy: may be NULL; without a copy there are no words. The copy becomes the note's; NULL: out
 * of memory, it is freed. `script` is set by the caller.
 */
struct wait_note *wait_note__new(const struct jank_rec_wait *rec, const char *exe,
				 struct jank_rec_copy *copy);

/* The address of code that a word of a stack may be; 0: none. */
uint64_t wait_note__address(uint64_t word);

/* The same of a thread that waits now, by its process's memory (apart.h). */
struct wait_note *wait_note__of_memory(const struct jank_rec_wait *rec, const char *exe);

void wait_note__free(struct wait_note *note); /* accepts NULL */
size_t wait_note__bytes(const struct wait_note *note);

/*
 * Copies and interpreters' frames that came from the ring, until their WAIT records do: those
 * follow at once, but for other CPUs' records.
 */
#define WAIT_COPY_MAX 32
struct wait_copies {
	struct jank_rec
		*recs[WAIT_COPY_MAX]; /* NULL: free; the next one takes the oldest's place */
	unsigned next;
};

/*
 * Takes the record of that length into its memory, if it is one of a wait. 1: it is; 0: another;
 * -ENOMEM or -EBADMSG.
 */
int wait_copies__put(struct wait_copies *copies, const void *data, size_t len);

/* The wait's own, which is the caller's to free, or NULL. */
struct jank_rec_copy *wait_copies__take(struct wait_copies *copies,
					const struct jank_rec_wait *rec);
struct jank_rec_script *wait_copies__take_script(struct wait_copies *copies,
						 const struct jank_rec_wait *rec);
void wait_copies__free(struct wait_copies *copies);

/* Which of the words on a stack are return addresses: those right behind a call. */

/*
 * Whose code: of a process that the symbolizer knows, by the files that it maps. Code of no file is
 * not known.
 */
struct code_of {
	struct symbolizer *sym;
	uint32_t pid;
};

/*
 * The function that the call before the address calls; through the procedure linkage table to what
 * it leads to, by the process's memory. 0: by a register or a pointer, or it can't be read.
 */
uint64_t return_addresses__callee(const struct code_of *of, uint64_t address);

/* Drops those that are not. Returns how many are left, in order. */
size_t return_addresses__keep(const struct code_of *of, uint64_t *addresses, size_t cnt);

#endif
