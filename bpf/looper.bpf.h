/* SPDX-License-Identifier: GPL-2.0 */
/*
 * android::Looper (system/core/libutils/Looper.cpp): its turns, and the due time of its first
 * message.
 */
#ifndef JANK_LOOPER_BPF_H
#define JANK_LOOPER_BPF_H

#include "bpf/loop_wait.bpf.h"

/*
 * Layout from Looper.h of Android 9 to 15, 64 bits. mMessageEnvelopes is a VectorImpl at 64, after
 * RefBase, two small members and a mutex of 40 bytes; its own members follow a vtable pointer. The
 * size of a MessageEnvelope verifies the layout; its first member is the time.
 */
#define LOOPER_MESSAGES	  72
#define LOOPER_MESSAGE_SZ 24

struct looper_messages {
	u64 storage, cnt;
	u32 flags, pad;
	u64 item_sz;
};

/*
 * Returns the CLOCK_MONOTONIC time at which the first message in the queue is due; 0: none, or not
 * readable.
 */
static __always_inline u64 looper__due_ns(u64 looper)
{
	struct looper_messages messages;
	u64 due_ns;

	if (bpf_probe_read_user(&messages, sizeof(messages), (void *)(looper + LOOPER_MESSAGES)) ||
	    !messages.cnt || messages.item_sz != LOOPER_MESSAGE_SZ ||
	    bpf_probe_read_user(&due_ns, sizeof(due_ns), (void *)messages.storage))
		return 0;
	return due_ns;
}

/*
 * Entry of android::Looper::pollOnce: the loop's wait begins. It may return without epoll_wait
 * (responses pending; newer Loopers with a backlog). A dispatch is therefore opened at once, and
 * discarded if its epoll_wait follows. A message that arrives during the wait wakes the thread: the
 * time until it runs is the start delay.
 */
static __always_inline void looper__enter(struct task_struct *task, u64 looper, u64 sp)
{
	struct jank_thread *t = loop_wait__thread(task, JANK_LOOP_ANDROID_LOOPER);
	u64 now;

	if (!t)
		return;
	if (t->key && t->key != looper && sp < t->sp)
		return; /* a handler's own Looper */
	now = bpf_ktime_get_ns();
	thread__end_trial(t);
	t->loop = JANK_LOOP_ANDROID_LOOPER;
	if (startup__is(t))
		startup__end(t, now);
	else if (t->start_ns)
		thread__close(t, task, now, JANK_END_WAIT);
	if (t->key != looper) {
		t->key = looper;
		t->fd = -1;
		t->sp = sp;
	} else if (sp > t->sp) {
		t->sp = sp;
	}
	t->ready_cnt = 0;
	message__begin(t, 0);
	t->handled.due_ns = looper__due_ns(looper);
	t->looper_entry = 1;
	thread__open(t, task, now);
}

#endif
