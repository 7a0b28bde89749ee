/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The slow disk. In each tenth of a second, the kernel lets a cgroup's first requests pass, as many
 * as that time's bytes. A low rate and many small requests keep this part small.
 */
#include "simjank_slow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "simjank_cgroup.h"
#include "simjank_files.h"

#define RATE (2u << 20)

/* Limits are for whole disks: the disk of a partition is one directory up. */
static int disk__of(const char *path, dev_t *dev)
{
	char name[64], text[32] = "";
	unsigned disk_major, disk_minor;
	struct stat st;
	FILE *file;

	if (stat(path, &st))
		return -errno;
	*dev = st.st_dev;
	snprintf(name, sizeof(name), "/sys/dev/block/%u:%u/partition", major(*dev), minor(*dev));
	if (access(name, F_OK))
		return 0;
	snprintf(name, sizeof(name), "/sys/dev/block/%u:%u/../dev", major(*dev), minor(*dev));
	file = fopen(name, "re");
	if (!file)
		return -errno;
	if (fgets(text, sizeof(text), file) && sscanf(text, "%u:%u", &disk_major, &disk_minor) == 2)
		*dev = makedev(disk_major, disk_minor);
	fclose(file);
	return 0;
}

static int slow__write(const struct fixture *stage, uint64_t rate)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "%u:%u %ju", major(stage->slow_dev),
			   minor(stage->slow_dev), (uintmax_t)rate);

	for (int i = 0; i < 2; i++)
		if (pwrite(stage->slow_rate_fds[i], text, (size_t)len, 0) < 0)
			return -errno;
	return 0;
}

int slow__open(struct fixture *stage)
{
	static const char *const files[] = { "blkio.throttle.read_bps_device",
					     "blkio.throttle.write_bps_device" };
	int err = cgroup__make(stage, "blkio");

	if (!err)
		err = disk__of(stage->path, &stage->slow_dev);
	for (int i = 0; i < 2 && !err; i++) {
		stage->slow_rate_fds[i] = cgroup__open_file(stage, "blkio", files[i]);
		if (stage->slow_rate_fds[i] < 0)
			err = stage->slow_rate_fds[i];
	}
	if (!err)
		err = slow__write(stage, RATE);
	if (!err)
		err = slow__write(stage, 0);
	if (!err)
		stage->slow_fd = file__make(stage, "slow", 0, STAGE_COLD_SZ);
	if (err || stage->slow_fd < 0)
		return err ? err : stage->slow_fd;
	posix_fadvise(stage->slow_fd, 0, 0, POSIX_FADV_RANDOM); /* nothing is read ahead */
	return file__map(stage->slow_fd, &stage->slow);
}

int slow__enter(const struct fixture *stage)
{
	return cgroup__write(stage, "blkio", "tasks", "0");
}

void slow__set(struct fixture *stage, bool on)
{
	slow__write(stage, on ? RATE : 0);
}
