/* SPDX-License-Identifier: GPL-2.0 */
/* Copies the vdso out of a process. A 32-bit process has another one than ours, so ours will not
 * do. */
#include "symbol/vdso.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define VDSO_MAX (256 * 1024)

int vdso__copy(const char *proc, uint32_t pid, uint64_t start, uint64_t end, void **ret,
	       size_t *ret_size)
{
	size_t size = end - start;
	char path[PATH_MAX];
	void *mem;
	ssize_t n;
	int fd;

	if (end <= start || end - start > VDSO_MAX)
		return -EINVAL;
	snprintf(path, sizeof(path), "%s/%u/mem", proc, pid);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	mem = malloc(size);
	n = mem ? pread(fd, mem, size, start) : -1;
	close(fd);
	if (n != (ssize_t)size) {
		free(mem);
		return -EIO;
	}
	*ret = mem;
	*ret_size = size;
	return 0;
}
