/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The least that any tracer of epoll loops can cost: empty programs at a switch, a wake-up and
 * epoll's return. Prints "begun" when they are attached, and stays until a signal ends it.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EPOLL_RETURN "/sys/kernel/tracing/events/syscalls/sys_exit_epoll_wait/id"

static int fail(const char *what)
{
	fprintf(stderr, "bench_empty: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* r0 = 0; exit */
static int load(enum bpf_prog_type type)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(type, "empty", "GPL", insns, 2, NULL);

	return fd < 0 ? fail("a program's load") : fd;
}

static void attach_raw(const char *name)
{
	if (bpf_raw_tracepoint_open(name, load(BPF_PROG_TYPE_RAW_TRACEPOINT)) < 0)
		fail(name);
}

static void attach_epoll(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.sample_period = 1,
	};
	FILE *file = fopen(EPOLL_RETURN, "re");
	int fd;

	if (!file || fscanf(file, "%llu", (unsigned long long *)&attr.config) != 1)
		fail(EPOLL_RETURN);
	fclose(file);
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_BPF, load(BPF_PROG_TYPE_TRACEPOINT)) ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		fail("epoll's return");
}

int main(void)
{
	attach_raw("sched_switch");
	attach_raw("sched_waking");
	attach_epoll();
	puts("begun");
	fflush(stdout);
	pause();
	return 0;
}
