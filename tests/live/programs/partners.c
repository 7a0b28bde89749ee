/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An epoll loop on stdin; its handler waits for a partner. Arguments: KIND MS THREADS LINKS.
 * The partner sleeps for MS meanwhile; with two links it waits for another thread, "far", that
 * does. Beside them THREADS others sleep for 1 ms each, again and again.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, far_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int done; /* for the condition, under the mutex */
static int asked[2], held[2], far_asked[2], far_held[2], answer[2];
static long held_us;
static int link_cnt;

static void tell(int fd)
{
	if (write(fd, "x", 1) != 1)
		exit(1);
}

static void hear(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		exit(0);
}

static void begin(const char *name, void *(*fn)(void *arg), void *arg, pthread_t *ret)
{
	pthread_t thread;

	if (pthread_create(ret ?: &thread, NULL, fn, arg))
		exit(1);
	pthread_setname_np(ret ? *ret : thread, name);
}

static void *be_far(void *arg)
{
	for (;;) {
		hear(far_asked[0]);
		pthread_mutex_lock(&far_mutex);
		tell(far_held[1]);
		usleep(held_us);
		pthread_mutex_unlock(&far_mutex);
	}
	return arg;
}

/* What the partner does while the handler waits. */
static void __attribute__((noinline)) work(void)
{
	if (link_cnt < 2) {
		usleep(held_us);
		return;
	}
	tell(far_asked[1]);
	hear(far_held[0]);
	pthread_mutex_lock(&far_mutex);
	pthread_mutex_unlock(&far_mutex);
}

#include "partners_kinds.h"

static void *be_partner(void *arg)
{
	const struct kind *kind = arg;

	for (;;) {
		hear(asked[0]);
		kind->take();
		tell(held[1]);
		work();
		kind->give();
	}
	return NULL;
}

static void start_partner(const struct kind *kind)
{
	if (kind->is_process && kind->take && !fork()) {
		prctl(PR_SET_NAME, "partner");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (link_cnt > 1)
			begin("far", be_far, NULL, NULL);
		be_partner((void *)kind);
	}
	if (link_cnt > 1 && !kind->is_process)
		begin("far", be_far, NULL, NULL);
	if (kind->take && !kind->is_process)
		begin("partner", be_partner, (void *)kind, NULL);
}

static void __attribute__((noinline)) handle(const struct kind *kind)
{
	hear(STDIN_FILENO);
	if (kind->take) {
		tell(asked[1]);
		hear(held[0]);
	}
	kind->wait();
}

static void *sleep_often(void *arg)
{
	for (;;)
		usleep(1000);
	return arg;
}

int main(int argc, char **argv)
{
	struct epoll_event event = { .events = EPOLLIN };
	const struct kind *kind = kinds, *end = kinds + sizeof(kinds) / sizeof(*kinds);
	int epfd = epoll_create1(0);

	while (argc == 5 && kind < end && strcmp(kind->name, argv[1]))
		kind++;
	if (argc != 5 || kind == end || pipe(asked) || pipe(held) || pipe(far_asked) ||
	    pipe(far_held) || epoll_ctl(epfd, EPOLL_CTL_ADD, STDIN_FILENO, &event))
		return 1;
	held_us = atol(argv[2]) * 1000;
	link_cnt = atoi(argv[4]);
	kind->make();
	start_partner(kind);
	for (int i = 0; i < atoi(argv[3]); i++)
		begin("often", sleep_often, NULL, NULL);
	puts("ready");
	fflush(stdout);
	for (;;)
		if (epoll_wait(epfd, &event, 1, -1) == 1)
			handle(kind);
}
