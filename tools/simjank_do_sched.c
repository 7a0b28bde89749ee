/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handlers that are runnable and do not get a CPU. */
#include <sched.h>
#include <unistd.h>

#include "simjank_cgroup.h"
#include "simjank_handler.h"

#define NAP_NS (100 * NS_PER_US)

/* Binds the thread to its present CPU. Returns that CPU, or -1; *before is the former affinity. */
static int cpu__bind(cpu_set_t *before)
{
	cpu_set_t one;
	int cpu = sched_getcpu();

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_getaffinity(0, sizeof(*before), before) ||
	    sched_setaffinity(0, sizeof(one), &one))
		return -1;
	return cpu;
}

static WHOLE void do_nap(void)
{
	clock__sleep_until(clock__mono_ns() + NAP_NS);
}

/* Binds to a CPU while it runs: see bound__end. */
HANDLER(runnable)
{
	int cpu = cpu__bind(&stage->unbound);

	if (cpu < 0)
		return;
	stage->bound = true;
	fixture__set_hogs(stage, cpu, end_ns);
	clock__burn_until(end_ns);
}

void bound__end(struct fixture *stage)
{
	if (!stage->bound)
		return;
	stage->bound = false;
	sched_setaffinity(0, sizeof(stage->unbound), &stage->unbound);
}

HANDLER(preempted)
{
	fixture__set_crowd(stage, end_ns);
	clock__burn_until(end_ns);
}

/* Restores the affinity before it ends: a later dispatch must not be starved by this one. */
HANDLER(rt_preempt)
{
	cpu_set_t before;
	int cpu = cpu__bind(&before);

	if (cpu < 0)
		return;
	fixture__set_rt_hog(stage, cpu, end_ns);
	clock__burn_until(end_ns);
	sched_setaffinity(0, sizeof(before), &before);
}

/* A batch task does not preempt the running task when it wakes up. */
HANDLER(wakeup_latency)
{
	const struct sched_param param = { 0 };
	cpu_set_t before;
	int cpu = cpu__bind(&before);

	if (cpu < 0)
		return;
	sched_setscheduler(0, SCHED_BATCH, &param);
	fixture__set_hogs(stage, cpu, end_ns);
	while (clock__mono_ns() < end_ns)
		do_nap();
	sched_setscheduler(0, SCHED_OTHER, &param);
	sched_setaffinity(0, sizeof(before), &before);
}

HANDLER(throttled)
{
	cgroup__set_quota(stage, true);
	clock__burn_until(end_ns);
	cgroup__set_quota(stage, false);
}
