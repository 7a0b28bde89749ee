/* SPDX-License-Identifier: GPL-2.0 */
/* The life of a block's samples, and of what they share with the links of its chain: stacks and other tasks. */
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

/* Puts these in the place of the user part: found in a copy of it, which ended so, in this module's code. 0 or -ENOMEM. */
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

#endif
