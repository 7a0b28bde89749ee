/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each probe takes at an event: a loop in epoll and its client, on one CPU, take turns. Prints
 * "NAME RUNS NS" for each program that ran, and "empty 0 NS" for an empty one, by the kernel's BPF
 * statistics, which all of them include. With a second CPU, this process runs there.
 *
 *   bench_events [plain]
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "probes/bpf_fds.h"
#include "probes/features.h"
#include "probes/loader.h"

#define PROGRAM_MAX 64
#define WARM_US	    300000
#define MEASURE_US  500000

struct program {
	char name[32];
	uint64_t ns, runs;
};

struct programs {
	struct program at[PROGRAM_MAX];
	size_t cnt;
};

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void pass(int fd)
{
	if (write(fd, "", 1) != 1)
		_exit(1);
}

static void take(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		_exit(1);
}

static void run_loop(int rd, int wr)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0);

	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, rd, &event))
		_exit(1);
	for (;;) {
		if (epoll_wait(epoll, &event, 1, -1) != 1)
			continue;
		take(rd);
		pass(wr);
	}
}

/* SCHED_IDLE: it does not preempt the loop, since switches within dispatches cost more. */
static void run_client(int rd, int wr)
{
	const struct sched_param none = {};

	sched_setscheduler(0, SCHED_IDLE, &none);
	for (;;) {
		pass(wr);
		take(rd);
	}
}

/* They end with this process. -1: no process could be started. */
static pid_t start(void (*run)(int rd, int wr), int rd, int wr)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	stay_on(0);
	run(rd, wr);
	return 0;
}

static void note(void *ctx, const char *name, int fd)
{
	struct programs *programs = ctx;
	struct program *program = &programs->at[programs->cnt];

	if (programs->cnt == PROGRAM_MAX)
		return;
	programs->cnt++;
	snprintf(program->name, sizeof(program->name), "%s", name);
	bpf_counters__add_cost(fd, &program->ns, &program->runs);
}

static int measure(struct loader *loader)
{
	struct programs before = {}, after = {};
	int stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (stats_fd < 0)
		return -errno;
	usleep(WARM_US);
	loader__each_program(loader, note, &before);
	usleep(MEASURE_US);
	loader__each_program(loader, note, &after);
	close(stats_fd);
	for (size_t i = 0; i < after.cnt; i++) {
		const uint64_t runs = after.at[i].runs - before.at[i].runs;

		if (runs)
			printf("%s %llu %llu\n", after.at[i].name, (unsigned long long)runs,
			       (unsigned long long)((after.at[i].ns - before.at[i].ns) / runs));
	}
	printf("empty 0 %llu\n", (unsigned long long)bpf_counters__empty_run_ns());
	return 0;
}

static int trace(pid_t pid, const struct features *feats, struct kernel_types *types,
		 struct err *err)
{
	const struct loader_opts opts = {
		.features = feats,
		.types = types,
		.threshold_ns = 100 * NS_PER_MS,
		.evidence_ns = 100 * NS_PER_MS,
		.hang_ns = 5 * NS_PER_SEC,
		.only_pid = pid,
		.stack_sz = JANK_COPY_SZ,
	};
	struct loader *loader = NULL;
	int res = loader__new(&opts, &loader, err);

	if (!res)
		res = loader__attach(loader, err);
	if (!res && measure(loader))
		res = err__set(err, ENOTSUP, "the kernel has no statistics of BPF programs");
	loader__free(loader);
	return res;
}

int main(int argc, char **argv)
{
	const char *without[] = { "tp_btf" };
	int to_loop[2], to_client[2];
	struct features feats;
	struct err err = {};
	struct kernel_types *types;
	pid_t loop;

	stay_on(1);
	types = kernel_types__read();
	if (features__probe(types, without, argc > 1 && !strcmp(argv[1], "plain"), &feats, &err) ||
	    features__require(&feats, &err))
		goto fail;
	if (pipe(to_loop) || pipe(to_client))
		return 1;
	loop = start(run_loop, to_loop[0], to_client[1]);
	if (loop < 0 || start(run_client, to_client[0], to_loop[1]) < 0)
		return 1;
	if (!trace(loop, &feats, types, &err))
		return 0;
fail:
	fprintf(stderr, "bench_events: %s\n", err.msg);
	return 1;
}
