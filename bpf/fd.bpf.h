/* SPDX-License-Identifier: GPL-2.0 */
/* Files behind a task's descriptors. */
#ifndef JANK_FD_BPF_H
#define JANK_FD_BPF_H

#include "bpf/kernel.bpf.h"

#define S_IFMT	 0170000
#define S_IFSOCK 0140000
#define S_IFIFO	 0010000

/*
 * Looks up the file behind a task's descriptor and stores it in *ret; NULL when there is none.
 * Returns 0 when the table entry was read, so that NULL means "closed". Returns nonzero when there
 * is no such entry or it cannot be read.
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
