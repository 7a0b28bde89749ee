/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life of a block's samples, and of what they share with the links of its chain: stacks and
 * other tasks.
 */
#ifndef JANK_MODEL_SAMPLE_H
#define JANK_MODEL_SAMPLE_H

#include "model/block.h"
#include "model/event.h"
#include <stddef.h>
#include <stdint.h>

/* Each frees what it holds, not itself; arrays whole. */
void stack__free(struct stack *stack);
void sample__free(struct sample *sample);
void samples__free(struct sample *samples, size_t cnt);
void tasks__free(struct other_task *tasks, size_t cnt);

/* A copy of the addresses, for a stack whose counts and flags are set. 0 or -ENOMEM. */
int stack__set_addresses(struct stack *stack, const uint64_t *addresses);

/*
 * Puts these in the place of the user part: found in a copy of it, which ended so, in this module's
 * code. 0 or -ENOMEM.
 */
int stack__set_callers(struct stack *stack, const uint64_t *addresses, size_t cnt,
		       enum stack_end end, const char *module);

/* A copy of an interpreter's frames, at least one. 0 or -ENOMEM. */
int stack__set_script(struct stack *stack, const struct jank_script_frame *script, size_t cnt);

/* The sample of a record, without what it waited for. 0 or -ENOMEM, then nothing is to be freed. */
int sample__set(struct sample *ret, const struct stack_event *event);

/* A copy of one that has no frames yet. 0 or -ENOMEM, then nothing is to be freed. */
int sample__copy(struct sample *ret, const struct sample *from);

/* Of wire and of owned memory; the new one has no cgroup. */
void other_task__set(struct other_task *ret, const struct jank_task *task);

size_t stack__bytes(const struct stack *stack); /* of what it holds, about */
size_t sample__bytes(const struct sample *sample);

/* Of a system call's number as the probes have it: static, NULL for an unknown one. */
const char *sample__syscall_name(int nr);

/* The life of a link of the chain of wakers. */

void links__free(struct link *links, size_t cnt); /* the array, too; accepts NULL with 0 */
void links__cut(struct link **links, size_t *cnt, size_t keep); /* frees those behind; all: NULL */
size_t link__bytes(const struct link *link);			/* of memory, about */

/*
 * Leaves samples of a dispatch out where there are too many, so that what is left still tells the
 * same.
 */

#define THIN_MIN                                                                                   \
	16 /* more than that can always be thinned: first, last, and one of each state are less */

/*
 * Frees about every second of samples in the order in which they came, and closes the gaps. Those
 * of each state are thinned among themselves, so that each keeps its part; of neighbours that stand
 * for as many the longest span stays. The first, the last and each state's longest always stay.
 * Returns how many are left: with more than THIN_MIN less than cnt.
 */
size_t thin__halve(struct sample *samples, size_t cnt);

/*
 * Afterwards each tick of the sampler stands for as many: newer ones, which were thinned less
 * often, would outweigh.
 */
size_t thin__even_ticks(struct sample *samples, size_t cnt);

#endif
