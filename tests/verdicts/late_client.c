/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A client with a clock: late_client OUT_FD IN_FD CPU REQUEST LEAD_MS LATE_MS COUNT, moments on
 * stdin (CLOCK_MONOTONIC in ns). LEAD_MS after each moment it writes REQUEST to OUT_FD and reads
 * one answer from IN_FD. Then it prints "BEFORE AFTER RECEIVED": around the write, and at the
 * answer, less the time for which it waited for its own CPU. It ends after the last moment, or
 * after COUNT answers that took LATE_MS. It skips a moment while it still waits for an answer. It
 * runs on CPU with a real-time priority, for microseconds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000ll

struct client {
	int out, in, schedstat;
	const char *request;
};

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 * MS + ts.tv_nsec;
}

/*
 * How long this thread has waited for a CPU, by the kernel's count, which includes a hypervisor's
 * part.
 */
static int64_t waited_ns(const struct client *client)
{
	char text[128] = "";
	long long ran, waited;

	if (pread(client->schedstat, text, sizeof(text) - 1, 0) < 0 ||
	    sscanf(text, "%lld %lld", &ran, &waited) != 2)
		exit(1);
	return waited;
}

static void sleep_until(int64_t ns)
{
	struct timespec ts = { ns / (1000 * MS), ns % (1000 * MS) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

static void enter(int cpu)
{
	struct sched_param param = { .sched_priority = 90 };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) || sched_setscheduler(0, SCHED_FIFO, &param) ||
	    mlockall(MCL_CURRENT | MCL_FUTURE)) {
		perror("late_client");
		exit(1);
	}
}

/* Returns how long the answer took. */
static int64_t ask(const struct client *client)
{
	int64_t waited = waited_ns(client), before = now_ns(), after, received;
	char answer[4096];

	if (write(client->out, client->request, strlen(client->request)) < 0)
		exit(1);
	after = now_ns();
	if (read(client->in, answer, sizeof(answer)) <= 0)
		exit(1);
	received = now_ns();
	received -= waited_ns(client) - waited;
	printf("%lld %lld %lld\n", (long long)before, (long long)after, (long long)received);
	fflush(stdout);
	return received - before;
}

int main(int argc, char *argv[])
{
	struct client client;
	int64_t lead_ns, late_ns;
	long long moment;
	int left;

	if (argc != 8)
		return 2;
	client = (struct client){ atoi(argv[1]), atoi(argv[2]),
				  open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC), argv[4] };
	lead_ns = atoi(argv[5]) * MS;
	late_ns = atoi(argv[6]) * MS;
	left = atoi(argv[7]);
	enter(atoi(argv[3]));
	while (left && scanf("%lld", &moment) == 1) {
		if (moment + lead_ns < now_ns())
			continue;
		sleep_until(moment + lead_ns);
		left -= ask(&client) >= late_ns;
	}
	return 0;
}
