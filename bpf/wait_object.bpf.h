/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Object that a thread waited for off the CPU: a file, or a socket with both ends. The kernel's
 * objects are read only when the wait turns out long. The data in the program's memory was read
 * when the thread left (wait_args.bpf.h).
 */
#ifndef JANK_WAIT_OBJECT_BPF_H
#define JANK_WAIT_OBJECT_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/fd.bpf.h"
#include "bpf/record.bpf.h"

#include <bpf/bpf_endian.h>

#define FAMILY_UNIX  1
#define FAMILY_INET  2
#define FAMILY_INET6 10

/* Writes the components of a path, leaf first, each with its zero byte. */
static __noinline int wait_object__name(char *name, struct dentry *dentry)
{
	__u32 at = 0;
	long len;

	for (int i = 0; i < 12; i++) {
		struct dentry *parent = BPF_CORE_READ(dentry, d_parent);

		/* A root's name is of no use, unless the file is nothing else: "[eventfd]". */
		if (!dentry || (i && parent == dentry) || at >= JANK_WAITED_NAME_SZ / 2)
			break;
		len = bpf_probe_read_kernel_str(name + at, JANK_WAITED_NAME_SZ / 2,
						BPF_CORE_READ(dentry, d_name.name));
		if (len <= 0)
			break;
		at += len;
		dentry = parent;
	}
	return 0;
}

static __always_inline void wait_object__unix(struct jank_rec_waited *rec, struct sock *sk)
{
	struct unix_sock *own = (void *)sk, *peer;
	struct unix_address *addr;
	struct sockaddr_un *bound;
	const char *path;
	u64 len;

	if (!bpf_core_field_exists(own->addr) || !bpf_core_field_exists(own->peer) ||
	    !bpf_core_field_exists(struct unix_address, len))
		return;
	peer = (void *)BPF_CORE_READ(own, peer);
	addr = peer ? BPF_CORE_READ(peer, addr) : NULL;
	if (!addr)
		addr = BPF_CORE_READ(own, addr);
	if (!addr)
		return;
	bound = (void *)addr + bpf_core_field_offset(struct unix_address, name);
	path = (void *)bound + bpf_core_field_offset(struct sockaddr_un, sun_path);
	bpf_probe_read_kernel_str(rec->name, sizeof(rec->name), path);
	if (rec->name[0])
		return;
	/* Abstract namespace: the name follows a zero byte; the address length gives its length. */
	rec->name[0] = '@';
	len = (__u32)BPF_CORE_READ(addr, len) - sizeof(__u16) - 1;
	if (len < sizeof(rec->name) - 1)
		bpf_probe_read_kernel(rec->name + 1, len, path + 1);
}

static __always_inline void wait_object__ends(struct jank_rec_waited *rec, struct sock *sk)
{
	rec->state = BPF_CORE_READ(sk, __sk_common.skc_state);
	rec->sport = BPF_CORE_READ(sk, __sk_common.skc_num);
	rec->dport = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (rec->family == FAMILY_INET) {
		BPF_CORE_READ_INTO((__be32 *)rec->saddr, sk, __sk_common.skc_rcv_saddr);
		BPF_CORE_READ_INTO((__be32 *)rec->daddr, sk, __sk_common.skc_daddr);
	} else if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		bpf_core_read(rec->saddr, sizeof(rec->saddr), &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_core_read(rec->daddr, sizeof(rec->daddr), &sk->__sk_common.skc_v6_daddr);
	}
}

/*
 * Returns the process that connected to it, or that listened at the other end; 0: none, or not
 * known.
 */
static __always_inline __u32 wait_object__peer_pid(struct sock *sk)
{
	struct upid *upid;
	struct pid *pid;

	if (!bpf_core_field_exists(sk->sk_peer_pid) || !bpf_core_field_exists(struct upid, nr))
		return 0;
	pid = BPF_CORE_READ(sk, sk_peer_pid);
	if (jank_conf.pid_level)
		return pids__inside(pid);
	upid = (void *)pid + bpf_core_field_offset(struct pid, numbers);
	return pid ? BPF_CORE_READ(upid, nr) : 0;
}

static __noinline int wait_object__socket(struct jank_rec_waited *rec, struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);

	if (!bpf_core_field_exists(socket->sk) || !sk)
		return 0;
	rec->type = BPF_CORE_READ(socket, type);
	rec->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (rec->family == FAMILY_UNIX)
		wait_object__unix(rec, sk);
	else if (rec->family == FAMILY_INET || rec->family == FAMILY_INET6)
		wait_object__ends(rec, sk);
	rec->peer_pid = wait_object__peer_pid(sk);
	rec->hdr.flags |= JANK_WAITED_SOCKET;
	return 0;
}

static __always_inline void wait_object__inode(struct jank_rec_waited *rec, struct inode *inode)
{
	rec->inode = BPF_CORE_READ(inode, i_ino);
	rec->mode = BPF_CORE_READ(inode, i_mode);
	rec->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	rec->hdr.flags |= JANK_WAITED_FILE;
}

static __always_inline void wait_object__file(struct jank_rec_waited *rec, struct task_struct *task,
					      s32 fd)
{
	struct file *file;

	if (fd < 0 || fd__file(task, fd, &file) || !file)
		return;
	rec->fd = fd;
	wait_object__inode(rec, BPF_CORE_READ(file, f_inode));
	if ((rec->mode & S_IFMT) == S_IFSOCK)
		wait_object__socket(rec, file);
	else
		wait_object__name(rec->name, BPF_CORE_READ(file, f_path.dentry));
}

/* A minimised BTF made before these fields were used lacks some. */
static __always_inline bool wait_object__has_types(void)
{
	return bpf_core_field_exists(struct inode, i_sb) &&
	       bpf_core_field_exists(struct super_block, s_dev) &&
	       bpf_core_field_exists(struct file, f_path) &&
	       bpf_core_field_exists(struct dentry, d_name);
}

/*
 * Sends what `task` waited for. The task left the CPU in the span and is still in its system call.
 */
static __noinline int wait_object__send(const struct jank_rec_stack *span,
					const struct jank_await *await, struct task_struct *task)
{
	struct pt_regs *regs = compat__user_regs(task);
	struct jank_rec_waited *rec;

	if (record__is_crowded())
		goto shed;
	rec = bpf_ringbuf_reserve(&jank_ring, sizeof(*rec), 0);
	if (!rec)
		goto shed;
	__builtin_memset(rec, 0, sizeof(*rec));
	record__head(&rec->hdr, JANK_REC_WAITED, sizeof(*rec), span->hdr.ts_ns, task);
	rec->dispatch_ns = span->dispatch_ns;
	rec->t_ns = span->t_ns;
	rec->fd = -1;
	rec->timeout_ns = await->got & JANK_WAITED_TIMEOUT ? await->timeout_ns : ~0ull;
	rec->futex_word = await->futex_word;
	rec->owner = await->owner;
	rec->hdr.flags = await->got & (JANK_WAITED_TIMEOUT | JANK_WAITED_FUTEX | JANK_WAITED_PATH);
	if (span->syscall >= 0) {
		rec->hdr.flags |= JANK_WAITED_ARGS;
		rec->args[0] = compat__syscall_arg(regs, 0);
		rec->args[1] = compat__syscall_arg(regs, 1);
		rec->args[2] = compat__syscall_arg(regs, 2);
		rec->args[3] = compat__syscall_arg(regs, 3);
	}
	if (await->got & JANK_WAITED_PATH) {
		rec->fd = await->fd;
		bpf_probe_read_kernel(rec->name, sizeof(rec->name), await->path);
	} else if (wait_object__has_types()) {
		wait_object__file(rec, task, await->fd);
		if (span->state == JANK_STATE_PAGE_FAULT && await->inode)
			wait_object__inode(rec, (struct inode *)await->inode);
	}
	if (span->state == JANK_STATE_BINDER && await->got & JANK_WAITED_BINDER) {
		rec->peer_pid = await->server;
		rec->binder_code = await->code;
		rec->hdr.flags |= JANK_WAITED_BINDER;
	}
	record__comm(rec->comm, task);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
shed:
	lost__add(JANK_LOST_SAMPLE_SHED);
	return -1;
}

#endif
