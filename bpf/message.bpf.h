/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Message that a dispatch handles: the events that its wait returned, or the arguments of a mark's
 * function. A fast dispatch only keeps a few words. They are decoded once the thread leaves the CPU
 * or the sampler finds the dispatch late, while the handler runs and the data still exists.
 */
#ifndef JANK_MESSAGE_BPF_H
#define JANK_MESSAGE_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/record.bpf.h"

/* A wait returned. events: epoll's array in user space, or 0. */
static __always_inline void message__begin(struct jank_thread *t, u64 events)
{
	t->handled.events = events;
	t->handled.mark = 0;
	t->handled.taken = 0;
}

/* Sends the message before the dispatch's block or hang, without data that was not read in time. */
static __noinline int message__send(struct jank_thread *t, struct task_struct *task, u64 now)
{
	struct jank_handled *handled = &t->handled;
	struct jank_rec_message *rec = &handled->rec;

	bool is_due = !handled->mark && handled->due_ns && handled->due_ns <= t->start_ns;

	if (!handled->mark && !is_due && !(handled->taken && rec->ready_got))
		return 0;
	if (!handled->taken) {
		rec->ready_got = 0;
		rec->got = 0;
	}
	if (is_due) {
		rec->got = JANK_GOT_DUE;
		rec->value[0] = handled->due_ns;
	}
	record__head(&rec->hdr, JANK_REC_MESSAGE, sizeof(*rec), now, task);
	rec->dispatch_ns = t->start_ns;
	rec->mark = handled->mark;
	rec->nested_cnt = handled->nested_cnt;
	record__comm(rec->comm, task);
	return record__send(rec, sizeof(*rec));
}

#endif
