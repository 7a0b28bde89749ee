/* SPDX-License-Identifier: GPL-2.0 */
/* State of a thread that leaves the CPU to sleep, by the task's state and its system call. */
#ifndef JANK_CLASSIFY_BLOCK_BPF_H
#define JANK_CLASSIFY_BLOCK_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/fd.bpf.h"
#include "bpf/wait_object.bpf.h"

/* asm-generic/ioctl.h: _IOWR('b', 1, struct binder_write_read), 64-bit and 32-bit layout */
#define BINDER_WRITE_READ    0xc0306201
#define BINDER_WRITE_READ_32 0xc0186201

static __always_inline __u32 classify_block__plain(unsigned int task_state)
{
	return task_state & TASK_UNINTERRUPTIBLE ? JANK_STATE_DISK : JANK_STATE_OTHER;
}

/*
 * State by the file behind the descriptor. Since 6.16 an eventfd's inode is marked as a regular
 * file (cfd86ef7e8e7), so the task's state decides: waits for storage are not interruptible.
 */
static __noinline int classify_block__of_fd(struct task_struct *task, s32 fd,
					    unsigned int task_state)
{
	struct file *file;
	umode_t mode;

	if (fd__file(task, fd, &file))
		return classify_block__plain(task_state);
	mode = BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT;
	if (mode == S_IFIFO)
		return JANK_STATE_PIPE;
	if (mode == S_IFSOCK)
		return JANK_STATE_SOCKET;
	return classify_block__plain(task_state);
}

/*
 * Returns JANK_STATE_* of a thread that leaves the CPU to sleep. *ret_nr out: its system call or
 * -1. *ret_nr in: the call that a stop interrupted and restart_syscall continues, or -1.
 */
static __always_inline __u32 classify_block__blocked(struct task_struct *task,
						     unsigned int task_state, s32 *ret_nr)
{
	struct pt_regs *regs = compat__user_regs(task);
	bool hard = task_state & TASK_UNINTERRUPTIBLE;
	s32 nr = compat__syscall_nr(regs);
	u64 arg1;

	if (compat__continues(nr) && *ret_nr >= 0)
		nr = *ret_nr;
	*ret_nr = nr;
	if (task_state & (TASK_STOPPED_BIT | TASK_TRACED_BIT) ||
	    compat__is_frozen(task, task_state))
		return JANK_STATE_STOPPED;
	if (nr < 0)
		return JANK_STATE_PAGE_FAULT; /* an exception; userfaultfd waits interruptibly */
	if (hard && BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait))
		return JANK_STATE_DISK;
	switch (jank_conf.syscall_class[nr & (JANK_SYSCALL_MAX - 1)]) {
		JANK_CLASS_STATES(JANK_CASE_STATE)
	case JANK_CLASS_FD:
	case JANK_CLASS_SENDFILE:
		return classify_block__of_fd(task, compat__syscall_arg(regs, 0), task_state);
	case JANK_CLASS_FILE:
	case JANK_CLASS_PATH:
	case JANK_CLASS_PATH_AT:
	case JANK_CLASS_FILE_FD:
		return classify_block__plain(task_state);
	case JANK_CLASS_IOCTL:
		arg1 = (u32)compat__syscall_arg(regs, 1);
		if (arg1 == BINDER_WRITE_READ || arg1 == BINDER_WRITE_READ_32)
			return JANK_STATE_BINDER;
		break;
	}
	return JANK_STATE_OTHER;
}

#endif
