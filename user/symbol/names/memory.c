/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page's entry in /proc/PID/pagemap shows whether it is present. The page may disappear before
 * the read, which is therefore done by a separate process (base/apart.h).
 */
#include "symbol/names/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/apart.h"

#define PRESENT (1ull << 63)
#define SWAPPED (1ull << 62)

static int check_present(const char *proc, uint32_t pid, uint64_t page)
{
	char path[PATH_MAX];
	uint64_t entry;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%u/pagemap", proc, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = pread(fd, &entry, sizeof(entry), page * sizeof(entry));
	close(fd);
	if (n != sizeof(entry) || entry & SWAPPED)
		return -EFAULT;
	return entry & PRESENT ? 0 : -ENODATA;
}

int memory__read(const char *proc, uint32_t pid, uint64_t addr, void *buf, size_t len)
{
	uint64_t page_sz = sysconf(_SC_PAGESIZE);
	ssize_t n;
	int res;

	if (!len || addr > INT64_MAX || addr / page_sz != (addr + len - 1) / page_sz)
		return -EINVAL;
	res = check_present(proc, pid, addr / page_sz);
	if (res)
		return res;
	n = apart__memory(pid, addr, buf, len);
	if (n < 0)
		return n;
	return n == (ssize_t)len ? 0 : -EFAULT;
}

/*
 * --- copies the vdso of a process
 *
 * A 32-bit process has a different vdso than ours. Another mapping may be there by now.
 */

#define VDSO_MAX (256 * 1024)

int vdso__copy(uint32_t pid, uint64_t start, uint64_t end, void **ret, size_t *ret_size)
{
	size_t size = end - start;
	size_t got = 0;
	ssize_t n = 1;
	char *mem;

	if (end <= start || end - start > VDSO_MAX)
		return -EINVAL;
	mem = malloc(size);
	for (; mem && got < size && n > 0; got += n > 0 ? n : 0)
		n = apart__memory(pid, start + got, mem + got, size - got);
	if (got != size) {
		free(mem);
		return -EIO;
	}
	*ret = mem;
	*ret_size = size;
	return 0;
}
