// SPDX-License-Identifier: GPL-2.0
// A process that pretends to run Android's runtime: an epoll loop whose handler spins for 30 ms
// below 60 frames of an "interpreter", each at another place of huge DEX files whose classes are
// spread over the whole file. Meanwhile a thread changes the lists of JIT code and DEX files all
// the time: they have cycles, and entries that point anywhere.
#define _GNU_SOURCE
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

#include "art_lists.h"

#define FILES	40
#define ENTRIES 64
#define FILE_SZ (256ul << 20)
#define CLASSES 65536u
#define DEPTH	60
#define SPIN_NS 30000000l

void interpret(uint64_t pc, void (*next)(void));

static uint8_t *files[FILES];
static struct entry entries[2][ENTRIES];
static unsigned depth, turn;

// The rule of ART's interpreters: the place in the bytecode is in r12.
__asm__(".text\n.globl interpret\ninterpret:\n.cfi_startproc\npush %r12\n.cfi_def_cfa_offset 16\n"
	".cfi_offset 12, -16\nmov %rdi, %r12\n"
	".cfi_escape 0x16, 0, 9, 0x0c, 'D', 'E', 'X', '1', 0x13, 0x92, 12, 0\n"
	"call *%rsi\npop %r12\n.cfi_def_cfa_offset 8\n.cfi_restore 12\nret\n.cfi_endproc\n");

static void spin(void)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000000l + now.tv_nsec - begin.tv_nsec < SPIN_NS);
}

static void deep(void)
{
	uint64_t at = (turn * DEPTH + depth) * 1234577ull;

	if (depth == DEPTH) {
		spin();
		return;
	}
	depth++;
	interpret((uint64_t)files[at % FILES] + at % FILE_SZ, deep);
	depth--;
}

static void put(uint8_t *file, uint64_t at, uint32_t value)
{
	memcpy(file + at, &value, sizeof(value));
}

// 65,536 classes, each with its data in a page of its own.
static uint8_t *make_file(unsigned nr)
{
	int fd = memfd_create("classes.dex", 0);
	uint8_t *file;

	if (fd < 0 || ftruncate(fd, FILE_SZ))
		abort();
	file = mmap(NULL, FILE_SZ, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	memcpy(file, "dex\n035", 8);
	put(file, 8, nr);
	put(file, 32, FILE_SZ);
	put(file, 40, 0x12345678);
	put(file, 96, CLASSES);
	put(file, 100, 0x1000);
	for (uint32_t i = 0; i < CLASSES; i++)
		put(file, 0x1000 + 32 * i + 24, (i * 7919 % CLASSES) * 3072 + (4u << 20));
	return file;
}

static void *change(void *unused)
{
	struct descriptor *lists[] = { &__jit_debug_descriptor, &__dex_debug_descriptor };
	unsigned seed = 1;

	for (;;) {
		unsigned which = rand_r(&seed) % 2, nr = rand_r(&seed) % ENTRIES;
		struct entry *entry = &entries[which][nr];

		lists[which]->lock++;
		entry->next = &entries[which][rand_r(&seed) % ENTRIES];
		entry->symfile = files[rand_r(&seed) % FILES] + rand_r(&seed) % 3 * 4096;
		entry->size = rand_r(&seed) % 2 ? FILE_SZ : rand_r(&seed);
		entry->timestamp = rand_r(&seed);
		entry->lock += 1 + rand_r(&seed) % 16 / 15;
		lists[which]->first = entry;
		lists[which]->lock += rand_r(&seed) % 64 / 63 + 1;
	}
	return unused;
}

int main(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct itimerspec every = { { 0, 40000000 }, { 0, 40000000 } };
	int epoll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	pthread_t thread;
	uint64_t ticks;

	for (unsigned i = 0; i < FILES; i++)
		files[i] = make_file(i);
	if (timerfd_settime(timer, 0, &every, NULL) ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event) ||
	    pthread_create(&thread, NULL, change, NULL))
		return 1;
	puts("ready");
	fflush(stdout);
	for (;; turn++) {
		epoll_wait(epoll, &event, 1, -1);
		if (read(timer, &ticks, sizeof(ticks)) == sizeof(ticks))
			deep();
	}
}
