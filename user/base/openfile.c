/* SPDX-License-Identifier: GPL-2.0 */
/* O_PATH opens nothing; what it names is looked at, then opened by way of /proc/self/fd. See openfile.h. */
#include "base/openfile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int openfile__handle(int handle, struct stat *st)
{
	char path[32];
	struct stat own;
	int fd;

	if (!st)
		st = &own;
	if (fstat(handle, st)) {
		fd = -errno;
	} else if (!S_ISREG(st->st_mode)) {
		fd = -EINVAL;
	} else {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
		fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	close(handle);
	return fd;
}

int openfile__path(const char *path, struct stat *st)
{
	int handle = open(path, O_PATH | O_CLOEXEC);

	return handle < 0 ? -errno : openfile__handle(handle, st);
}

int openfile__in_root(const char *root, const char *path, struct stat *st)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), handle;

	if (dir < 0)
		return -errno;
	handle = syscall(SYS_openat2, dir, path, &how, sizeof(how));
	if (handle < 0)
		handle = -errno;
	close(dir);
	return handle < 0 ? handle : openfile__handle(handle, st);
}
