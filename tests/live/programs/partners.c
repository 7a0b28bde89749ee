/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An epoll loop on stdin, whose handler waits for another thread: "mutex MS THREADS" for a mutex,
 * "pipe MS THREADS" for a byte. That thread sleeps for MS meanwhile. Beside it THREADS others sleep
 * for 1 ms each, again and again.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t asked, held;
static int answer[2];
static long held_ms;

static void *sleep_often(void *arg)
{
	for (;;)
		usleep(1000);
	return arg;
}

static void *be_waited_for(void *arg)
{
	for (;;) {
		sem_wait(&asked);
		pthread_mutex_lock(&mutex);
		sem_post(&held);
		usleep(held_ms * 1000);
		pthread_mutex_unlock(&mutex);
		if (!strcmp(arg, "pipe") && write(answer[1], "x", 1) != 1)
			exit(1);
	}
	return NULL;
}

static void __attribute__((noinline)) handle(const char *kind)
{
	char byte;

	if (read(STDIN_FILENO, &byte, 1) != 1)
		exit(0);
	sem_post(&asked);
	sem_wait(&held);
	if (!strcmp(kind, "pipe")) {
		if (read(answer[0], &byte, 1) != 1)
			exit(1);
		return;
	}
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void begin(const char *name, void *(*fn)(void *arg), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, fn, arg))
		exit(1);
	pthread_setname_np(thread, name);
}

int main(int argc, char **argv)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epfd = epoll_create1(0);

	if (argc != 4 || pipe(answer) || sem_init(&asked, 0, 0) || sem_init(&held, 0, 0) ||
	    epoll_ctl(epfd, EPOLL_CTL_ADD, STDIN_FILENO, &event))
		return 1;
	held_ms = atol(argv[2]);
	begin("partner", be_waited_for, argv[1]);
	for (int i = 0; i < atoi(argv[3]); i++)
		begin("often", sleep_often, NULL);
	puts("ready");
	fflush(stdout);
	for (;;)
		if (epoll_wait(epfd, &event, 1, -1) == 1)
			handle(argv[1]);
}
