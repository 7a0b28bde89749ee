/* SPDX-License-Identifier: GPL-2.0 */
/* Samples are copied before anybody named them: frames and cgroups are the symbolizer's to add, once. */
#include "model/sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/syscall_name.h"

static size_t address_cnt(const struct stack *stack)
{
	return (size_t)stack->kernel_cnt + stack->user_cnt;
}

void stack__free(struct stack *stack)
{
	free(stack->addresses);
	free(stack->frames);
	free(stack->end_module);
	free(stack->script);
}

void sample__free(struct sample *sample)
{
	stack__free(&sample->stack);
	free(sample->waker.cgroup);
	waited__free(sample->waited);
}

void samples__free(struct sample *samples, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		sample__free(&samples[i]);
	free(samples);
}

void tasks__free(struct other_task *tasks, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		free(tasks[i].cgroup);
	free(tasks);
}

int stack__set_addresses(struct stack *stack, const uint64_t *addresses)
{
	size_t cnt = address_cnt(stack);

	stack->addresses = calloc(cnt ? cnt : 1, sizeof(uint64_t));
	if (!stack->addresses)
		return -ENOMEM;
	if (cnt)
		memcpy(stack->addresses, addresses, cnt * sizeof(uint64_t));
	return 0;
}

int stack__set_callers(struct stack *stack, const uint64_t *addresses, size_t cnt,
		       enum stack_end end, const char *module)
{
	uint64_t *all = realloc(stack->addresses, (stack->kernel_cnt + cnt) * sizeof(*all));

	if (!all)
		return -ENOMEM;
	memcpy(all + stack->kernel_cnt, addresses, cnt * sizeof(*all));
	stack->addresses = all;
	stack->user_cnt = cnt;
	stack->flags &= ~(JANK_STACK_CUT_USER | JANK_STACK_NO_USER);
	stack->end = end;
	free(stack->end_module);
	stack->end_module = module ? strdup(module) : NULL;
	return 0;
}

int stack__set_script(struct stack *stack, const struct jank_script_frame *script, size_t cnt)
{
	struct jank_script_frame *copy = malloc(cnt * sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	memcpy(copy, script, cnt * sizeof(*copy));
	free(stack->script);
	stack->script = copy;
	stack->script_cnt = cnt;
	return 0;
}

const char *sample__syscall_name(int nr)
{
	return nr < JANK_SYSCALL_32 ? syscall__name(nr) : syscall__name_32(nr - JANK_SYSCALL_32);
}

void other_task__set(struct other_task *ret, const struct jank_task *task)
{
	*ret = (struct other_task){ .pid = task->tgid, .tid = task->tid, .ns = task->ns };
	memcpy(ret->comm, task->comm, JANK_COMM_SZ);
}

int sample__set(struct sample *ret, const struct stack_event *event)
{
	const struct jank_rec_stack *rec = &event->rec;

	*ret = (struct sample){
		.t_ns = rec->t_ns,
		.ns = rec->ns,
		.runnable_ns = rec->runnable_ns,
		.state = rec->state,
		.syscall = rec->syscall,
		.syscall_name = sample__syscall_name(rec->syscall),
		.open = rec->hdr.flags & JANK_STACK_OPEN,
		.has_waker = rec->hdr.flags & JANK_STACK_WAKER,
		.waker_softirq = rec->hdr.flags & JANK_STACK_WAKER_SOFTIRQ,
		.cpu = rec->hdr.cpu,
		.stands_for = 1,
		.stack = { .kernel_cnt = rec->kernel_cnt,
			   .user_cnt = rec->user_cnt,
			   .flags = rec->hdr.flags,
			   .t_ns = rec->t_ns },
	};
	if (ret->has_waker)
		other_task__set(&ret->waker, &rec->waker);
	return stack__set_addresses(&ret->stack, event->addresses);
}

int sample__copy(struct sample *ret, const struct sample *from)
{
	*ret = *from;
	ret->waker.cgroup = NULL;
	ret->stack.frames = NULL;
	ret->stack.frame_cnt = 0;
	ret->stack.end_module = NULL;
	ret->stack.script = NULL;
	ret->stack.script_cnt = 0;
	ret->waited = waited__copy(from->waited);
	if (from->waited && !ret->waited)
		return -ENOMEM;
	if (!stack__set_addresses(&ret->stack, from->stack.addresses))
		return 0;
	waited__free(ret->waited);
	return -ENOMEM;
}

size_t stack__bytes(const struct stack *stack)
{
	return address_cnt(stack) * sizeof(*stack->addresses) +
	       stack->frame_cnt * sizeof(*stack->frames) +
	       stack->script_cnt * sizeof(*stack->script);
}

size_t sample__bytes(const struct sample *sample)
{
	return sizeof(*sample) + stack__bytes(&sample->stack) + waited__bytes(sample->waited);
}
