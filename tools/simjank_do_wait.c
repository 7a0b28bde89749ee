/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handlers that wait for a time, for one of our own threads, or for a chain of them. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <unistd.h>

#include "simjank_handler.h"
#include "simjank_slow.h"

WHOLE void do_sleep(uint64_t end_ns)
{
	clock__sleep_until(end_ns);
}

WHOLE void do_lock(struct fixture *stage)
{
	pthread_mutex_lock(&stage->mutex);
}

static WHOLE void do_cond_wait(struct fixture *stage)
{
	while (!stage->signalled)
		pthread_cond_wait(&stage->cond, &stage->cond_mutex);
}

static WHOLE void do_cond_timedwait(struct fixture *stage, uint64_t end_ns)
{
	struct timespec end = clock__timespec(end_ns);

	while (pthread_cond_timedwait(&stage->cond, &stage->cond_mutex, &end) != ETIMEDOUT)
		;
}

static WHOLE void do_rdlock(struct fixture *stage)
{
	pthread_rwlock_rdlock(&stage->rwlock);
}

static WHOLE void do_sem_wait(struct fixture *stage)
{
	while (sem_wait(&stage->sem) && errno == EINTR)
		;
}

static WHOLE void do_join(pthread_t thread)
{
	pthread_join(thread, NULL);
}

WHOLE void do_read_pipe(struct fixture *stage)
{
	char byte;

	while (read(stage->pipe_fds[0], &byte, 1) < 0 && errno == EINTR)
		;
}

static WHOLE void do_read_eventfd(struct fixture *stage)
{
	uint64_t value;

	while (read(stage->event_fd, &value, sizeof(value)) < 0 && errno == EINTR)
		;
}

static WHOLE void do_poll(struct fixture *stage)
{
	struct pollfd pfd = { .fd = stage->pipe_fds[0], .events = POLLIN };

	while (poll(&pfd, 1, -1) < 0 && errno == EINTR)
		;
}

static WHOLE void do_select(uint64_t end_ns)
{
	uint64_t now_ns = clock__mono_ns();
	uint64_t left_ns = end_ns > now_ns ? end_ns - now_ns : 0;
	struct timeval tv = { .tv_sec = (time_t)(left_ns / NS_PER_S),
			      .tv_usec = (suseconds_t)(left_ns % NS_PER_S / NS_PER_US) };

	while (select(0, NULL, NULL, NULL, &tv) < 0 && errno == EINTR)
		;
}

static WHOLE void do_epoll_wait(struct fixture *stage)
{
	struct epoll_event event;

	while (epoll_wait(stage->nested_epfd, &event, 1, -1) < 0 && errno == EINTR)
		;
}

/* --- Activities of a partner while the loop waits for it */

static WHOLE void work_compute(struct fixture *stage, uint64_t end_ns)
{
	clock__burn_until(end_ns);
}

static WHOLE void work_on_signal(struct fixture *stage, uint64_t end_ns)
{
	pthread_mutex_lock(&stage->cond_mutex);
	stage->signalled = false;
	fixture__ask_work(stage, PARTNER_SIGNALLER, end_ns, work_fsync);
	do_cond_wait(stage);
	pthread_mutex_unlock(&stage->cond_mutex);
}

/* --- The handlers */

HANDLER(sleep)
{
	do_sleep(end_ns);
}

HANDLER(mutex)
{
	fixture__ask(stage, PARTNER_HOLDER, end_ns, -1);
	do_lock(stage);
	pthread_mutex_unlock(&stage->mutex);
}

HANDLER(mutex_busy)
{
	fixture__ask_work(stage, PARTNER_HOLDER, end_ns, work_compute);
	do_lock(stage);
	pthread_mutex_unlock(&stage->mutex);
}

HANDLER(mutex_disk)
{
	slow__set(stage, true);
	fixture__ask_work(stage, PARTNER_HOLDER, end_ns, work_fsync);
	do_lock(stage);
	pthread_mutex_unlock(&stage->mutex);
	slow__set(stage, false);
}

HANDLER(chain)
{
	slow__set(stage, true);
	fixture__ask_work(stage, PARTNER_HOLDER, end_ns, work_on_signal);
	do_lock(stage);
	pthread_mutex_unlock(&stage->mutex);
	slow__set(stage, false);
}

/* A CPU on which we are not, if there is one. */
static int cpu__other(void)
{
	int here = sched_getcpu(), other = here;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return here;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set) && cpu != here)
			other = cpu;
	return other;
}

HANDLER(inversion)
{
	stage->lowly_cpu = cpu__other();
	fixture__ask_work(stage, PARTNER_LOWLY, end_ns, work_compute);
	fixture__set_hogs(stage, stage->lowly_cpu, end_ns);
	do_lock(stage);
	pthread_mutex_unlock(&stage->mutex);
}

HANDLER(cond)
{
	pthread_mutex_lock(&stage->cond_mutex);
	stage->signalled = false;
	fixture__ask(stage, PARTNER_SIGNALLER, end_ns, -1);
	do_cond_wait(stage);
	pthread_mutex_unlock(&stage->cond_mutex);
}

HANDLER(cond_timeout)
{
	pthread_mutex_lock(&stage->cond_mutex);
	do_cond_timedwait(stage, end_ns);
	pthread_mutex_unlock(&stage->cond_mutex);
}

HANDLER(rwlock)
{
	fixture__ask(stage, PARTNER_RWHOLDER, end_ns, -1);
	do_rdlock(stage);
	pthread_rwlock_unlock(&stage->rwlock);
}

HANDLER(semaphore)
{
	fixture__ask(stage, PARTNER_POSTER, end_ns, -1);
	do_sem_wait(stage);
}

struct joined {
	uint64_t end_ns;
	pid_t tid;
};

static void *joined__run(void *arg)
{
	struct joined *joined = arg;

	pthread_setname_np(pthread_self(), "joined");
	joined->tid = gettid();
	clock__sleep_until(joined->end_ns);
	return NULL;
}

HANDLER(join)
{
	struct joined joined = { .end_ns = end_ns };
	pthread_t thread;

	if (pthread_create(&thread, NULL, joined__run, &joined))
		return;
	do_join(thread);
	stage->cast.late_tid = joined.tid;
}

HANDLER(pipe)
{
	fixture__ask(stage, PARTNER_WRITER, end_ns, stage->pipe_fds[1]);
	do_read_pipe(stage);
}

HANDLER(eventfd)
{
	fixture__ask(stage, PARTNER_WRITER, end_ns, stage->event_fd);
	do_read_eventfd(stage);
}

HANDLER(poll)
{
	fixture__ask(stage, PARTNER_WRITER, end_ns, stage->pipe_fds[1]);
	do_poll(stage);
	do_read_pipe(stage);
}

HANDLER(select)
{
	do_select(end_ns);
}

HANDLER(epoll)
{
	fixture__ask(stage, PARTNER_WRITER, end_ns, stage->pipe_fds[1]);
	do_epoll_wait(stage);
	do_read_pipe(stage);
}
