/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's types as far as the probes read them, curated by hand: CO-RE relocates every access, so
 * only the names of the fields matter, neither their order nor what lies between them. The generated
 * header has 134,000 lines; this one can be read. To add a field: write it down as `bpftool btf dump
 * file /sys/kernel/btf/vmlinux format c` shows it, and look whether older kernels name it so too
 * (bpf/compat.bpf.h is the place for those that don't).
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef __s64 s64;
typedef _Bool bool;
typedef int pid_t;
typedef unsigned short umode_t;

enum { false = 0, true = 1 };

/* uapi/linux/bpf.h: what the probes use of it */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_CGROUP_ARRAY = 8,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_F_NO_PREALLOC = 1,
	BPF_F_USER_STACK = 1 << 8,
	BPF_F_MMAPABLE = 1 << 10,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_RB_AVAIL_DATA = 0,
	BPF_RB_RING_SIZE = 1,
	BPF_RB_CONS_POS = 2,
	BPF_RB_PROD_POS = 3,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12;
	unsigned long bp, bx;
	unsigned long r11, r10, r9, r8;
	unsigned long ax, cx, dx, si, di;
	unsigned long orig_ax;
	unsigned long ip, cs, flags, sp, ss;
};
typedef struct pt_regs bpf_user_pt_regs_t;
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
};
struct pt_regs {
	struct user_pt_regs user_regs;
	__u64 orig_x0;
	__s32 syscallno;
};
typedef struct user_pt_regs bpf_user_pt_regs_t;
#endif

struct bpf_perf_event_data {
	bpf_user_pt_regs_t regs;
	__u64 sample_period;
	__u64 addr;
};

struct super_block {
	u32 s_dev;
};

struct inode {
	umode_t i_mode;
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file_operations;

struct file {
	struct inode *f_inode;
	const struct file_operations *f_op;
	struct path f_path;
	void *private_data;
};

struct address_space {
	struct inode *host;
};

struct page {
	struct address_space *mapping;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct in6_addr {
	__be32 in6_u[4];
};

struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	struct pid *sk_peer_pid;
};

struct socket {
	short type;
	struct sock *sk;
};

struct sockaddr_un {
	char sun_path[108];
};

struct unix_address {
	int len;
	struct sockaddr_un name[0];
};

struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct rq {
	u64 clock;
};

struct cfs_rq {
	struct rq *rq;
	u64 throttled_clock_pelt_time;
	u64 throttled_clock_self;
	u64 throttled_clock_self_time;
	int throttle_count;
};

struct sched_entity {
	u64 exec_start;
	u64 sum_exec_runtime;
	u64 prev_sum_exec_runtime;
	struct cfs_rq *cfs_rq;
};

struct sched_info {
	unsigned long long run_delay;
	unsigned long long last_arrival;
	unsigned long long last_queued;
};

struct cfs_bandwidth {
	u64 quota;
	u64 throttled_time;
};

struct task_group {
	struct cfs_rq **cfs_rq;
	struct task_group *parent;
	struct cfs_bandwidth cfs_bandwidth;
};

struct thread_info {
	unsigned long flags;
	u32 status; /* x86 */
};

/* Its fields are in an anonymous struct, which CO-RE looks through. */
struct mm_struct {
	unsigned long start_stack;
};

/* arch/x86/include/asm/processor.h, arch/arm64/include/asm/processor.h: each has its own. */
struct thread_struct {
	unsigned long fsbase;
	struct {
		unsigned long tp_value;
	} uw;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	void *stack;
	unsigned int flags;
	int prio;
	struct sched_entity se;
	struct sched_info sched_info;
	const struct sched_class *sched_class;
	struct task_group *sched_task_group;
	int on_cpu;
	int wake_cpu;
	unsigned int policy;
	int nr_cpus_allowed;
	unsigned int in_iowait : 1;
	unsigned int frozen : 1;
	bool throttled;
	pid_t pid;
	pid_t tgid;
	struct mm_struct *mm;
	struct thread_struct thread;
	struct files_struct *files;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	u64 start_time;
	unsigned long nvcsw, nivcsw;
	unsigned long min_flt, maj_flt;
	char comm[16];
};

/* Contexts of perf-based system-call tracepoints (include/trace/syscall.h). */
struct trace_entry {
	short unsigned int type;
	unsigned char flags;
	unsigned char preempt_count;
	int pid;
};

struct trace_event_raw_sys_enter {
	struct trace_entry ent;
	long int id;
	long unsigned int args[6];
	char __data[0];
};

struct trace_event_raw_sys_exit {
	struct trace_entry ent;
	long int id;
	long int ret;
	char __data[0];
};

struct linux_binprm;
struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
	u64 seq_num;
} __attribute__((aligned(8)));

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

#endif
