/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Divides the duration of a block among its samples, to the nanosecond. */
#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "export/report/report.h"
#include "export/values.h"

/*
 * Functions by which the kernel takes a CPU from a thread: the way back to the program after an
 * interrupt, exception or system call (x86-64, arm64; 5.10 to 6.18), and the scheduler's calls.
 */
static const char *const preemption[] = {
	"irqentry_exit*",
	"raw_irqentry_exit*",
	"exit_to_user_mode*",
	"asm_*",
	"sysvec_*",
	"syscall_exit_to_user_mode*",
	"common_interrupt*",
	"exc_*",
	"ret_from_intr*",
	"do_syscall_64*",
	"entry_SYSCALL*",
	"do_notify_resume*",
	"el0*",
	"el1*",
	"do_el0_svc*",
	"__el0*",
	"__el1*",
	"preempt_schedule*",
	"arm64_preempt_sched*",
	"arm64_exit_to_user*",
	"__schedule",
	"schedule",
	"*cond_resched",
	"ret_to_user*",
	"work_pending*",
};

/* Parts of one block, while they are made. */
struct parts {
	struct weight *list; /* room for two of each sample and one of each state */
	size_t cnt;
	uint64_t left[JANK_STATE_CNT]; /* ns of the account that have no stack yet */
};

/* The account is exact. A span is cut to it: it may be longer where a wake-up was missed. */
static void add(struct parts *parts, struct weight weight)
{
	uint64_t *left = &parts->left[weight.state];

	if (weight.ns > *left)
		weight.ns = *left;
	*left -= weight.ns;
	if (weight.ns)
		parts->list[parts->cnt++] = weight;
}

static bool is_preemption(const Jankbpf__Frame *frame)
{
	if (!frame->kernel || !frame->function)
		return false;
	for (size_t i = 0; i < sizeof(preemption) / sizeof(*preemption); i++)
		if (text__matches(preemption[i], frame->function))
			return true;
	return false;
}

/*
 * A thread that is preempted has always the same innermost functions: they would be the largest of
 * a profile, and say nothing of the program. Kernel functions that were interrupted stay.
 */
static size_t first_frame(const Jankbpf__Sample *sample)
{
	size_t first = 0;

	while (first < sample->n_stack && is_preemption(sample->stack[first]))
		first++;
	return first < sample->n_stack ? first : 0;
}

/* Tick number n of cnt. The rounding error is distributed, so that the sum is exact. */
static uint64_t tick_ns(uint64_t running_ns, uint64_t n, uint64_t cnt)
{
	unsigned __int128 ns = running_ns;

	return (uint64_t)(ns * (n + 1) / cnt) - (uint64_t)(ns * n / cnt);
}

static void add_span(struct parts *parts, const Jankbpf__Sample *sample)
{
	uint64_t late = sample->runnable_ns < sample->ns ? sample->runnable_ns : sample->ns;
	uint32_t state = value__state(sample->state);
	size_t first = 0;

	if (state == JANK_STATE_RUNNABLE) {
		late = 0;
		first = first_frame(sample);
	}
	add(parts, (struct weight){ sample, state, 1, sample->ns - late, first });
	add(parts, (struct weight){ sample, JANK_STATE_RUNNABLE, sample->ns == late, late, 0 });
}

int weights__of(const Jankbpf__Block *block, struct weight **ret, size_t *ret_cnt)
{
	uint64_t running = value__in_state(block->time, JANK_STATE_RUNNING), ticks = 0, n = 0;
	struct parts parts = {};

	parts.list = calloc(2 * block->n_samples + JANK_STATE_CNT, sizeof(*parts.list));
	if (!parts.list)
		return -ENOMEM;
	for (uint32_t state = 0; state < JANK_STATE_CNT; state++)
		parts.left[state] = value__in_state(block->time, state);
	for (size_t i = 0; i < block->n_samples; i++)
		ticks += value__is_tick(block->samples[i]);
	for (size_t i = 0; i < block->n_samples; i++) {
		const Jankbpf__Sample *sample = block->samples[i];

		if (value__is_tick(sample))
			add(&parts, (struct weight){ sample, JANK_STATE_RUNNING, 1,
						     tick_ns(running, n++, ticks), 0 });
		else
			add_span(&parts, sample);
	}
	for (uint32_t state = 0; state < JANK_STATE_CNT; state++)
		add(&parts, (struct weight){ NULL, state, 0, parts.left[state], 0 });
	*ret = parts.list;
	*ret_cnt = parts.cnt;
	return 0;
}
