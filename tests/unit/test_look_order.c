/* SPDX-License-Identifier: GPL-2.0 */
/* Which process is looked at first. */
#include "session/look_order.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/tap.h"

static void is_order(struct look_order *order, const uint32_t *pids, const char *what)
{
	size_t same = 0;

	look_order__sort(order);
	for (size_t i = 0; i < order->cnt; i++)
		same += order->entries[i].pid == pids[i];
	is_uint(same, order->cnt, "%s", what);
}

static void test_order(void)
{
	static const struct look_order_entry entries[] = {
		{ 1, 'R', 10 }, { 2, 'S', 30 }, { 3, 'S', 20 }, { 4, 'D', 90 },
		{ 5, 'D', 80 }, { 6, 'Z', 0 },	{ 7, 'S', 20 },
	};
	struct look_order order = {};

	look_order__sort(&order);
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++)
		look_order__add(&order, &entries[i]);
	is_order(&order, (const uint32_t[]){ 5, 4, 3, 7, 2, 6, 1 },
		 "state D, then long sleepers, then the others");
	look_order__free(&order);
}

static void test_full(void)
{
	struct look_order_entry entry = { .state = 'S' };
	struct look_order order = {};
	int res = 0;

	for (entry.pid = 1; entry.pid <= LOOK_ORDER_MAX; entry.pid++)
		res |= look_order__add(&order, &entry);
	is_int(res, 0, "there is room for many");
	is_int(look_order__add(&order, &entry), -ENOSPC, "but not for more");
	look_order__free(&order);
}

static bool sleeps(pid_t pid)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (file && fscanf(file, "%*d %*s %c", &state) != 1)
		state = 0;
	if (file)
		fclose(file);
	return state == 'S';
}

/* The clocks of two CPUs may differ. */
static void stay_on_one_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* A child that sleeps, and its parent, which runs again after that. */
static void test_ran(void)
{
	const struct timespec time = { .tv_nsec = 10000000 };
	pid_t child;

	stay_on_one_cpu();
	child = fork();

	if (!child) {
		pause();
		_exit(0);
	}
	while (!sleeps(child))
		nanosleep(&time, NULL);
	nanosleep(&time, NULL);
	if (!look_order__ran_ns((uint32_t)getpid()))
		skip(1, "no /proc/PID/sched");
	else
		ok(look_order__ran_ns((uint32_t)child) < look_order__ran_ns((uint32_t)getpid()),
		   "a thread that sleeps ran earlier");
	is_uint(look_order__ran_ns(0x7fffffff), 0, "not known of no process");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

int main(void)
{
	test_order();
	test_full();
	test_ran();
	return tap__done();
}
