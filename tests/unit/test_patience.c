/* SPDX-License-Identifier: GPL-2.0 */
/* Patience with a process that owes an answer: by what it did, tick by tick. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "name/patience.h"
#include "tests/tap.h"

#define LIMIT (5 * NS_PER_SEC)
#define TICK  PATIENCE_TICK_NS

/*
 * The tick at which the patience ends; 0: in none of the first 1,000. In each one the process runs
 * for ran_ns; it wants a CPU at the end of `of` of 10.
 */
static unsigned ends_at(uint64_t tick_ns, uint64_t ran_ns, unsigned of)
{
	struct patience patience = {};

	for (unsigned i = 1; i <= 1000; i++)
		if (patience__tick(&patience, i * tick_ns, i * ran_ns, i % 10 < of, LIMIT))
			return i;
	return 0;
}

static void test_ticks(void)
{
	is_uint(ends_at(TICK, 0, 0), 21, "it sleeps: 5 s after the first tick");
	is_uint(ends_at(TICK, TICK, 10), 22, "it runs: after 5 s of CPU time");
	is_uint(ends_at(TICK, TICK / 50, 10), 242, "starved: after a minute");
	is_uint(ends_at(12 * TICK, 0, 0), 21, "our own thread is starved: its ticks count");
	is_uint(ends_at(TICK, 0, 9), 199,
		"it waits for a CPU at nine of ten ticks: 20 ticks asleep");
	is_uint(ends_at(TICK, 10 * NS_PER_MS, 0), 242, "it runs a little in each tick: a minute");
}

/* The kernel's figures. */
static void test_process(void)
{
	struct patience busy = {}, asleep = {};
	pid_t runs = fork(), sleeps;
	unsigned ticks = 0;

	if (!runs)
		for (;;)
			;
	sleeps = fork();
	if (!sleeps)
		for (;;)
			pause();
	while (!patience__ends(&asleep, sleeps, NS_PER_SEC) && ticks++ < 50)
		usleep(TICK / 1000);
	is_uint(ticks, 4, "a process that sleeps has a second");
	while (!patience__ends(&busy, runs, NS_PER_SEC / 10) && ticks++ < 400)
		usleep(TICK / 1000);
	ok(busy.cpu_ns - busy.begin_cpu_ns > NS_PER_SEC / 10 && !busy.asleep_cnt,
	   "one that runs has its CPU time");
	kill(runs, SIGKILL);
	kill(sleeps, SIGKILL);
	while (wait(NULL) > 0)
		;
}

int main(void)
{
	test_ticks();
	test_process();
	return tap__done();
}
