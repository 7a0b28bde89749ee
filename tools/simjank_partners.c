/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The partner threads: each ends a wait of the loop's thread, late, on request. */
#include "simjank_partners.h"

#include <errno.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "simjank_clock.h"
#include "simjank_scenario.h"
#include "simjank_slow.h"

#define PAGE_SZ 4096u

static void sem__wait(sem_t *sem)
{
	while (sem_wait(sem) && errno == EINTR)
		;
}

static void partner__work(struct fixture *stage, const struct partner *partner)
{
	if (partner->work)
		partner->work(stage, partner->end_ns);
	else
		clock__sleep_until(partner->end_ns);
}

static void holder__act(struct fixture *stage, struct partner *partner)
{
	pthread_mutex_lock(&stage->mutex);
	sem_post(&partner->ready);
	partner__work(stage, partner);
	pthread_mutex_unlock(&stage->mutex);
}

static void lowly__set_policy(int policy)
{
	const struct sched_param param = { 0 };

	if (sched_setscheduler(0, policy, &param))
		errno = 0; /* without privilege it stays where it is */
}

/*
 * It takes the lowest priority after it has the mutex: earlier, the requesting thread would wait
 * for it.
 */
static void lowly__act(struct fixture *stage, struct partner *partner)
{
	cpu_set_t set;

	pthread_mutex_lock(&stage->mutex);
	sem_post(&partner->ready);
	CPU_ZERO(&set);
	CPU_SET(stage->lowly_cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	lowly__set_policy(SCHED_IDLE);
	partner__work(stage, partner);
	pthread_mutex_unlock(&stage->mutex);
	lowly__set_policy(SCHED_OTHER);
}

static void rwholder__act(struct fixture *stage, struct partner *partner)
{
	pthread_rwlock_wrlock(&stage->rwlock);
	sem_post(&partner->ready);
	partner__work(stage, partner);
	pthread_rwlock_unlock(&stage->rwlock);
}

static void signaller__act(struct fixture *stage, struct partner *partner)
{
	partner__work(stage, partner);
	pthread_mutex_lock(&stage->cond_mutex);
	stage->signalled = true;
	pthread_cond_signal(&stage->cond);
	pthread_mutex_unlock(&stage->cond_mutex);
}

static void poster__act(struct fixture *stage, struct partner *partner)
{
	partner__work(stage, partner);
	sem_post(&stage->sem);
}

/* Of the writer and of the answerer: both write one byte; an eventfd takes 8. */
static void writer__act(struct fixture *stage, struct partner *partner)
{
	static const uint64_t one = 1;
	size_t size = partner->fd == stage->event_fd ? sizeof(one) : 1;

	partner__work(stage, partner);
	while (write(partner->fd, &one, size) < 0 && errno == EINTR)
		;
}

static void pager__act(struct fixture *stage, struct partner *partner)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)stage->missing, PAGE_SZ } };
	struct uffd_msg msg;

	while (read(partner->fd, &msg, sizeof(msg)) < 0 && errno == EINTR)
		;
	partner__work(stage, partner);
	ioctl(partner->fd, UFFDIO_ZEROPAGE, &zero);
}

/* The same message as a reply: bit 15 of its flags is set. */
static void resolver__act(struct fixture *stage, struct partner *partner)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	unsigned char message[512];
	ssize_t size =
		recvfrom(partner->fd, message, sizeof(message), 0, (struct sockaddr *)&from, &len);

	partner__work(stage, partner);
	message[2] |= 0x80;
	if (size > 0 &&
	    sendto(partner->fd, message, (size_t)size, 0, (struct sockaddr *)&from, len) < 0)
		errno = 0;
}

/*
 * Keeps the storage busy, so that a thread waits longer for it than it computes. If a read takes 25
 * µs, half of the time of a major fault is CPU.
 */
static void reader__act(struct fixture *stage, struct partner *partner)
{
	while (clock__mono_ns() < partner->end_ns)
		if (pread(stage->reader_fd, stage->reader_buffer, STAGE_DISK_SZ, 0) < 0)
			return;
}

static const struct {
	const char *name;
	unsigned need;
	void (*act)(struct fixture *stage, struct partner *partner);
} partner_table[PARTNER_CNT] = {
	[PARTNER_HOLDER] = { "holder", NEED_HOLDER, holder__act },
	[PARTNER_LOWLY] = { "lowly", NEED_LOWLY, lowly__act },
	[PARTNER_SIGNALLER] = { "signaller", NEED_SIGNALLER, signaller__act },
	[PARTNER_WRITER] = { "writer", NEED_WRITER, writer__act },
	[PARTNER_ANSWERER] = { "answerer", NEED_ANSWERER, writer__act },
	[PARTNER_PAGER] = { "pager", NEED_PAGER, pager__act },
	[PARTNER_READER] = { "reader", NEED_READER, reader__act },
	[PARTNER_RWHOLDER] = { "rwholder", NEED_RWHOLDER, rwholder__act },
	[PARTNER_POSTER] = { "poster", NEED_POSTER, poster__act },
	[PARTNER_RESOLVER] = { "resolver", NEED_RESOLVER, resolver__act },
};

static int partner__enter(struct fixture *stage, int which)
{
	if (stage->needs & NEED_SLOW && (which == PARTNER_HOLDER || which == PARTNER_SIGNALLER))
		return slow__enter(stage);
	return 0;
}

static void *partner__run(void *arg)
{
	struct partner *partner = arg;
	struct fixture *stage = partner->stage;

	pthread_setname_np(pthread_self(), partner->name);
	actors__add(&stage->cast, partner->name, getpid(), gettid());
	partner->err = partner__enter(stage, (int)(partner - stage->partners));
	sem_post(&partner->ready);
	for (;;) {
		sem__wait(&partner->go);
		partner->act(stage, partner);
	}
	return NULL;
}

static int partner__open(struct fixture *stage, int which)
{
	struct partner *partner = &stage->partners[which];
	pthread_t thread;
	int err;

	partner->name = partner_table[which].name;
	partner->act = partner_table[which].act;
	partner->stage = stage;
	sem_init(&partner->go, 0, 0);
	sem_init(&partner->ready, 0, 0);
	err = pthread_create(&thread, NULL, partner__run, partner);
	if (err)
		return -err;
	sem__wait(&partner->ready);
	return partner->err;
}

int partners__open(struct fixture *stage)
{
	int err = 0;

	for (int i = 0; i < PARTNER_CNT && !err; i++)
		if (stage->needs & partner_table[i].need)
			err = partner__open(stage, i);
	return err;
}

static void partner__ask(struct fixture *stage, int which)
{
	struct partner *partner = &stage->partners[which];

	sem_post(&partner->go);
	if (which == PARTNER_HOLDER || which == PARTNER_LOWLY || which == PARTNER_RWHOLDER)
		sem__wait(&partner->ready);
}

void fixture__ask(struct fixture *stage, int which, uint64_t end_ns, int fd)
{
	struct partner *partner = &stage->partners[which];

	partner->end_ns = end_ns;
	partner->fd = fd;
	partner->work = NULL;
	partner__ask(stage, which);
}

void fixture__ask_work(struct fixture *stage, int which, uint64_t end_ns,
		       void (*work)(struct fixture *stage, uint64_t end_ns))
{
	struct partner *partner = &stage->partners[which];

	partner->end_ns = end_ns;
	partner->fd = -1;
	partner->work = work;
	partner__ask(stage, which);
}
