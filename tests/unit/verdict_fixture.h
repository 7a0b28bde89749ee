/* SPDX-License-Identifier: GPL-2.0 */
/* Blocks with named stacks, as the symbolizer would make them, for the tests of the verdict. */
#ifndef JANK_VERDICT_FIXTURE_H
#define JANK_VERDICT_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/block.h"
#include "verdict/blame.h"

#define MS     1000000ull
#define OWN    "/usr/bin/program"
#define LIBC   "/usr/lib/x86_64-linux-gnu/libc.so.6"
#define KERNEL "vmlinux"

static inline void verdict__cpus_used(struct block *block, double pct)
{
	block->live->cpu->has_total_pct = true;
	block->live->cpu->total_pct = pct;
}

/* A dispatch of 200 ms of process 10's main thread, with no time in any state. */
static inline struct block *verdict__block(void)
{
	struct block *block = block__new();

	block->duration_ns = 200 * MS;
	block->pid = block->tid = 10;
	block->process->name = strdup("program");
	block->thread = strdup("program");
	block->host.cpus = 4;
	return block;
}

/*
 * Adds a frame at the outer end. "k:f" is the kernel's, "c:f" libc's, "m:f" of module libx.so, "f"
 * the program's own, "?" one of its functions without a name, "?0x340" another one.
 */
static inline void verdict__frame(struct stack *stack, const char *text)
{
	struct frame frame = { .function = text, .module = OWN, .app = true };

	if (text[1] == ':') {
		frame.function = text + 2;
		frame.kernel = text[0] == 'k';
		frame.app = text[0] == 'm';
		frame.module = frame.kernel ? KERNEL : frame.app ? "/opt/libx.so.1.2" : LIBC;
	} else if (*text == '?') {
		frame.function = NULL;
		frame.offset = text[1] ? strtoul(text + 1, NULL, 16) : 0x120;
	}
	stack->frames = realloc(stack->frames, (stack->frame_cnt + 1) * sizeof(frame));
	stack->frames[stack->frame_cnt++] = frame;
	stack->kernel_cnt += frame.kernel;
	stack->user_cnt += !frame.kernel;
}

/* Leaf first, ends with NULL. */
static inline void verdict__stack(struct stack *stack, const char *const *texts)
{
	for (; *texts; texts++)
		verdict__frame(stack, *texts);
}

#define STACK(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* A span off the CPU, which adds to the block's account; ns 0: a tick, which does not. */
static inline struct sample *verdict__sample(struct block *block, uint32_t state, uint64_t ns,
					     const char *syscall, const char *const *texts)
{
	struct sample *sample;

	block->samples = realloc(block->samples, (block->sample_cnt + 1) * sizeof(*sample));
	sample = &block->samples[block->sample_cnt++];
	*sample =
		(struct sample){ .state = state, .ns = ns, .syscall = -1, .syscall_name = syscall };
	block->state_ns[state] += ns;
	verdict__stack(&sample->stack, texts);
	return sample;
}

/* A block with one span off the CPU (ns 0: one tick), as verdict__sample makes it. */
static inline struct block *verdict__off_cpu(uint32_t state, uint64_t ns, const char *syscall,
					     const char *const *texts)
{
	struct block *block = verdict__block();

	verdict__sample(block, state, ns, syscall, texts);
	return block;
}

static inline void verdict__ticks(struct block *block, size_t cnt, const char *const *texts)
{
	while (cnt--)
		verdict__sample(block, JANK_STATE_RUNNING, 0, NULL, texts);
}

/* The object of the last sample's wait; flags: JANK_WAITED_*. */
static inline struct wait_object *verdict__waited(struct block *block, unsigned flags)
{
	struct jank_rec_waited raw = { .hdr = { .flags = flags } };

	return block->samples[block->sample_cnt - 1].waited = wait_object__new(&raw);
}

static inline struct other_task verdict__task(uint32_t pid, uint32_t tid, const char *comm)
{
	struct other_task task = { .pid = pid, .tid = tid };

	snprintf(task.comm, sizeof(task.comm), "%s", comm);
	return task;
}

/* The thread that ended the last sample's wait. */
static inline void verdict__woken_by(struct block *block, struct other_task task)
{
	struct sample *sample = &block->samples[block->sample_cnt - 1];

	sample->has_waker = true;
	sample->waker = task;
}

static inline void verdict__preemptor(struct block *block, uint32_t pid, const char *comm,
				      uint64_t ns, uint16_t prio)
{
	struct other_task task = verdict__task(pid, pid, comm);

	task.ns = ns;
	task.prio = prio;
	block->preemptors = realloc(block->preemptors, (block->preemptor_cnt + 1) * sizeof(task));
	block->preemptors[block->preemptor_cnt++] = task;
}

/* The next link of the chain, for the last sample: all of its time in one state. */
static inline struct link *verdict__link(struct block *block, enum link_role role,
					 struct other_task task, uint32_t state,
					 const char *syscall, const char *const *texts)
{
	struct link *link;

	block->chain = realloc(block->chain, (block->chain_cnt + 1) * sizeof(*link));
	link = &block->chain[block->chain_cnt++];
	*link = (struct link){ .role = role,
			       .task = task,
			       .state = state,
			       .syscall = -1,
			       .syscall_name = syscall,
			       .ns = block->samples[block->sample_cnt - 1].ns };
	if (state < JANK_STATE_CNT)
		link->part_ns[state] = link->ns;
	verdict__stack(&link->stack, texts);
	block->chain_sample = block->sample_cnt - 1;
	return link;
}

#endif
