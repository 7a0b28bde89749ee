/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An epoll loop with stalls that simjank does not have: at a barrier, for a kernel lock, frozen,
 * reclaiming memory. Each runs once, after a timer's turn; argv: a folder for its file, then
 * letters of stalls.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define STALL_NS 60000000
#define MAPPED	 (512ul << 20)

static pthread_barrier_t barrier;
static pthread_barrier_t begun;
static char letter;

static void nap(void)
{
	struct timespec time = { .tv_nsec = STALL_NS };

	nanosleep(&time, NULL);
}

/* Fills new memory at once; meanwhile the lock of the mappings is held for writing. */
static void fill(void)
{
	void *memory = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	munmap(memory, MAPPED);
}

static void *work(void *unused)
{
	for (;;) {
		pthread_barrier_wait(&begun);
		if (letter == 'b') {
			nap();
			pthread_barrier_wait(&barrier);
		} else {
			fill();
		}
	}
	return unused;
}

static __attribute__((noinline)) void handle_barrier(void)
{
	pthread_barrier_wait(&begun);
	pthread_barrier_wait(&barrier);
	__asm__ volatile("");
}

/* Maps and unmaps while the other thread fills its memory. */
static __attribute__((noinline)) void handle_kernel_lock(void)
{
	pthread_barrier_wait(&begun);
	for (int i = 0; i < 200; i++) {
		void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				    -1, 0);

		munmap(memory, 4096);
	}
	__asm__ volatile("");
}

static __attribute__((noinline)) void handle_long(void)
{
	for (int i = 0; i < 8; i++)
		nap();
	__asm__ volatile("");
}

static void handle(char what)
{
	letter = what;
	if (what == 'b')
		handle_barrier();
	else if (what == 'k')
		handle_kernel_lock();
	else
		handle_long();
}

int main(int argc, char **argv)
{
	int epoll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	struct itimerspec every = { { .tv_nsec = 50000000 }, { .tv_nsec = 50000000 } };
	struct epoll_event event = { .events = EPOLLIN };
	pthread_t thread;
	uint64_t turns;

	if (argc < 2)
		return 2;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_barrier_init(&begun, NULL, 2);
	pthread_create(&thread, NULL, work, NULL);
	timerfd_settime(timer, 0, &every, NULL);
	epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event);
	for (const char *next = argv[1]; *next; next++) {
		epoll_wait(epoll, &event, 1, -1);
		if (read(timer, &turns, sizeof(turns)) < 0)
			return 1;
		handle(*next);
	}
	epoll_wait(epoll, &event, 1, -1);
	return 0;
}
