/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the holder of a mutex from its futex word, if the library stores it. glibc stores the tid
 * beside a word that is 1 or 2; musl and all priority-inheritance mutexes store it in the word. The
 * value may be any number, so it counts only if it is a thread of that process.
 */
#include "model/chain/chain.h"

#include <string.h>

#include "base/text.h"
#include "bpf/futex.h"
#include "model/chain/wait_reason.h"
#include "model/sample.h"

#define WAKE_SLACK_NS 1000000 /* the wake-up may be slightly before or after its record */
#define TID_MAX	      (1u << 22)
#define TCP_SYN_SENT  2 /* net/tcp_states.h */

struct wait wait__of_sample(const struct sample *sample, uint32_t tgid, uint32_t tid)
{
	uint64_t blocked = sample->ns > sample->runnable_ns ? sample->ns - sample->runnable_ns : 0;

	return (struct wait){
		.tgid = tgid,
		.tid = tid,
		.state = sample->state,
		.begin = sample->t_ns,
		.end = sample->t_ns + blocked < sample->t_ns ? UINT64_MAX : sample->t_ns + blocked,
		.syscall = sample->syscall,
		.open = sample->open,
		.has_waker = sample->has_waker,
		.softirq = sample->waker_softirq,
		.waker = sample->waker,
		.waited = sample->waited ? &sample->waited->raw : NULL,
	};
}

struct wait wait__of_record(const struct other_record *record)
{
	const struct jank_rec_stack *rec = &record->event.rec;
	uint64_t blocked = rec->ns > rec->runnable_ns ? rec->ns - rec->runnable_ns : 0;
	struct wait wait = {
		.tgid = rec->hdr.tgid,
		.tid = rec->hdr.tid,
		.state = rec->state,
		.begin = rec->t_ns,
		.end = rec->t_ns + blocked < rec->t_ns ? UINT64_MAX : rec->t_ns + blocked,
		.syscall = rec->syscall,
		.open = rec->hdr.flags & JANK_STACK_OPEN,
		.has_waker = rec->hdr.flags & JANK_STACK_WAKER,
		.softirq = rec->hdr.flags & JANK_STACK_WAKER_SOFTIRQ,
		.waited = record->waited,
	};

	if (wait.softirq && wait_object__timed_out(record->waited, blocked))
		wait.has_waker = wait.softirq = false; /* a bystander of the timer interrupt */
	if (wait.has_waker)
		other_task__set(&wait.waker, &rec->waker);
	return wait;
}

/* By its name: the record has no flag for it, and the thread has no process of its own. */
static bool is_kernel_thread(const struct other_task *task)
{
	static const char *const prefixes[] = { "kworker/",   "jbd2/",	   "swapper/",
						"ksoftirqd/", "kswapd",	   "irq/",
						"migration/", "kcompactd", "rcu",
						"xfs",	      "btrfs-",	   "dmcrypt_write",
						"nfs",	      "kdmflush" };

	if (!task->tid)
		return true;
	for (size_t i = 0; task->pid == task->tid && i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(task->comm, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

bool wait__may_have_one(const struct wait *wait)
{
	if (wait->state < JANK_STATE_FIRST_BLOCKED || wait->state >= JANK_STATE_CNT ||
	    wait->begin >= wait->end)
		return false;
	switch (wait->state) {
	case JANK_STATE_DISK:
	case JANK_STATE_SLEEP:
	case JANK_STATE_STOPPED:
	case JANK_STATE_PAGE_FAULT:
		/*
		 * For these states the waker is responsible only if it is a program's thread: a
		 * lock, a signal, a pager.
		 */
		return wait->has_waker && !wait->softirq && !is_kernel_thread(&wait->waker);
	}
	return wait->has_waker || wait->waited;
}

static uint32_t futex_cmd(const struct jank_rec_waited *waited)
{
	return waited->args[1] & FUTEX_CMD_MASK;
}

/*
 * The value at the place of the owner's tid; 0: not a mutex, or the library stores the owner
 * elsewhere.
 */
static uint32_t owner_of(const struct jank_rec_waited *waited)
{
	bool args = waited->hdr.flags & JANK_WAITED_ARGS;
	uint32_t word = waited->futex_word;

	if (!(waited->hdr.flags & JANK_WAITED_FUTEX))
		return 0;
	if (word == 1 || word == 2)
		return waited->owner;
	if (word & FUTEX_WAITERS)
		return word & FUTEX_TID_MASK;
	if (args && (futex_cmd(waited) == FUTEX_LOCK_PI || futex_cmd(waited) == FUTEX_LOCK_PI2))
		return word & FUTEX_TID_MASK;
	return 0;
}

/*
 * glibc uses exactly this futex call for mutexes, and for nothing else: sleep only if the word is
 * 2.
 */
static bool is_glibc_lock(const struct jank_rec_waited *waited)
{
	return waited->hdr.flags & JANK_WAITED_ARGS && futex_cmd(waited) == FUTEX_WAIT &&
	       (uint32_t)waited->args[2] == 2;
}

/*
 * The owner from the mutex's word, if it is a thread of the process. For a wait that still lasts,
 * the holder may have no record yet, because it sleeps itself.
 */
static bool find_owner(const struct thread_history *history, const struct wait *wait,
		       struct other_task *ret)
{
	uint32_t tid = wait->waited ? owner_of(wait->waited) : 0;

	if (!tid || tid == wait->tid)
		return false;
	if (wait->has_waker && wait->waker.tid == tid) {
		*ret = wait->waker;
		return true;
	}
	if (thread_history__task(history, tid, ret))
		return ret->pid == wait->tgid;
	if (!wait->open || tid >= TID_MAX || !is_glibc_lock(wait->waited))
		return false;
	*ret = (struct other_task){ .pid = wait->tgid, .tid = tid };
	return true;
}

/*
 * True if the waker has just released the lock: only that wakes a thread that sleeps for such a
 * lock.
 */
static bool waker_unlocked(const struct wait *wait)
{
	return wait->has_waker && !wait->softirq && wait->waker.pid == wait->tgid && wait->waited &&
	       is_glibc_lock(wait->waited);
}

/*
 * True if the waker itself waited for the same mutex during this wait. Then the mutex was passed
 * on, and the waker had it last.
 */
static bool waker_had_it_after(const struct thread_history *history, const struct wait *wait)
{
	const struct other_record *record = thread_history__newest(history, wait->waker.tid);

	for (; record; record = record->older) {
		const struct jank_rec_stack *rec = &record->event.rec;
		const struct jank_rec_waited *waited = record->waited;

		if (rec->hdr.tgid == wait->waker.pid && rec->t_ns < wait->end &&
		    rec->t_ns + rec->ns > wait->begin && rec->state == JANK_STATE_FUTEX && waited &&
		    waited->hdr.flags & wait->waited->hdr.flags & JANK_WAITED_ARGS &&
		    waited->args[0] == wait->waited->args[0])
			return true;
	}
	return false;
}

static bool sends(int32_t syscall)
{
	return syscall__sends(sample__syscall_name(syscall));
}

static bool receives(int32_t syscall)
{
	static const char *const names[] = { "recvfrom", "recvmsg", "recvmmsg",
					     "read",	 "readv",   "recv" };
	const char *name = sample__syscall_name(syscall);

	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

const struct other_record *waker_owner__wake(const struct thread_history *history,
					     const struct waker_owner *owner,
					     const struct wait *wait)
{
	const struct other_record *record = thread_history__newest(history, owner->task.tid),
				  *ret = NULL;

	for (; record; record = record->older) {
		const struct jank_rec_stack *rec = &record->event.rec;

		if (!(rec->hdr.flags & JANK_STACK_WAKES) || rec->waker.tid != wait->tid ||
		    rec->hdr.tgid != owner->task.pid || rec->t_ns < wait->begin ||
		    rec->t_ns > wait->end + WAKE_SLACK_NS)
			continue;
		if (!ret || rec->t_ns > ret->event.rec.t_ns)
			ret = record;
	}
	return ret;
}

/*
 * Loopback data is delivered in a soft interrupt on top of the sender. Other data is delivered on
 * top of any running thread. The system call decides: the waker sends, or it receives and so makes
 * room for a sender.
 */
static bool is_bystander(const struct thread_history *history, const struct waker_owner *owner,
			 const struct wait *wait)
{
	const struct other_record *wake = waker_owner__wake(history, owner, wait);
	int32_t syscall = wake ? wake->event.rec.syscall : -1;

	return !sends(syscall) && !(receives(syscall) && sends(wait->syscall));
}

/* No process answers a connect: the peer's kernel does, or a local timer. */
static bool is_connecting(const struct wait *wait)
{
	return wait->waited && wait->waited->hdr.flags & JANK_WAITED_SOCKET &&
	       wait->waited->state == TCP_SYN_SENT;
}

bool waker_owner__find(const struct thread_history *history, const struct wait *wait,
		       struct waker_owner *ret)
{
	struct other_task owner;
	bool owned;

	*ret = (struct waker_owner){ .role = LINK_WOKE, .task = wait->waker, .woke = true };
	if (!wait__may_have_one(wait))
		return false;
	owned = find_owner(history, wait, &owner);
	if (owned && (!wait->has_waker || wait->waker.tid == owner.tid ||
		      !waker_had_it_after(history, wait)))
		*ret = (struct waker_owner){
			.task = owner, .woke = wait->has_waker && wait->waker.tid == owner.tid
		};
	if (owned || waker_unlocked(wait))
		ret->role = LINK_HELD;
	else if (!wait->has_waker ||
		 (wait->softirq && (is_connecting(wait) || is_bystander(history, ret, wait))))
		return false;
	return ret->task.tid != wait->tid;
}

/*
 * --- Retried waits. A slice is continued if it was not woken but timed out, and the next wait for
 * the same object began at once.
 */

#define GAP_NS 1000000 /* limit between two slices: the thread checks if it may continue */

static bool was_refused(const struct sample *sample)
{
	struct activity activity = activity__of_sample(sample);

	return sample->state == JANK_STATE_FUTEX && !sample->open && !sample->has_waker &&
	       activity__timed_out(&activity);
}

bool retry_waits__goes_on(const struct sample *samples, size_t cnt, size_t i)
{
	const struct sample *this = &samples[i], *next = &samples[i + 1];
	uint64_t end = this->t_ns + this->ns;

	return i + 1 < cnt && next->state == JANK_STATE_FUTEX && was_refused(this) &&
	       next->t_ns >= end && next->t_ns - end < GAP_NS && this->waited && next->waited &&
	       wait_object__is_same_futex(&this->waited->raw, &next->waited->raw);
}

struct wait retry_waits__wait(const struct sample *samples, size_t i, uint32_t tgid, uint32_t tid)
{
	struct wait wait = wait__of_sample(&samples[i], tgid, tid);

	for (size_t cnt = i + 1; i > 0 && retry_waits__goes_on(samples, cnt, i - 1); i--)
		wait.begin = samples[i - 1].t_ns;
	return wait;
}
