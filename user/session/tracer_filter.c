/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/tracer_filter.h"

#include <linux/bpf.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "deliver/deliver_confine.h"
#include "name/name.h"

#define INT		 UINT32_MAX /* the kernel ignores the upper half of such an argument */
#define IOCTL_TYPE	 0xff00
#define IOCTL_PERF_EVENT ('$' << 8)

static const struct syscall_rule tracer_rules[] = {
	{ "sched_setaffinity", { { 0, INT, 0 } } }, /* its own thread */
	{ "ioctl", { { 1, IOCTL_TYPE, IOCTL_PERF_EVENT } } },
	{ "socket", { { 0, INT, AF_NETLINK }, { 2, INT, NETLINK_SOCK_DIAG } } },
	{ "setsockopt", { { 1, INT, SOL_SOCKET }, { 2, INT, SO_SNDTIMEO } } },
	{ "setsockopt", { { 1, INT, SOL_SOCKET }, { 2, INT, SO_RCVTIMEO } } },
	{}
};

const struct syscall_list tracer_calls = {
	/* probes, the ring, events */
	"perf_event_open epoll_create1 epoll_ctl epoll_wait epoll_pwait eventfd2 timerfd_create"
	" timerfd_settime signalfd4"
	/* other processes: their memory, descriptors and end */
	" process_vm_readv pidfd_open pidfd_getfd kcmp getsockopt getsockname getpeername kill"
	/* files of other processes, /proc, debug files */
	" open openat2 stat lstat statfs fstatfs name_to_handle_at open_by_handle_at dup memfd_create"
	/* our processes, and sockets of the kernel: sock_diag */
	" socketpair recvmsg sendto shutdown"

	/* our threads */
	" setpriority getpriority sched_getaffinity sched_yield clock_nanosleep clock_getres getrusage"
	" tgkill getppid getgid getegid getsid",
	tracer_rules,
};

static const struct syscall_list start_calls = { "bpf", NULL };

static const struct syscall_rule run_rules[] = { { "bpf", { { 0, INT, BPF_MAP_LOOKUP_ELEM } } },
						 { "bpf", { { 0, INT, BPF_MAP_UPDATE_ELEM } } },
						 { "bpf", { { 0, INT, BPF_MAP_DELETE_ELEM } } },
						 { "bpf", { { 0, INT, BPF_MAP_GET_NEXT_KEY } } },
						 { "bpf", { { 0, INT, BPF_PROG_TEST_RUN } } },
						 { "bpf", { { 0, INT, BPF_OBJ_GET_INFO_BY_FD } } },
						 { "bpf", { { 0, INT, BPF_RAW_TRACEPOINT_OPEN } } },
						 { "bpf", { { 0, INT, BPF_LINK_CREATE } } },
						 { "bpf", { { 0, INT, BPF_ENABLE_STATS } } },
						 { "bpf", { { 0, INT, BPF_ITER_CREATE } } },
						 {} };

static const struct syscall_list run_calls = { "", run_rules };

/* The control socket of an agent. */
static const struct syscall_list control_calls = { "accept4", NULL };
static const struct syscall_list no_calls = { "", NULL };

/* A deliverer that is started again inherits the filter. */
static int install(const struct syscall_list *bpf_calls, enum deliver_kind kind, bool control)
{
	const struct syscall_list *const lists[] = {
		&syscalls_base,
		&syscalls_file_code,
		&deliver_calls,
		&deliver_start_calls,
		&name_calls,
		&tracer_calls,
		bpf_calls,
		control ? &control_calls : &no_calls,
		deliver__more_calls(kind), /* may be NULL: the end */
		NULL,
	};

	return syscall_filter__install(lists, NULL);
}

int tracer_filter__start(enum deliver_kind kind, bool control)
{
	return install(&start_calls, kind, control);
}

int tracer_filter__run(enum deliver_kind kind, bool control)
{
	return install(&run_calls, kind, control);
}
