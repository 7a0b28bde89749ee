/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens a sampling event on each online CPU and attaches the sampler to it. */
#include "probes/perf_event.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "uprobes/links.h"

struct perf_events {
	struct bpf_link **links;
	unsigned cnt;
	bool hw;
};

/*
 * Idle CPUs need ticks, too: they notice a long wait when no thread runs. The cycles counter stops
 * on an idle CPU.
 */
static int open_event(int cpu, unsigned hz, bool hw)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = hw ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.config =
			hw ? (uint64_t)PERF_COUNT_HW_CPU_CYCLES : (uint64_t)PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = hz,
	};

	return syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int attach_cpu(struct perf_events *events, struct bpf_program *prog, int cpu, unsigned hz)
{
	int fd = open_event(cpu, hz, events->hw);
	struct bpf_link *link;

	if (fd < 0 && events->hw && !events->cnt) {
		events->hw = false;
		fd = open_event(cpu, hz, false);
	}
	if (fd < 0)
		return -errno;
	link = bpf_program__attach_perf_event(prog, fd); /* the link owns fd now */
	if (!link) {
		int res = -errno;

		close(fd);
		return res;
	}
	events->links[events->cnt++] = link;
	return 0;
}

int perf_events__new(struct bpf_program *prog, unsigned hz, bool hw, struct perf_events **ret,
		     struct err *err)
{
	int cpus = libbpf_num_possible_cpus(), res = -ENOMEM;
	struct perf_events *events = calloc(1, sizeof(*events));

	if (!events || cpus <= 0)
		goto fail;
	events->hw = hw;
	events->links = calloc(cpus, sizeof(struct bpf_link *));
	if (!events->links)
		goto fail;
	for (int cpu = 0; cpu < cpus; cpu++) {
		res = attach_cpu(events, prog, cpu, hz);
		if (res && res != -ENODEV) /* offline */
			goto fail;
	}
	*ret = events;
	return 0;
fail:
	perf_events__free(events);
	return err__set_exit(
		err, JANK_EXIT_CANNOT, -res,
		"cannot open the sampling clock: %s; run with -F 0 to do without stacks of "
		"running code, and see `jankbpf doctor`",
		strerror(-res));
}

void perf_events__free(struct perf_events *events)
{
	if (!events)
		return;
	links__destroy(events->links, events->cnt);
	free(events->links);
	free(events);
}

const char *perf_events__clock(const struct perf_events *events)
{
	return events->hw ? "cycles" : "cpu-clock";
}
