/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `make bench` traces for its micro figures: loops of only the thing to be measured.
 *
 *   bench_epoll CPU      reads lines "MODE MS", runs MODE for MS ms on that CPU, answers "NS MIN":
 *                        CPU time of one turn, median and least of many short stretches
 *
 * CPU time and not wall time, and the median of stretches of a millisecond, because the machine
 * does other work meanwhile. Each turn has new threads, so that no mode inherits another's state.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STRETCH_NS  1000000
#define STRETCH_MAX 4096

/* One end of a ping-pong, or the only thread. */
struct side {
	int rd, wr; /* one byte each turn */
	int ready;  /* an eventfd that is always readable */
	int loop;   /* epoll on rd */
	int busy;   /* epoll on ready */
};

struct mode {
	const char *name;
	void (*turn)(const struct side *side);
	bool answered;	 /* by a second thread */
	bool dispatched; /* both threads are always in a dispatch */
};

struct run {
	const struct mode *mode;
	uint64_t limit_ns;
	struct side sides[2];
	double ns[STRETCH_MAX];
	size_t cnt;
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int wait_for(int epoll)
{
	struct epoll_event event;

	return epoll_wait(epoll, &event, 1, -1);
}

static void turn_epoll(const struct side *side)
{
	wait_for(side->busy);
}

static void turn_syscall(const struct side *side)
{
	syscall(SYS_getppid);
}

static void put(const struct side *side, char byte)
{
	if (write(side->wr, &byte, 1) != 1)
		exit(1);
}

static char get(const struct side *side)
{
	char byte = 0;

	if (read(side->rd, &byte, 1) != 1)
		exit(1);
	return byte;
}

static void turn_switch(const struct side *side)
{
	put(side, 1);
	get(side);
}

static void turn_loop(const struct side *side)
{
	put(side, 2);
	wait_for(side->loop);
	get(side);
}

static const struct mode modes[] = {
	{ "epoll", turn_epoll, false, false },
	{ "syscall", turn_syscall, false, false },
	{ "switch", turn_switch, true, false },		/* two switches, no loop */
	{ "switch-dispatch", turn_switch, true, true }, /* two switches within dispatches */
	{ "loop", turn_loop, true, false },		/* two switches, two dispatches */
};

/* Answers until a 0 comes; from the first 2 on, it waits by epoll as the other side does. */
static void *answer(void *arg)
{
	const struct run *run = arg;
	const struct side *side = &run->sides[1];
	char byte = 1;

	if (run->mode->dispatched)
		wait_for(side->busy);
	while (byte) {
		if (byte == 2)
			wait_for(side->loop);
		byte = get(side);
		if (byte)
			put(side, byte);
	}
	return NULL;
}

static double stretch(const struct run *run, unsigned turns)
{
	uint64_t begin = now_ns(CLOCK_PROCESS_CPUTIME_ID);

	for (unsigned i = 0; i < turns; i++)
		run->mode->turn(&run->sides[0]);
	return (double)(now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) / turns;
}

static void *measure(void *arg)
{
	struct run *run = arg;
	uint64_t end = now_ns(CLOCK_MONOTONIC) + run->limit_ns;
	unsigned turns;

	if (run->mode->dispatched)
		wait_for(run->sides[0].busy);
	stretch(run, 32); /* warm */
	turns = STRETCH_NS / stretch(run, 32) + 1;
	while (run->cnt < STRETCH_MAX && (!run->cnt || now_ns(CLOCK_MONOTONIC) < end))
		run->ns[run->cnt++] = stretch(run, turns);
	if (run->mode->answered)
		put(&run->sides[0], 0);
	return NULL;
}

static int new_epoll(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		exit(1);
	return epoll;
}

static void open_sides(struct side sides[2])
{
	int there[2], back[2];

	if (pipe(there) || pipe(back))
		exit(1);
	sides[0] = (struct side){ .rd = back[0], .wr = there[1] };
	sides[1] = (struct side){ .rd = there[0], .wr = back[1] };
	for (int i = 0; i < 2; i++) {
		sides[i].ready = eventfd(1, EFD_CLOEXEC);
		sides[i].loop = new_epoll(sides[i].rd);
		sides[i].busy = new_epoll(sides[i].ready);
	}
}

static void close_sides(struct side sides[2])
{
	for (int i = 0; i < 2; i++) {
		close(sides[i].loop);
		close(sides[i].busy);
		close(sides[i].ready);
		close(sides[i].rd);
		close(sides[i].wr);
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void run_mode(const struct mode *mode, unsigned ms)
{
	static struct run run;
	pthread_t measurer, answerer;

	run = (struct run){ .mode = mode, .limit_ns = ms * 1000000ULL };
	open_sides(run.sides);
	if (mode->answered && pthread_create(&answerer, NULL, answer, &run))
		exit(1);
	if (pthread_create(&measurer, NULL, measure, &run))
		exit(1);
	pthread_join(measurer, NULL);
	if (mode->answered)
		pthread_join(answerer, NULL);
	close_sides(run.sides);
	qsort(run.ns, run.cnt, sizeof(*run.ns), by_value);
	printf("%.2f %.2f\n", run.ns[run.cnt / 2], run.ns[0]);
	fflush(stdout);
}

static const struct mode *find(const char *name)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(name, modes[i].name))
			return &modes[i];
	fprintf(stderr, "bench_epoll: '%s': no such mode\n", name);
	exit(2);
}

static void pin(const char *cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(atoi(cpu), &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		fprintf(stderr, "bench_epoll: cannot run on CPU '%s'\n", cpu);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	char name[32];
	unsigned ms;

	if (argc != 2) {
		fprintf(stderr, "Usage: bench_epoll CPU < MODES\n");
		return 2;
	}
	pin(argv[1]);
	while (scanf("%31s %u", name, &ms) == 2)
		run_mode(find(name), ms);
	return 0;
}
