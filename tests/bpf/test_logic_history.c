/* SPDX-License-Identifier: GPL-2.0 */
/* What the probes write into the buffers of --record, read as user space reads it. */
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "probes/history_buffers.h"
#include "tests/bpf/logic_run.h"

#define ENTRIES 64

static struct history_buffers buffers;
static uint32_t cpu;

/* On one CPU, which the programs then run on. */
static void stay(void)
{
	cpu_set_t set;

	cpu = sched_getcpu();
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		ok(false, "sched_setaffinity: %s", strerror(errno));
}

static void tick(uint64_t t_ns, uint64_t ip, bool in_dispatch)
{
	struct logic_step step = { .now_ns = t_ns, .arg = ip, .ret = in_dispatch };

	logic__call(logic.skel->progs.logic_tick, &step, sizeof(step));
}

static size_t copy(struct jank_history_entry **ret)
{
	size_t cnt = 0;

	is_int(history_buffers__copy(&buffers, cpu, 0, UINT64_MAX, ret, &cnt), 0, "a copy");
	return cnt;
}

/* As while the probe writes another entry. */
static void set_busy(bool busy)
{
	int fd = bpf_map__fd(logic.skel->maps.jank_hist_heads);
	struct jank_history_head head;

	if (bpf_map_lookup_elem(fd, &cpu, &head))
		ok(false, "the head: %s", strerror(errno));
	head.busy = busy;
	bpf_map_update_elem(fd, &cpu, &head, BPF_ANY);
}

static void test_fields(void)
{
	struct jank_history_entry *got;

	ok(!history_buffers__has(&buffers, cpu), "nothing at first");
	tick(100, 0x400000, true);
	tick(200, 0xffffffff81000000, false);
	if (!is_uint(copy(&got), 2, "two ticks"))
		return;
	ok(got[0].t_ns == 100 && got[0].kind == JANK_HISTORY_TICK &&
		   got[0].tid == (uint32_t)getpid() && got[0].tgid == (uint32_t)getpid(),
	   "with time and thread");
	is_str(got[0].comm, "ticked", "and its name");
	ok(got[0].prio >= JANK_PRIO_OFFSET + 100 && got[0].prio < JANK_PRIO_OFFSET + 140,
	   "its priority %d", got[0].prio);
	is_int(got[0].state, JANK_HISTORY_DISPATCH | JANK_HISTORY_USER, "user mode, a dispatch");
	is_int(got[1].state, 0, "the kernel, no dispatch");
	free(got);
}

static void test_busy(void)
{
	struct jank_history_entry *got;

	set_busy(true);
	tick(300, 0, false);
	is_uint(copy(&got), 2, "a tick gives way to an entry that is being written");
	free(got);
	set_busy(false);
	tick(400, 0, false);
	is_uint(copy(&got), 3, "the next one does not");
	is_uint(got[2].t_ns, 400, "and takes the place");
	free(got);
}

static void test_overwritten(void)
{
	struct jank_history_entry *got;
	size_t cnt;

	for (uint64_t i = 1; i <= 1000; i++)
		tick(1000 + i, 0, false);
	cnt = copy(&got);
	ok(cnt == ENTRIES - ENTRIES / 16 && got[cnt - 1].t_ns == 2000 && got[0].t_ns == 2001 - cnt,
	   "the last ones are left, in order");
	free(got);
	for (uint32_t other = 0; other < buffers.size.cpu_cnt; other++)
		ok(other == cpu || !history_buffers__has(&buffers, other), "CPU %u has %s", other,
		   other == cpu ? "them" : "none");
}

int main(void)
{
	struct jank_conf conf = logic__conf();
	const struct history_size size = { ENTRIES, libbpf_num_possible_cpus() };

	LOGIC_START("logic_wait", "logic_tick");
	conf.history_cnt = ENTRIES;
	stay();
	prctl(PR_SET_NAME, "ticked");
	if (!ok(logic__try_load(&conf), "the programs load with buffers"))
		return logic__done();
	is_int(history_buffers__open(&buffers, bpf_map__fd(logic.skel->maps.jank_history),
				     bpf_map__fd(logic.skel->maps.jank_hist_heads), &size),
	       0, "user space maps them");
	test_fields();
	test_busy();
	test_overwritten();
	history_buffers__close(&buffers);
	return logic__done();
}
