/* SPDX-License-Identifier: GPL-2.0 */
/* Our CPU time never falls, whatever happens to our processes. */
#include "session/own_cost.h"

#include "tests/tap.h"

/* The same file asks the probes for their time; a unit test has none. */
bool loader__cost(const struct loader *loader, uint64_t *ret_ns, uint64_t *ret_runs)
{
	return loader && ret_ns && ret_runs;
}

static uint64_t used[100];

static uint64_t cpu_of(pid_t pid)
{
	return used[pid];
}

int main(void)
{
	pid_t pids[OWN_PROCESSES] = { 1, 2 };
	struct own_cpu own = {};

	used[1] = 100;
	used[2] = 1000;
	is_uint(own_cpu__sum(&own, pids, cpu_of), 1100, "the sum of two processes");
	used[2] = 0;
	is_uint(own_cpu__sum(&own, pids, cpu_of), 1100, "one has ended: its time stays");
	pids[1] = 3;
	used[3] = 7;
	is_uint(own_cpu__sum(&own, pids, cpu_of), 1107, "one was restarted: both count");
	pids[1] = 0;
	is_uint(own_cpu__sum(&own, pids, cpu_of), 1107, "it is given up");
	pids[1] = 3;
	used[3] = 9;
	used[1] = 101;
	is_uint(own_cpu__sum(&own, pids, cpu_of), 1117,
		"a process of the same number is another one");
	return tap__done();
}
