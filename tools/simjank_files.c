/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fixture's files, its buffer, and the page that only userfaultfd can provide. */
#include "simjank_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_SZ 4096u

static int file__open(struct fixture *stage, const char *name, int flags)
{
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", stage->path, name);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC | flags, 0600);
	if (fd < 0)
		return -errno;
	actors__add_object(&stage->cast, name, "path", path);
	return fd;
}

int file__make(struct fixture *stage, const char *name, int flags, size_t size)
{
	int fd = file__open(stage, name, flags);

	if (fd < 0)
		return fd;
	for (size_t at = 0; at < size; at += STAGE_BUFFER_SZ)
		if (pwrite(fd, stage->buffer, STAGE_BUFFER_SZ, (off_t)at) != STAGE_BUFFER_SZ)
			goto fail;
	if (fsync(fd))
		goto fail;
	return fd;
fail:
	close(fd);
	return -EIO;
}

int file__map(int fd, volatile char **map)
{
	void *at = mmap(NULL, STAGE_COLD_SZ, PROT_READ, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	*map = at;
	madvise(at, STAGE_COLD_SZ, MADV_RANDOM);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return 0;
}

static int memory__map(size_t size, char **map)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (at == MAP_FAILED)
		return -errno;
	*map = at;
	return 0;
}

int files__open_buffer(struct fixture *stage)
{
	int err = memory__map(STAGE_BUFFER_SZ, &stage->buffer);

	if (!err)
		memset(stage->buffer, 'j', STAGE_BUFFER_SZ);
	return err;
}

int files__open_disk(struct fixture *stage)
{
	stage->disk_fd = file__make(stage, "disk", 0, STAGE_DISK_SZ);
	if (stage->disk_fd < 0)
		return stage->disk_fd;
	stage->much_fd = file__open(stage, "much", 0);
	if (stage->much_fd < 0)
		return stage->much_fd;
	stage->dsync_fd = file__make(stage, "dsync", O_DSYNC | O_DIRECT, STAGE_DISK_SZ);
	if (stage->dsync_fd < 0)
		stage->dsync_fd = file__make(stage, "dsync", O_DSYNC, STAGE_DISK_SZ);
	return stage->dsync_fd < 0 ? stage->dsync_fd : 0;
}

int files__open_reader(struct fixture *stage)
{
	int err = memory__map(STAGE_DISK_SZ, &stage->reader_buffer);

	if (err)
		return err;
	stage->reader_fd = file__make(stage, "reader", O_DIRECT, STAGE_DISK_SZ);
	if (stage->reader_fd < 0)
		stage->reader_fd = file__make(stage, "reader", 0, STAGE_DISK_SZ);
	return stage->reader_fd < 0 ? stage->reader_fd : 0;
}

int files__open_cold(struct fixture *stage)
{
	stage->cold_fd = file__make(stage, "cold", 0, STAGE_COLD_SZ);
	return stage->cold_fd < 0 ? stage->cold_fd : file__map(stage->cold_fd, &stage->cold);
}

int files__open_lock(struct fixture *stage)
{
	stage->lock_fd = file__open(stage, "lock", 0);
	return stage->lock_fd < 0 ? stage->lock_fd : 0;
}

/* Only user-mode faults: that needs no privilege. */
int files__open_missing(struct fixture *stage)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	void *map = mmap(NULL, PAGE_SZ, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		return -errno;
	stage->missing = map;
	stage->uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	if (stage->uffd < 0 && errno == EINVAL) /* before 37cd0575b849 (5.11) */
		stage->uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (stage->uffd < 0)
		return -errno;
	reg.range.start = (uintptr_t)map;
	reg.range.len = PAGE_SZ;
	if (ioctl(stage->uffd, UFFDIO_API, &api) || ioctl(stage->uffd, UFFDIO_REGISTER, &reg))
		return -errno;
	return 0;
}
