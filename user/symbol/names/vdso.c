/* SPDX-License-Identifier: GPL-2.0 */
/* Copies the vdso out of a process. A 32-bit process has another one than ours, so ours will not
 * do; and another mapping may lie there by now. */
#include "symbol/names/vdso.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>

#include "base/apart.h"

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
