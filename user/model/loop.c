/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread has at most one dispatch whose evidence is kept: evidence of a newer one means that the older
 * was not slow, and is dropped. Records of one thread arrive in order: the ring has one queue.
 */
#include "model/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/syscall_name.h"

#define THREAD_MAX    65536
#define SAMPLE_MAX    2048 /* of one dispatch; 20 s at 99 Hz */
#define PREEMPTOR_MAX 64

struct thread {
	uint32_t tid;
	uint64_t dispatch_ns; /* whose evidence this is */
	uint64_t hang_ns;     /* the dispatch that was reported as a hang */
	struct sample *samples;
	size_t sample_cnt, sample_cap;
	uint64_t capped_cnt;
	struct other_task *preemptors;
	size_t preemptor_cnt;
	struct message *message;
	UT_hash_handle hh;
};

struct loops {
	struct losses *losses;
	struct thread *threads;
	struct hists *ended;
};

struct loops *loops__new(struct losses *losses)
{
	struct loops *loops = calloc(1, sizeof(*loops));

	if (!loops)
		return NULL;
	loops->losses = losses;
	loops->ended = hists__new();
	if (!loops->ended) {
		free(loops);
		return NULL;
	}
	return loops;
}

static void free_samples(struct sample *samples, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		free(samples[i].stack.addresses);
		free(samples[i].stack.frames);
	}
	free(samples);
}

static void drop_evidence(struct thread *thread)
{
	free_samples(thread->samples, thread->sample_cnt);
	free(thread->preemptors);
	message__free(thread->message);
	thread->samples = NULL;
	thread->preemptors = NULL;
	thread->message = NULL;
	thread->sample_cnt = thread->sample_cap = thread->preemptor_cnt = 0;
	thread->capped_cnt = 0;
}

static void drop_thread(struct loops *loops, struct thread *thread)
{
	HASH_DEL(loops->threads, thread);
	drop_evidence(thread);
	free(thread);
}

void loops__free(struct loops *loops)
{
	struct thread *thread, *next;

	if (!loops)
		return;
	HASH_ITER (hh, loops->threads, thread, next)
		drop_thread(loops, thread);
	hists__free(loops->ended);
	free(loops);
}

int loops__name_ended(struct loops *loops, uint32_t pid, const char *name)
{
	return hists__name(loops->ended, pid, name);
}

const struct hists *loops__ended(const struct loops *loops)
{
	return loops->ended;
}

/*
 * The thread's entry with evidence of this dispatch only. NULL: out of memory, too many, or a dispatch
 * that was over before another began (a look from outside came late).
 */
static struct thread *thread_of(struct loops *loops, uint32_t tid, uint64_t dispatch_ns)
{
	struct thread *thread;

	HASH_FIND(hh, loops->threads, &tid, sizeof(tid), thread);
	if (!thread) {
		if (HASH_COUNT(loops->threads) >= THREAD_MAX) {
			losses__add(loops->losses, LOSS_THREADS_CAPPED, 1);
			return NULL;
		}
		thread = calloc(1, sizeof(*thread));
		if (!thread) {
			losses__add(loops->losses, LOSS_NO_MEMORY, 1);
			return NULL;
		}
		thread->tid = tid;
		HASH_ADD(hh, loops->threads, tid, sizeof(tid), thread);
	}
	if (dispatch_ns < thread->dispatch_ns)
		return NULL;
	if (thread->dispatch_ns != dispatch_ns) {
		drop_evidence(thread);
		thread->dispatch_ns = dispatch_ns;
	}
	return thread;
}

static void set_task(struct other_task *ret, const struct jank_task *task)
{
	ret->pid = task->tgid;
	ret->tid = task->tid;
	ret->ns = task->ns;
	memcpy(ret->comm, task->comm, JANK_COMM_SZ);
	ret->comm[JANK_COMM_SZ] = '\0';
}

static int add_preemptor(struct loops *loops, struct thread *thread, const struct jank_task *task)
{
	for (size_t i = 0; i < thread->preemptor_cnt; i++)
		if (thread->preemptors[i].tid == task->tid) {
			thread->preemptors[i].ns += task->ns;
			return 0;
		}
	if (thread->preemptor_cnt == PREEMPTOR_MAX) {
		losses__add(loops->losses, LOSS_PREEMPTORS_CAPPED, 1);
		return 0;
	}
	if (!thread->preemptors) {
		thread->preemptors = calloc(PREEMPTOR_MAX, sizeof(*thread->preemptors));
		if (!thread->preemptors)
			return -ENOMEM;
	}
	set_task(&thread->preemptors[thread->preemptor_cnt++], task);
	return 0;
}

/* A number as the probes have it. */
static const char *syscall_name(int nr)
{
	return nr < JANK_SYSCALL_32 ? syscall__name(nr) : syscall__name_32(nr - JANK_SYSCALL_32);
}

static void set_sample(struct sample *sample, const struct jank_rec_stack *rec)
{
	sample->t_ns = rec->t_ns;
	sample->ns = rec->ns;
	sample->runnable_ns = rec->runnable_ns;
	sample->state = rec->state;
	sample->syscall = rec->syscall;
	sample->syscall_name = syscall_name(rec->syscall);
	sample->open = rec->hdr.flags & JANK_STACK_OPEN;
	sample->has_waker = rec->hdr.flags & JANK_STACK_WAKER;
	sample->waker_softirq = rec->hdr.flags & JANK_STACK_WAKER_SOFTIRQ;
	if (sample->has_waker)
		set_task(&sample->waker, &rec->waker);
	sample->stack.kernel_cnt = rec->kernel_cnt;
	sample->stack.user_cnt = rec->user_cnt;
	sample->stack.flags = rec->hdr.flags;
}

static int add_sample(struct thread *thread, const struct stack_event *event)
{
	size_t cnt = event->rec.kernel_cnt + event->rec.user_cnt;
	struct sample *sample;

	if (thread->sample_cnt == thread->sample_cap) {
		size_t cap = thread->sample_cap ? thread->sample_cap * 2 : 16;
		struct sample *samples = realloc(thread->samples, cap * sizeof(*samples));

		if (!samples)
			return -ENOMEM;
		thread->samples = samples;
		thread->sample_cap = cap;
	}
	sample = &thread->samples[thread->sample_cnt];
	memset(sample, 0, sizeof(*sample));
	set_sample(sample, &event->rec);
	sample->stack.addresses = calloc(cnt ? cnt : 1, sizeof(uint64_t));
	if (!sample->stack.addresses)
		return -ENOMEM;
	memcpy(sample->stack.addresses, event->addresses, cnt * sizeof(uint64_t));
	thread->sample_cnt++;
	return 0;
}

/* A span that was sent while open, for a hang, comes again when it ends: the whole replaces the part. */
static void drop_open_part(struct thread *thread, uint64_t t_ns)
{
	struct sample *last;

	if (!thread->sample_cnt)
		return;
	last = &thread->samples[thread->sample_cnt - 1];
	if (!last->open || last->t_ns != t_ns)
		return;
	free(last->stack.addresses);
	thread->sample_cnt--;
}

static int on_stack(struct loops *loops, const struct stack_event *event)
{
	struct thread *thread = thread_of(loops, event->rec.hdr.tid, event->rec.dispatch_ns);
	int res = 0;

	if (!thread)
		return 0;
	drop_open_part(thread, event->rec.t_ns);
	for (unsigned i = 0; i < event->rec.slice_cnt && !res; i++)
		res = add_preemptor(loops, thread, &event->slices[i]);
	if (res)
		return res;
	if (thread->sample_cnt >= SAMPLE_MAX) {
		thread->capped_cnt++;
		losses__add(loops->losses, LOSS_SAMPLES_CAPPED, 1);
		return 0;
	}
	return add_sample(thread, event);
}

/* For a hang and, where it took until now to read them, again for its end: the later one knows more. */
static int on_message(struct loops *loops, const struct jank_rec_message *rec)
{
	struct thread *thread = thread_of(loops, rec->hdr.tid, rec->dispatch_ns);

	if (!thread)
		return 0;
	message__free(thread->message);
	thread->message = message__new(rec);
	return thread->message ? 0 : -ENOMEM;
}

static int by_time(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

static int worst_first(const void *a, const void *b)
{
	const struct other_task *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* The thread keeps its evidence after a hang: the block at the end needs it too. */
static int copy_evidence(struct dispatch *dispatch, const struct thread *thread)
{
	dispatch->samples =
		calloc(thread->sample_cnt ? thread->sample_cnt : 1, sizeof(struct sample));
	dispatch->preemptors = calloc(thread->preemptor_cnt ? thread->preemptor_cnt : 1,
				      sizeof(struct other_task));
	if (!dispatch->samples || !dispatch->preemptors)
		return -ENOMEM;
	for (size_t i = 0; i < thread->sample_cnt; i++) {
		struct sample *to = &dispatch->samples[i];
		size_t cnt;

		*to = thread->samples[i];
		cnt = to->stack.kernel_cnt + to->stack.user_cnt;
		to->stack.addresses = calloc(cnt ? cnt : 1, sizeof(uint64_t));
		if (!to->stack.addresses)
			return -ENOMEM;
		memcpy(to->stack.addresses, thread->samples[i].stack.addresses,
		       cnt * sizeof(uint64_t));
		dispatch->sample_cnt++;
	}
	if (thread->preemptor_cnt)
		memcpy(dispatch->preemptors, thread->preemptors,
		       thread->preemptor_cnt * sizeof(struct other_task));
	dispatch->preemptor_cnt = thread->preemptor_cnt;
	if (!thread->message)
		return 0;
	dispatch->message = message__new(&thread->message->raw);
	return dispatch->message ? 0 : -ENOMEM;
}

static void move_evidence(struct dispatch *dispatch, struct thread *thread)
{
	dispatch->samples = thread->samples;
	dispatch->sample_cnt = thread->sample_cnt;
	dispatch->preemptors = thread->preemptors;
	dispatch->preemptor_cnt = thread->preemptor_cnt;
	dispatch->message = thread->message;
	thread->samples = NULL;
	thread->preemptors = NULL;
	thread->message = NULL;
	thread->sample_cnt = thread->preemptor_cnt = 0;
	drop_evidence(thread);
}

static int on_block(struct loops *loops, const struct event *event, struct dispatch **ret)
{
	const struct jank_rec_block *rec = &event->block;
	struct thread *thread = thread_of(loops, rec->hdr.tid, rec->start_ns);
	struct dispatch *dispatch = calloc(1, sizeof(*dispatch));
	int res = 0;

	if (!dispatch)
		return -ENOMEM;
	dispatch->rec = *rec;
	dispatch->hang = event->kind == JANK_REC_HANG;
	if (thread) {
		dispatch->capped_cnt = thread->capped_cnt;
		dispatch->hang_reported = thread->hang_ns == rec->start_ns;
		if (dispatch->hang) {
			thread->hang_ns = rec->start_ns;
			res = copy_evidence(dispatch, thread);
		} else {
			move_evidence(dispatch, thread);
		}
	}
	if (res) {
		dispatch__free(dispatch);
		return res;
	}
	if (dispatch->sample_cnt)
		qsort(dispatch->samples, dispatch->sample_cnt, sizeof(struct sample), by_time);
	if (dispatch->preemptor_cnt)
		qsort(dispatch->preemptors, dispatch->preemptor_cnt, sizeof(struct other_task),
		      worst_first);
	*ret = dispatch;
	return 0;
}

static int on_thread_end(struct loops *loops, const struct event *event)
{
	uint32_t tid = event->hdr.tid;
	struct thread *thread;

	HASH_FIND(hh, loops->threads, &tid, sizeof(tid), thread);
	if (thread)
		drop_thread(loops, thread);
	return hists__add(loops->ended, &event->thread);
}

int loops__event(struct loops *loops, const struct event *event, struct dispatch **ret)
{
	*ret = NULL;
	switch (event->kind) {
	case JANK_REC_STACK:
		return on_stack(loops, &event->stack);
	case JANK_REC_MESSAGE:
		return on_message(loops, &event->message);
	case JANK_REC_BLOCK:
	case JANK_REC_HANG:
		return on_block(loops, event, ret);
	case JANK_REC_THREAD:
		return on_thread_end(loops, event);
	}
	return 0;
}

void dispatch__free(struct dispatch *dispatch)
{
	if (!dispatch)
		return;
	free_samples(dispatch->samples, dispatch->sample_cnt);
	free(dispatch->preemptors);
	message__free(dispatch->message);
	free(dispatch);
}
