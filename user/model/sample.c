/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies are made before symbolization: the symbolizer adds frames and cgroups only once, later. */
#include "model/sample.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "bpf/futex.h"

/* --- Wait objects */

bool wait_object__is_lock(const struct jank_rec_waited *raw)
{
	uint32_t op = raw->args[1] & FUTEX_CMD_MASK;

	if (!(raw->hdr.flags & JANK_WAITED_ARGS))
		return false;
	return op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2 ||
	       (op == FUTEX_WAIT && (uint32_t)raw->args[2] == FUTEX_CONTENDED);
}

#define CONDVAR_SZ 48 /* glibc's */

bool wait_object__is_same_futex(const struct jank_rec_waited *a, const struct jank_rec_waited *b)
{
	uint64_t x = a->args[0], y = b->args[0];

	return a->hdr.flags & b->hdr.flags & JANK_WAITED_ARGS &&
	       (x < y ? y - x : x - y) < CONDVAR_SZ;
}

struct wait_object *wait_object__new(const struct jank_rec_waited *raw)
{
	struct wait_object *waited = calloc(1, sizeof(*waited));

	if (waited)
		waited->raw = *raw;
	return waited;
}

void wait_object__free(struct wait_object *waited)
{
	if (!waited)
		return;
	free(waited->target);
	free(waited->lock);
	free(waited->path);
	free(waited->device);
	free(waited->peer);
	free(waited->peer_task.cgroup);
	free(waited->owner.cgroup);
	free(waited);
}

struct wait_object *wait_object__copy(const struct wait_object *from)
{
	struct wait_object *to = from ? wait_object__new(&from->raw) : NULL;

	if (!to)
		return NULL;
	to->peer_task = from->peer_task;
	to->owner = from->owner;
	to->peer_task.cgroup = to->owner.cgroup = NULL;
	if (!text__copy(&to->lock, from->lock) && !text__copy(&to->target, from->target) &&
	    !text__copy(&to->path, from->path) && !text__copy(&to->device, from->device) &&
	    !text__copy(&to->peer, from->peer) &&
	    !text__copy(&to->peer_task.cgroup, from->peer_task.cgroup) &&
	    !text__copy(&to->owner.cgroup, from->owner.cgroup))
		return to;
	wait_object__free(to);
	return NULL;
}

static size_t size_of(const char *str)
{
	return str ? strlen(str) + 1 : 0;
}

size_t wait_object__bytes(const struct wait_object *waited)
{
	if (!waited)
		return 0;
	return sizeof(*waited) + size_of(waited->lock) + size_of(waited->target) +
	       size_of(waited->path) + size_of(waited->device) + size_of(waited->peer);
}

/* --- samples */

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
	wait_object__free(sample->waited);
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
	ret->waited = wait_object__copy(from->waited);
	if (from->waited && !ret->waited)
		return -ENOMEM;
	if (!stack__set_addresses(&ret->stack, from->stack.addresses))
		return 0;
	wait_object__free(ret->waited);
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
	return sizeof(*sample) + stack__bytes(&sample->stack) + wait_object__bytes(sample->waited);
}

/* Frees everything of the link except names of system calls and strings in frames. */
static void free_one(struct link *link)
{
	free(link->task.cgroup);
	free(link->process);
	wait_object__free(link->waited);
	stack__free(&link->stack);
	stack__free(&link->wake_stack);
	tasks__free(link->preemptors, link->preemptor_cnt);
}

size_t block__open_wait(const struct block *block)
{
	size_t i = 0;

	while (i < block->sample_cnt &&
	       (!block->samples[i].open || block->samples[i].state < JANK_STATE_FIRST_BLOCKED))
		i++;
	return i;
}

void links__free(struct link *links, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		free_one(&links[i]);
	free(links);
}

void links__cut(struct link **links, size_t *cnt, size_t keep)
{
	while (*cnt > keep)
		free_one(&(*links)[--*cnt]);
	if (*cnt)
		return;
	free(*links);
	*links = NULL;
}

size_t link__bytes(const struct link *link)
{
	return sizeof(*link) + size_of(link->process) + wait_object__bytes(link->waited) +
	       stack__bytes(&link->stack) + stack__bytes(&link->wake_stack) +
	       link->preemptor_cnt * sizeof(*link->preemptors);
}

/*
 * --- Thinning. Each sample has a count of samples that it represents. Neighbours form groups of
 * about equal total count, so that earlier thinned and newer samples get the same density. The
 * longest sample of each group stays.
 */

struct group {
	size_t best; /* index + 1 of the sample that stays; 0: empty */
	uint64_t stands_for;
	uint64_t size;	      /* the group is complete at this stands_for */
	uint64_t members_max; /* largest stands_for of a member */
	size_t cnt;
};

static void thin_free_one(struct sample *sample)
{
	sample__free(sample);
	memset(sample, 0, sizeof(*sample));
}

/* Adds a sample to the group and frees all members but the longest. */
static void take(struct sample *samples, struct group *group, size_t at)
{
	struct sample *best = group->best ? &samples[group->best - 1] : NULL;

	group->stands_for += samples[at].stands_for;
	if (!best) {
		group->best = at + 1;
	} else if (samples[at].ns > best->ns) {
		thin_free_one(best);
		group->best = at + 1;
	} else {
		thin_free_one(&samples[at]);
	}
	samples[group->best - 1].stands_for = group->stands_for;
	if (group->stands_for >= group->size)
		group->best = group->stands_for = 0;
}

/* Freed samples have stands_for 0. */
static size_t close_gaps(struct sample *samples, size_t cnt)
{
	size_t kept = 0;

	for (size_t i = 0; i < cnt; i++)
		if (samples[i].stands_for)
			samples[kept++] = samples[i];
	return kept;
}

static struct group *group_of(struct group *groups, const struct sample *sample)
{
	return &groups[sample->state < JANK_STATE_CNT ? sample->state : JANK_STATE_OTHER];
}

static void survey(const struct sample *samples, size_t cnt, struct group *groups)
{
	for (size_t i = 0; i < cnt; i++) {
		struct group *group = group_of(groups, &samples[i]);

		group->cnt++;
		group->size += samples[i].stands_for;
		if (samples[i].stands_for > group->members_max)
			group->members_max = samples[i].stands_for;
	}
}

size_t thin__halve(struct sample *samples, size_t cnt)
{
	struct group groups[JANK_STATE_CNT] = { 0 };

	if (cnt < 3)
		return cnt;
	survey(samples + 1, cnt - 2, groups);
	for (size_t i = 0; i < JANK_STATE_CNT; i++) {
		size_t half = groups[i].cnt > 1 ? groups[i].cnt / 2 : 1;

		groups[i].size /= half; /* rounded down: up would leave a third of two times two */
	}
	for (size_t i = 1; i < cnt - 1; i++)
		take(samples, group_of(groups, &samples[i]), i);
	return close_gaps(samples, cnt);
}

size_t thin__even_ticks(struct sample *samples, size_t cnt)
{
	struct group groups[JANK_STATE_CNT] = { 0 }, *ticks = &groups[JANK_STATE_RUNNING];

	survey(samples, cnt, groups);
	ticks->size = ticks->members_max;
	if (ticks->size <= 1)
		return cnt;
	for (size_t i = 0; i < cnt; i++)
		if (samples[i].state == JANK_STATE_RUNNING)
			take(samples, ticks, i);
	return close_gaps(samples, cnt);
}
