/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a thread waits, taken down at once: its stack is about to change. Made by the intake thread, used by
 * the sink thread (whose.h).
 */
#ifndef JANK_WAIT_NOTE_H
#define JANK_WAIT_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/jank_abi.h"

struct wait_note {
	struct jank_rec_wait rec;
	char *exe;	   /* the process's program, or NULL */
	uint64_t arg0;	   /* of a question: the wait's first argument */
	uint16_t *offsets; /* of each word, from the stack pointer; NULL: not known */
	size_t cnt;
	uint64_t words[]; /* what the stack holds that may be an address of code, from its top on */
};

/* exe may be NULL. NULL: out of memory. A stack that cannot be read has no words. */
struct wait_note *wait_note__new(const struct jank_rec_wait *rec, const char *exe);

/* The same of a thread that sleeps at a place that is asked for. NULL also when it has gone on, by /proc. */
struct wait_note *wait_note__of_sleeper(const struct jank_rec_wait *rec, const char *exe);
void wait_note__free(struct wait_note *note); /* accepts NULL */
size_t wait_note__bytes(const struct wait_note *note);

#endif
