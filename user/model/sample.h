/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Creation, copying and freeing of a block's samples, and of the parts that they share with chain
 * links: stacks, other tasks and wait objects (declared in block.h).
 */
#ifndef JANK_MODEL_SAMPLE_H
#define JANK_MODEL_SAMPLE_H

#include "model/block.h"
#include "model/event.h"
#include <stddef.h>
#include <stdint.h>

/* These free the contents, not the struct itself; for arrays also the array. */
void stack__free(struct stack *stack);
void sample__free(struct sample *sample);
void samples__free(struct sample *samples, size_t cnt);
void tasks__free(struct other_task *tasks, size_t cnt);

/* Copies the addresses into a stack with counts and flags already set. 0 or -ENOMEM. */
int stack__set_addresses(struct stack *stack, const uint64_t *addresses);

/*
 * Replaces the user part by addresses unwound from a stack copy, with the reason why that ended,
 * and its module. 0 or -ENOMEM.
 */
int stack__set_callers(struct stack *stack, const uint64_t *addresses, size_t cnt,
		       enum stack_end end, const char *module);

/* Copies an interpreter's frames, at least one. 0 or -ENOMEM. */
int stack__set_script(struct stack *stack, const struct jank_script_frame *script, size_t cnt);

/*
 * Makes a sample from a record, without its wait object. 0 or -ENOMEM, then nothing is to be freed.
 */
int sample__set(struct sample *ret, const struct stack_event *event);

/* Copies a sample that has no frames yet. 0 or -ENOMEM, then nothing is to be freed. */
int sample__copy(struct sample *ret, const struct sample *from);

/* Converts a task from the wire format; without a cgroup. */
void other_task__set(struct other_task *ret, const struct jank_task *task);

size_t stack__bytes(const struct stack *stack); /* approximate size of the contents */
size_t sample__bytes(const struct sample *sample);

/* Name of a system call by the number that the probes send: static, NULL if unknown. */
const char *sample__syscall_name(int nr);

/* Index of the block's span off the CPU that lasts; sample_cnt: there is none. */
size_t block__open_wait(const struct block *block);

/* Links of the chain of wakers. */

void links__free(struct link *links, size_t cnt); /* frees the array too; accepts NULL with 0 */
void links__cut(struct link **links, size_t *cnt, size_t keep); /* frees the rest; 0: all */
size_t link__bytes(const struct link *link);			/* approximate size in memory */

/* --- Thinning. Drops samples of a dispatch if there are too many, and keeps the proportions. */

#define THIN_MIN                                                                                   \
	16 /* larger counts can always be thinned: first, last and one of each state are fewer */

/*
 * Frees about every second sample and closes the gaps. The samples are in order of arrival. Each
 * state is thinned separately and so keeps its share; of neighbours with equal stands_for the
 * longest span stays. The first, the last and the longest sample of each state always stay. Returns
 * the number left, which is less than cnt if cnt > THIN_MIN.
 */
size_t thin__halve(struct sample *samples, size_t cnt);

/*
 * Makes each tick stand for the same number of samples. Otherwise newer ticks, which were thinned
 * less often, would have too much weight. Returns the number left.
 */
size_t thin__even_ticks(struct sample *samples, size_t cnt);

#endif
