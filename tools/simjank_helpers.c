/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fixture's helper processes: hogs and a crowd, which starve the loop's thread, the server, the
 * locker, and the continuer, which wakes the program from SIGSTOP. They are processes, because a
 * stop affects all threads, and because a preemptor or peer with another pid is the usual case.
 * They die with the program, however it ends.
 */
#include "simjank_helpers.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simjank_cgroup.h"
#include "simjank_clock.h"
#include "simjank_scenario.h"
#include "simjank_server.h"

#define CROWD_PER_CPU	4
#define RT_HOG_PRIORITY 10

struct hog_order {
	uint64_t end_ns;
	uint64_t cpu;
};

/* The writer is gone: nothing more will come. */
static void order__read(int fd, void *order, size_t size)
{
	ssize_t len;

	do
		len = read(fd, order, size);
	while (len < 0 && errno == EINTR);
	if (len != (ssize_t)size)
		_exit(0);
}

static void hog__obey(int fd)
{
	struct hog_order order;
	cpu_set_t set;

	for (;;) {
		order__read(fd, &order, sizeof(order));
		CPU_ZERO(&set);
		CPU_SET(order.cpu, &set);
		sched_setaffinity(0, sizeof(set), &set);
		clock__burn_until(order.end_ns);
	}
}

static void hog__run(struct fixture *stage, unsigned index)
{
	cgroup__enter_quota(stage);
	hog__obey(stage->hog_fds[0]);
}

/* The program waits for it. */
static void helper__answer(struct fixture *stage, int err)
{
	stage->shared->err = err;
	sem_post(&stage->shared->answer);
}

static int helper__wait_answer(struct fixture *stage)
{
	while (sem_wait(&stage->shared->answer) && errno == EINTR)
		;
	return stage->shared->err;
}

/* If groups have their own real-time shares, only the root's has one. */
static void rt_hog__run(struct fixture *stage, unsigned index)
{
	const struct sched_param param = { .sched_priority = RT_HOG_PRIORITY };

	cgroup__leave("cpu");
	helper__answer(stage, sched_setscheduler(0, SCHED_FIFO, &param) ? -errno : 0);
	hog__obey(stage->rt_hog_fds[0]);
}

/* The n-th CPU that we may use; after the last, the first again. */
static int cpu__nth(unsigned n)
{
	cpu_set_t set;
	int cpu = -1;

	if (sched_getaffinity(0, sizeof(set), &set) || !CPU_COUNT(&set))
		return -1;
	for (n %= (unsigned)CPU_COUNT(&set); n != ~0u; n--)
		do
			cpu++;
		while (!CPU_ISSET(cpu, &set));
	return cpu;
}

static void crowd__run(struct fixture *stage, unsigned index)
{
	int cpu = cpu__nth(index / CROWD_PER_CPU);
	uint64_t end_ns;
	cpu_set_t set;

	CPU_ZERO(&set);
	if (cpu >= 0)
		CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	cgroup__enter_quota(stage);
	for (;;) {
		order__read(stage->crowd_fds[0], &end_ns, sizeof(end_ns));
		clock__burn_until(end_ns);
	}
}

/* By a descriptor of its own: descriptors that a fork shares have one lock. */
static void locker__run(struct fixture *stage, unsigned index)
{
	char path[160];
	uint64_t end_ns;
	int fd;

	snprintf(path, sizeof(path), "%s/lock", stage->path);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	for (;;) {
		order__read(stage->locker_fds[0], &end_ns, sizeof(end_ns));
		flock(fd, LOCK_EX);
		helper__answer(stage, 0);
		clock__sleep_until(end_ns);
		flock(fd, LOCK_UN);
	}
}

static void server__start(struct fixture *stage, unsigned index)
{
	server__run(stage);
}

/* Repeated, because a SIGCONT before the stop has no effect. */
static void continuer__run(struct fixture *stage, unsigned index)
{
	pid_t parent = getppid();
	uint64_t end_ns;

	for (uint32_t turn = 1;; turn++) {
		order__read(stage->continuer_fds[0], &end_ns, sizeof(end_ns));
		for (;; end_ns += NS_PER_MS) {
			clock__sleep_until(end_ns);
			if (__atomic_load_n(&stage->shared->stop_done, __ATOMIC_ACQUIRE) >= turn)
				break;
			kill(parent, SIGCONT);
		}
	}
}

static int helper__fork(struct fixture *stage, const char *name, unsigned index,
			void (*run)(struct fixture *stage, unsigned index))
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid) {
		stage->helpers[stage->helper_cnt++] = pid;
		actors__add(&stage->cast, name, pid, pid);
		return 0;
	}
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	run(stage, index);
	_exit(0);
}

/* --- What the fixture opens: see simjank_helpers.h */

int helpers__open_shared(struct fixture *stage)
{
	stage->shared = mmap(NULL, sizeof(*stage->shared), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stage->shared == MAP_FAILED || sem_init(&stage->shared->answer, 1, 0))
		return -errno;
	return 0;
}

int helpers__fork_hogs(struct fixture *stage)
{
	int err = pipe2(stage->hog_fds, O_CLOEXEC) ? -errno : 0;

	for (unsigned i = 0; !err && i < stage->hog_cnt; i++)
		err = helper__fork(stage, "hog", i, hog__run);
	return err;
}

int helpers__fork_crowd(struct fixture *stage)
{
	int err = pipe2(stage->crowd_fds, O_CLOEXEC) ? -errno : 0;
	cpu_set_t set;

	if (!err && sched_getaffinity(0, sizeof(set), &set))
		err = -errno;
	if (err)
		return err;
	stage->crowd_cnt = (unsigned)CPU_COUNT(&set) * CROWD_PER_CPU;
	if (stage->crowd_cnt > STAGE_CROWD_MAX)
		return -E2BIG;
	for (unsigned i = 0; !err && i < stage->crowd_cnt; i++)
		err = helper__fork(stage, "crowd", i, crowd__run);
	return err;
}

int helpers__fork_rt_hog(struct fixture *stage)
{
	int err = pipe2(stage->rt_hog_fds, O_CLOEXEC) ? -errno : 0;

	if (!err)
		err = helper__fork(stage, "rt-hog", 0, rt_hog__run);
	return err ? err : helper__wait_answer(stage);
}

int helpers__fork_continuer(struct fixture *stage)
{
	int err = pipe2(stage->continuer_fds, O_CLOEXEC) ? -errno : 0;

	return err ? err : helper__fork(stage, "continuer", 0, continuer__run);
}

int helpers__fork_locker(struct fixture *stage)
{
	int err = pipe2(stage->locker_fds, O_CLOEXEC) ? -errno : 0;

	return err ? err : helper__fork(stage, "locker", 0, locker__run);
}

int helpers__fork_server(struct fixture *stage)
{
	int err = server__bind(stage);

	return err ? err : helper__fork(stage, "server", 0, server__start);
}

void fixture__kill(struct fixture *stage)
{
	for (size_t i = 0; i < stage->helper_cnt; i++) {
		kill(stage->helpers[i], SIGKILL);
		while (waitpid(stage->helpers[i], NULL, 0) < 0 && errno == EINTR)
			;
	}
	stage->helper_cnt = 0;
}

/* --- Requests */

void fixture__set_hogs(struct fixture *stage, int cpu, uint64_t end_ns)
{
	struct hog_order order = { .end_ns = end_ns, .cpu = (uint64_t)cpu };

	for (unsigned i = 0; i < stage->hog_cnt; i++)
		if (write(stage->hog_fds[1], &order, sizeof(order)) < 0)
			return;
}

void fixture__set_crowd(struct fixture *stage, uint64_t end_ns)
{
	for (unsigned i = 0; i < stage->crowd_cnt; i++)
		if (write(stage->crowd_fds[1], &end_ns, sizeof(end_ns)) < 0)
			return;
}

void fixture__set_rt_hog(struct fixture *stage, int cpu, uint64_t end_ns)
{
	struct hog_order order = { .end_ns = end_ns, .cpu = (uint64_t)cpu };

	if (write(stage->rt_hog_fds[1], &order, sizeof(order)) < 0)
		errno = 0;
}

void fixture__ask_locker(struct fixture *stage, uint64_t end_ns)
{
	if (write(stage->locker_fds[1], &end_ns, sizeof(end_ns)) > 0)
		helper__wait_answer(stage);
}

void fixture__ask_continue(struct fixture *stage, uint64_t end_ns)
{
	stage->shared->stop_asked++;
	if (write(stage->continuer_fds[1], &end_ns, sizeof(end_ns)) < 0)
		_exit(1); /* nobody would wake us */
}

void fixture__continued(struct fixture *stage)
{
	__atomic_store_n(&stage->shared->stop_done, stage->shared->stop_asked, __ATOMIC_RELEASE);
}
