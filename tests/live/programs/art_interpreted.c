// SPDX-License-Identifier: GPL-2.0
// An app on the stand-in for ART that interprets: an epoll loop whose handler loads a DEX file and
// runs its methods, each in the next, for 50 ms. Arguments: DEX files, with an offset in each (in
// an archive: of its entry). They are mapped or copied to memory, at the place of the one from
// eleven turns before, which is unloaded. Prints of each turn: its number, begin and end in ns of
// the wall clock.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "art_dex.h"
#include "art_turns.h"

#define TURN_NS 50000000ull
#define TICK_NS 20000ull
#define PLACE	((uint8_t *)0x5a0000000000)
#define ROOM	(1ul << 20)
#define PLACES	11

static uint64_t end_ns;

static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

__attribute__((noinline)) int tick(void)
{
	uint64_t begin = now(CLOCK_MONOTONIC), at = begin;

	while (at < begin + TICK_NS)
		at = now(CLOCK_MONOTONIC);
	return at >= end_ns;
}

// Maps the file, or copies it to memory.
static const uint8_t *load(uint8_t *place, const char *path, off_t off, int copied,
			   size_t *ret_size)
{
	int fd = open(path, O_RDONLY);
	off_t page = off & ~4095l;
	struct stat st;
	void *at;

	if (fd < 0 || fstat(fd, &st))
		abort();
	*ret_size = st.st_size - off;
	if (copied) {
		at = mmap(place, ROOM, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		if (pread(fd, (char *)at + off - page, *ret_size, off) != (ssize_t)*ret_size)
			abort();
	} else {
		at = mmap(place, st.st_size - page, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, page);
	}
	close(fd);
	if (at == MAP_FAILED)
		abort();
	return (uint8_t *)at + (off - page);
}

static char **files; // each a path, and an offset in it
static unsigned file_cnt;

static void handle(unsigned turn)
{
	char **file = files + turn % file_cnt * 2;
	static void *entries[PLACES];
	struct art_dex dex = { .native = tick, .by_switch = turn % 5 == 4 };
	uint8_t *place = PLACE + turn % PLACES * ROOM;
	uint64_t begin = now(CLOCK_REALTIME);
	size_t size;

	if (entries[turn % PLACES])
		art_remove_dex(entries[turn % PLACES]);
	munmap(place, ROOM);
	dex.bytes = load(place, file[0], atol(file[1]), turn % 3 == 1, &size);
	entries[turn % PLACES] = art_add_dex(dex.bytes, size);
	end_ns = now(CLOCK_MONOTONIC) + TURN_NS;
	art_run(&dex);
	printf("%u %llu %llu\n", turn, (unsigned long long)begin,
	       (unsigned long long)now(CLOCK_REALTIME));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	files = argv + 1;
	file_cnt = (argc - 1) / 2;
	return file_cnt ? art_turns(handle) : 1;
}
