/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handlers that wait for storage: by system calls, by page faults, and for lack of memory. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "simjank_handler.h"
#include "simjank_slow.h"

#define PAGE_SZ	  4096u
#define FSYNC_SZ  (256u << 10)
#define DIRECT_SZ STAGE_BUFFER_SZ
#define SLOW_STEP (64u << 10)
#define MUCH_SZ	  (256u << 20)

static WHOLE void do_write_fsync(struct fixture *stage)
{
	off_t at = (off_t)(stage->disk_at % STAGE_DISK_SZ);

	if (pwrite(stage->disk_fd, stage->buffer, FSYNC_SZ, at) < 0 || fsync(stage->disk_fd))
		errno = 0;
	stage->disk_at += FSYNC_SZ;
}

static WHOLE void do_write_direct(struct fixture *stage)
{
	off_t at = (off_t)(stage->disk_at % STAGE_DISK_SZ);

	if (pwrite(stage->dsync_fd, stage->buffer, DIRECT_SZ, at - at % DIRECT_SZ) < 0)
		errno = 0;
	stage->disk_at += DIRECT_SZ;
}

static void cold__drop(volatile char *map, int fd)
{
	madvise((void *)map, STAGE_COLD_SZ, MADV_DONTNEED);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* Reads page by page (MADV_RANDOM), and drops the pages when all were read. */
static WHOLE void do_touch_cold(struct fixture *stage, uint64_t end_ns)
{
	while (clock__mono_ns() < end_ns) {
		if (stage->cold_at >= STAGE_COLD_SZ) {
			cold__drop(stage->cold, stage->cold_fd);
			stage->cold_at = 0;
		}
		(void)stage->cold[stage->cold_at];
		stage->cold_at += PAGE_SZ;
	}
}

/* It calls no function, so the compiler must be forced to give it a frame while it reads. */
static WHOLE void do_touch_missing(struct fixture *stage)
{
	char byte = *stage->missing;

	__asm__ volatile("" : : "r"(byte), "r"(__builtin_frame_address(0)));
}

static uint64_t slow__advance(struct fixture *stage, uint64_t size)
{
	uint64_t at = stage->slow_at;

	stage->slow_at = (at + size) % STAGE_COLD_SZ;
	return at;
}

static WHOLE void do_fsync_slow(struct fixture *stage)
{
	off_t at = (off_t)slow__advance(stage, SLOW_STEP);

	if (pwrite(stage->slow_fd, stage->buffer, SLOW_STEP, at) < 0 || fsync(stage->slow_fd))
		errno = 0;
}

static WHOLE void do_read_slow(struct fixture *stage)
{
	off_t at = (off_t)slow__advance(stage, SLOW_STEP);

	if (pread(stage->slow_fd, stage->buffer, SLOW_STEP, at) < 0)
		errno = 0;
}

static WHOLE void do_touch_slow(struct fixture *stage, uint64_t end_ns)
{
	while (clock__mono_ns() < end_ns)
		(void)stage->slow[slow__advance(stage, PAGE_SZ)];
}

/* Far apart, so that read-ahead does not serve the next one. */
static WHOLE void do_touch_swapped(struct fixture *stage, uint64_t end_ns)
{
	while (clock__mono_ns() < end_ns) {
		(void)stage->swapped[stage->swapped_at];
		stage->swapped_at = (stage->swapped_at + 4099ull * PAGE_SZ) % STAGE_SWAPPED_SZ;
	}
}

static WHOLE void do_write_much(struct fixture *stage)
{
	off_t at = (off_t)(stage->much_at % MUCH_SZ);

	if (pwrite(stage->much_fd, stage->buffer, STAGE_BUFFER_SZ, at) < 0)
		errno = 0;
	stage->much_at += STAGE_BUFFER_SZ;
}

WHOLE void work_fsync(struct fixture *stage, uint64_t end_ns)
{
	while (clock__mono_ns() < end_ns)
		do_fsync_slow(stage);
}

HANDLER(disk)
{
	fixture__ask(stage, PARTNER_READER, end_ns, -1);
	while (clock__mono_ns() < end_ns)
		do_write_fsync(stage);
}

HANDLER(dsync)
{
	fixture__ask(stage, PARTNER_READER, end_ns, -1);
	while (clock__mono_ns() < end_ns)
		do_write_direct(stage);
}

HANDLER(page_fault)
{
	fixture__ask(stage, PARTNER_READER, end_ns, -1);
	do_touch_cold(stage, end_ns);
}

HANDLER(userfault)
{
	madvise((void *)stage->missing, PAGE_SZ, MADV_DONTNEED);
	fixture__ask(stage, PARTNER_PAGER, end_ns, stage->uffd);
	do_touch_missing(stage);
}

HANDLER(fsync)
{
	slow__set(stage, true);
	while (clock__mono_ns() < end_ns)
		do_fsync_slow(stage);
	slow__set(stage, false);
}

HANDLER(read_cold)
{
	cold__drop(stage->slow, stage->slow_fd);
	slow__set(stage, true);
	while (clock__mono_ns() < end_ns)
		do_read_slow(stage);
	slow__set(stage, false);
}

HANDLER(cold_file)
{
	cold__drop(stage->slow, stage->slow_fd);
	slow__set(stage, true);
	do_touch_slow(stage, end_ns);
	slow__set(stage, false);
}

HANDLER(swap)
{
	slow__set(stage, true);
	do_touch_swapped(stage, end_ns);
	slow__set(stage, false);
}

HANDLER(reclaim)
{
	while (clock__mono_ns() < end_ns)
		do_write_much(stage);
}
