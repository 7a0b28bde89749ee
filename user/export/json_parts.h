/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of a block's JSON, each with its key; nothing where nothing is known, but for arrays that are always there. */
#ifndef JANK_EXPORT_JSON_PARTS_H
#define JANK_EXPORT_JSON_PARTS_H

#include "base/jsonw.h"
#include "model/block.h"

/* json_frame.c: a frame as a value; `key` with a stack's frames. */
void json__add_frame(struct jsonw *w, const struct frame *frame);
void json__add_stack(struct jsonw *w, const char *key, const struct stack *stack);

/* json_cause.c: `cause` */
void json__add_cause(struct jsonw *w, const struct cause *cause);

/* json_machine.c: `frames`, where some were missed; `cpu`, `scheduling`, `faults` */
void json__add_frames(struct jsonw *w, const struct missed_frames *frames);
void json__add_machine(struct jsonw *w, const struct block *block);

/*
 * json_wait.c: the members pid, tid and comm of a task; `preemptors`; `waited_for`, where something of it is known. A
 * system call's name may be NULL.
 */
void json__add_task(struct jsonw *w, const struct other_task *task);
void json__add_preemptors(struct jsonw *w, const struct other_task *tasks, size_t cnt);
void json__add_waited(struct jsonw *w, const struct waited *waited, const char *syscall_name);

/* json_chain.c: `chain` and `chain_sample`, where there is one */
void json__add_chain(struct jsonw *w, const struct block *block);

/* json_sample.c: `samples` and `stack_quality` */
void json__add_samples(struct jsonw *w, const struct block *block);

/* json.c: `time`, of nanoseconds by state */
void json__add_time(struct jsonw *w, const uint64_t *state_ns);

#endif
