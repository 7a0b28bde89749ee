/* SPDX-License-Identifier: GPL-2.0 */
/* What a task's descriptors stand for. */
#ifndef JANK_FD_BPF_H
#define JANK_FD_BPF_H

#include "bpf/kernel.bpf.h"

#define S_IFMT	 0170000
#define S_IFSOCK 0140000
#define S_IFIFO	 0010000

/*
 * Looks up the file behind a task's descriptor: *ret, NULL where there is none. Returns 0 when the
 * place in the table was read, so that NULL says "closed"; not 0 where there is no such place, or
 * it cannot be read.
 */
static __always_inline long fd__file(struct task_struct *task, s32 fd, struct file **ret)
{
	struct fdtable *fdt = BPF_CORE_READ(task, files, fdt);
	struct file **fds = BPF_CORE_READ(fdt, fd);

	*ret = NULL;
	if (fd < 0 || (u32)fd >= BPF_CORE_READ(fdt, max_fds))
		return -1;
	return bpf_probe_read_kernel(ret, sizeof(*ret), fds + fd);
}

#endif
