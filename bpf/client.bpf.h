/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Servers with a thread or process for each connection. They wait for a connection to accept, and
 * then on the connection, where the client's next request is work, too. A socket that the thread
 * connected itself is different: there it waits for an answer.
 */
#ifndef JANK_CLIENT_BPF_H
#define JANK_CLIENT_BPF_H

#include "bpf/fd.bpf.h"
#include "bpf/poll.bpf.h"
#include "bpf/wait_object.bpf.h"

/*
 * Returns what a listening socket shares with the sockets accepted from it: the port, or the
 * address of the name object. 0: nothing.
 */
static __noinline u64 client__service(struct task_struct *task, s32 fd)
{
	struct socket *socket;
	struct unix_sock *own;
	struct file *file;
	struct sock *sk;
	__u16 family;

	if (fd__file(task, fd, &file) || !file ||
	    (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return 0;
	socket = BPF_CORE_READ(file, private_data);
	if (!bpf_core_field_exists(socket->sk))
		return 0;
	sk = BPF_CORE_READ(socket, sk);
	family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (family == FAMILY_INET || family == FAMILY_INET6)
		return BPF_CORE_READ(sk, __sk_common.skc_num);
	own = (void *)sk;
	if (family != FAMILY_UNIX || !bpf_core_field_exists(own->addr))
		return 0;
	return (u64)BPF_CORE_READ(own, addr); /* shared by all of them (unix_stream_connect) */
}

/* Returns the only descriptor that the task waits to read from in a call of this class, or -1. */
static __always_inline s32 client__fd(struct pt_regs *regs, __u32 class)
{
	s32 fd = -1;

	if (class == JANK_CLASS_RECV || class == JANK_CLASS_FD)
		return compat__syscall_arg(regs, 0);
	if (class == JANK_CLASS_POLL_FDS && compat__syscall_arg(regs, 1) == 1)
		bpf_probe_read_user(&fd, sizeof(fd), (void *)compat__syscall_arg(regs, 0));
	return fd;
}

/* The thread, with a loop that accepts, sleeps: does it wait for its client's next request? */
static __noinline int client__is_awaited(struct jank_thread *t, struct task_struct *task)
{
	struct pt_regs *regs = compat__user_regs(task);
	s32 fd = client__fd(regs, poll__class(compat__syscall_nr(regs)));

	return fd >= 0 && client__service(task, fd) == t->service;
}

#endif
