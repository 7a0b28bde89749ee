/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fixture's cgroups. The process `janitor` removes their directories. */
#include "simjank_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "simjank_scenario.h"

#define PERIOD_US "20000"
#define QUOTA_US  "2000"

static void cgroup__path(char *path, size_t size, const struct fixture *stage,
			 const char *controller, const char *file)
{
	snprintf(path, size, CGROUP_ROOT "/%s/%s%s%s", controller, stage->name, *file ? "/" : "",
		 file);
}

int cgroup__make(const struct fixture *stage, const char *controller)
{
	char path[256];

	cgroup__path(path, sizeof(path), stage, controller, "");
	return mkdir(path, 0755) && errno != EEXIST ? -errno : 0;
}

int cgroup__open_file(const struct fixture *stage, const char *controller, const char *file)
{
	char path[256];
	int fd;

	cgroup__path(path, sizeof(path), stage, controller, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int cgroup__write(const struct fixture *stage, const char *controller, const char *file,
		  const char *text)
{
	int fd = cgroup__open_file(stage, controller, file);
	int err = 0;

	if (fd < 0)
		return fd;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

void cgroup__leave(const char *controller)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), CGROUP_ROOT "/%s/tasks", controller);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, "0", 1) < 0)
		errno = 0;
	close(fd);
}

int cgroup__make_quota(struct fixture *stage)
{
	int err = cgroup__make(stage, "cpu");

	if (!err)
		err = cgroup__write(stage, "cpu", "cpu.cfs_period_us", PERIOD_US);
	if (err)
		return err;
	stage->quota_fd = cgroup__open_file(stage, "cpu", "cpu.cfs_quota_us");
	return stage->quota_fd < 0 ? stage->quota_fd : 0;
}

int cgroup__enter_quota(const struct fixture *stage)
{
	return stage->needs & NEED_QUOTA ? cgroup__write(stage, "cpu", "tasks", "0") : 0;
}

void cgroup__set_quota(struct fixture *stage, bool on)
{
	const char *text = on ? QUOTA_US : "-1";

	if (pwrite(stage->quota_fd, text, strlen(text), 0) < 0)
		errno = 0;
}
