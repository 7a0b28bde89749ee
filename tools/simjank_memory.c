/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A limit on the whole program's memory. Memory that must not be swapped out is locked. */
#include "simjank_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/swap.h>
#include <unistd.h>

#include "simjank_cgroup.h"
#include "simjank_clock.h"
#include "simjank_scenario.h"

#define PAGE_SZ 4096u
#define SWAP_SZ (4ull * STAGE_SWAPPED_SZ) /* while half of it is free, read pages stay there, too */
#define ROOM_SZ (24ull << 20)		  /* for later memory, and pages of files */
#define TRY_NS	(20 * NS_PER_MS) /* pages are on their way to the disk before they are free */
#define TRY_MAX 1000		 /* 20 s and more: a busy disk takes that long */
#define KEPT_SZ (8ull << 20)	 /* of what is to be swapped out */

int memory__enter(struct fixture *stage)
{
	int err = cgroup__make(stage, "memory");

	if (!err)
		err = cgroup__write(stage, "memory", "cgroup.procs", "0");
	if (!err && mlockall(MCL_CURRENT | MCL_FUTURE))
		err = -errno;
	return err;
}

/* The header that mkswap(8) writes: union swap_header of linux/swap.h. */
static int swap__write_header(int fd)
{
	static char page[PAGE_SZ];
	const uint32_t version = 1, last_page = SWAP_SZ / PAGE_SZ - 1;

	memcpy(page + 1024, &version, sizeof(version));
	memcpy(page + 1028, &last_page, sizeof(last_page));
	memcpy(page + PAGE_SZ - 10, "SWAPSPACE2", 10);
	if (pwrite(fd, page, PAGE_SZ, 0) != PAGE_SZ || fsync(fd))
		return -EIO;
	return 0;
}

static int swap__open(const struct fixture *stage)
{
	char path[160];
	int fd, err;

	snprintf(path, sizeof(path), "%s/swap", stage->path);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = -posix_fallocate(fd, 0, SWAP_SZ);
	if (!err)
		err = swap__write_header(fd);
	if (!err && swapon(path, 0))
		err = -errno;
	close(fd);
	return err;
}

int memory__open_swap(struct fixture *stage)
{
	int err = swap__open(stage);
	void *map;

	if (err)
		return err;
	map = mmap(NULL, STAGE_SWAPPED_SZ, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		   0);
	if (map == MAP_FAILED || munlock(map, STAGE_SWAPPED_SZ))
		return -errno;
	memset(map, 's', STAGE_SWAPPED_SZ);
	stage->swapped = map;
	return cgroup__write(stage, "memory", "memory.swappiness", "100");
}

static unsigned long long memory__used(const struct fixture *stage)
{
	unsigned long long used = 0;
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), CGROUP_ROOT "/memory/%s/memory.usage_in_bytes", stage->name);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%llu", &used) != 1)
		used = 0;
	fclose(file);
	return used;
}

int memory__limit(struct fixture *stage)
{
	unsigned long long limit = memory__used(stage) + ROOM_SZ;
	char text[32];
	int err = 0;

	if (limit == ROOM_SZ)
		return -EIO;
	if (stage->needs & NEED_SWAP)
		limit -= STAGE_SWAPPED_SZ - KEPT_SZ;
	snprintf(text, sizeof(text), "%llu", limit);
	for (int i = 0; i < TRY_MAX; i++) {
		err = cgroup__write(stage, "memory", "memory.limit_in_bytes", text);
		if (err != -EBUSY)
			break;
		clock__sleep_until(clock__mono_ns() + TRY_NS);
	}
	return err;
}
