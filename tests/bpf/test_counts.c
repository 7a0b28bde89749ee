/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs that the kernel skips are counted: a program's trace_printk is an event, and the program of
 * that event may not run meanwhile.
 */
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "probes/bpf_fds.h"
#include "tests/tap.h"

/* trace_printk("x"); return 0 */
static const struct bpf_insn printing[] = {
	{ .code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -8, .imm = 'x' },
	{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_10 },
	{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_1, .imm = -8 },
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 2 },
	{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_trace_printk },
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

static const struct bpf_insn nothing[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

/* Older kernels do not count it for programs of trace events; this one does. */
static bool is_counted(void)
{
	struct utsname name;
	int major, minor;

	return !uname(&name) && sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 12));
}

/* 0: there is no such event. */
static unsigned print_event(void)
{
	static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	unsigned id = 0;

	for (size_t i = 0; i < 2 && !id; i++) {
		char path[128];
		FILE *file;

		snprintf(path, sizeof(path), "%s/events/bpf_trace/bpf_trace_printk/id", roots[i]);
		file = fopen(path, "re");
		if (file && fscanf(file, "%u", &id) != 1)
			id = 0;
		if (file)
			fclose(file);
	}
	return id;
}

/* The event of this thread that runs the program, or -1. */
static int attach(int prog, struct perf_event_attr *attr)
{
	int fd;

	attr->size = sizeof(*attr);
	fd = (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0 &&
	    (ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void spin(uint64_t ns)
{
	uint64_t end = clock__thread_ns() + ns;

	while (clock__thread_ns() < end)
		;
}

static void test_skipped(void)
{
	struct perf_event_attr clock = { .type = PERF_TYPE_SOFTWARE,
					 .config = PERF_COUNT_SW_CPU_CLOCK,
					 .sample_period = NS_PER_MS };
	struct perf_event_attr print = { .type = PERF_TYPE_TRACEPOINT,
					 .config = print_event(),
					 .sample_period = 1 };
	int outer = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, NULL, "GPL", printing,
				  sizeof(printing) / sizeof(*printing), NULL);
	int inner = bpf_prog_load(BPF_PROG_TYPE_TRACEPOINT, NULL, "GPL", nothing,
				  sizeof(nothing) / sizeof(*nothing), NULL);
	int on_print = print.config ? attach(inner, &print) : -1, on_clock = -1;

	if (outer < 0 || inner < 0 || on_print < 0 || !is_counted()) {
		skip(2, "no such programs or events here, or they are not counted");
	} else {
		is_uint(bpf_counters__skipped(inner), 0, "no run was skipped yet");
		on_clock = attach(outer, &clock);
		spin(50 * NS_PER_MS);
		ok(bpf_counters__skipped(inner), "runs within another one's are: %llu",
		   (unsigned long long)bpf_counters__skipped(inner));
	}
	close(on_clock);
	close(on_print);
	close(inner);
	close(outer);
}

int main(void)
{
	test_skipped();
	is_uint(bpf_counters__skipped(-1), 0, "no program");
	return tap__done();
}
