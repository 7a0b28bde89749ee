/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * First turns: how long a process took from its exec or fork to the first wait in its loop, by
 * process and kind of loop. That of the main thread takes precedence.
 */
#ifndef JANK_MODEL_FIRST_TURNS_H
#define JANK_MODEL_FIRST_TURNS_H

#include "bpf/jank_abi.h"
#include <stdint.h>

struct first_turns;

struct first_turns *first_turns__new(void);	   /* NULL: out of memory */
void first_turns__free(struct first_turns *turns); /* accepts NULL */

/* 0 or -ENOMEM. Of more than 4096 the oldest is dropped. */
int first_turns__add(struct first_turns *turns, const struct jank_rec_started *rec);

/* In ns; 0: not known. */
uint64_t first_turns__of(const struct first_turns *turns, uint32_t pid, uint32_t loop);

#endif
