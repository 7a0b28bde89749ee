/* SPDX-License-Identifier: GPL-2.0 */
/*
 * archived ARCHIVE BEGIN FUNCTION [MS [WAIT]]: maps the library that begins at that offset of the
 * file, as Android's loader does, without relocations, and prints the address. FUNCTION is an
 * address in it (hex). With MS, a loop's handlers call it to keep busy for that long. WAIT is
 * another one, in which the loop waits. Ends with its stdin.
 */
#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ROOM (16u << 20)
#define PAGE 4096ul

typedef void busy_fn(unsigned ms);
typedef int wait_fn(int epoll, struct epoll_event *events, int max, int ms);

struct library {
	void (*handle)(busy_fn *busy, unsigned ms);
	int (*wait)(wait_fn *wait, int epoll, struct epoll_event *events);
};

static char *map_library(int fd, off_t begin)
{
	char *base = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	Elf64_Ehdr head;
	Elf64_Phdr ph;

	if (base == MAP_FAILED || pread(fd, &head, sizeof(head), begin) != sizeof(head))
		return NULL;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		int prot = 0;

		if (pread(fd, &ph, sizeof(ph), begin + head.e_phoff + i * sizeof(ph)) != sizeof(ph))
			return NULL;
		if (ph.p_type != PT_LOAD || ph.p_vaddr + ph.p_memsz > ROOM)
			continue;
		prot |= ph.p_flags & PF_R ? PROT_READ : 0;
		prot |= ph.p_flags & PF_W ? PROT_WRITE : 0;
		prot |= ph.p_flags & PF_X ? PROT_EXEC : 0;
		if (mmap(base + (ph.p_vaddr & -PAGE), ph.p_memsz + ph.p_vaddr % PAGE, prot,
			 MAP_PRIVATE | MAP_FIXED, fd, begin + (ph.p_offset & -PAGE)) == MAP_FAILED)
			return NULL;
	}
	return base;
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void busy(unsigned ms)
{
	for (long end = now_ms() + ms; now_ms() < end;)
		;
}

static void loop(const struct library *library, unsigned ms)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	struct epoll_event event;
	int epoll = epoll_create1(0);

	while (!poll(&in, 1, 0)) {
		if (library->wait)
			library->wait(epoll_wait, epoll, &event);
		else
			epoll_wait(epoll, &event, 1, 20);
		library->handle(busy, ms);
	}
}

int main(int argc, char **argv)
{
	int fd = argc > 3 ? open(argv[1], O_RDONLY) : -1;
	char *base = fd >= 0 ? map_library(fd, atol(argv[2])) : NULL;
	struct library library = {};

	if (!base)
		return 1;
	printf("base %p\nready\n", base);
	fflush(stdout);
	if (argc > 4)
		library.handle = (void *)(base + strtoul(argv[3], NULL, 16));
	if (argc > 5)
		library.wait = (void *)(base + strtoul(argv[5], NULL, 16));
	if (argc > 4)
		loop(&library, atoi(argv[4]));
	getchar();
	return 0;
}
