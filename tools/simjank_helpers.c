/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stage's helper processes: hogs, which starve the loop's thread, and the continuer, which wakes
 * the program from SIGSTOP. Processes and not threads, since a stop takes every thread along, and a
 * preemptor with another pid is the usual case. They die with the program, however it ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simjank_clock.h"
#include "simjank_scenario.h"
#include "simjank_stage.h"

struct hog_order {
	uint64_t end_ns;
	uint64_t cpu;
};

/* Of a pipe whose writer is gone nothing more will come. */
static void order__read(int fd, void *order, size_t size)
{
	ssize_t len;

	do
		len = read(fd, order, size);
	while (len < 0 && errno == EINTR);
	if (len != (ssize_t)size)
		_exit(0);
}

static void hog__run(struct stage *stage)
{
	struct hog_order order;
	cpu_set_t set;

	for (;;) {
		order__read(stage->hog_fds[0], &order, sizeof(order));
		CPU_ZERO(&set);
		CPU_SET(order.cpu, &set);
		sched_setaffinity(0, sizeof(set), &set);
		clock__burn_until(order.end_ns);
	}
}

/* Again and again, since a SIGCONT that comes before the stop has no effect. */
static void continuer__run(struct stage *stage)
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

static int helper__fork(struct stage *stage, const char *name, void (*run)(struct stage *stage))
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid) {
		stage->helpers[stage->helper_cnt++] = pid;
		return 0;
	}
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	run(stage);
	_exit(0);
}

int stage__fork(struct stage *stage, const char **what)
{
	int err = 0;

	*what = "helper processes";
	stage->shared = mmap(NULL, sizeof(*stage->shared), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stage->shared == MAP_FAILED || pipe2(stage->hog_fds, O_CLOEXEC) ||
	    pipe2(stage->continuer_fds, O_CLOEXEC))
		return -errno;
	for (unsigned i = 0; !err && i < stage->hog_cnt && stage->needs & NEED_HOGS; i++)
		err = helper__fork(stage, "hog", hog__run);
	if (!err && stage->needs & NEED_CONTINUER)
		err = helper__fork(stage, "continuer", continuer__run);
	return err;
}

void stage__kill(struct stage *stage)
{
	for (size_t i = 0; i < stage->helper_cnt; i++) {
		kill(stage->helpers[i], SIGKILL);
		while (waitpid(stage->helpers[i], NULL, 0) < 0 && errno == EINTR)
			;
	}
	stage->helper_cnt = 0;
}

void stage__set_hogs(struct stage *stage, int cpu, uint64_t end_ns)
{
	struct hog_order order = { .end_ns = end_ns, .cpu = (uint64_t)cpu };

	for (unsigned i = 0; i < stage->hog_cnt; i++)
		if (write(stage->hog_fds[1], &order, sizeof(order)) < 0)
			return;
}

void stage__ask_continue(struct stage *stage, uint64_t end_ns)
{
	stage->shared->stop_asked++;
	if (write(stage->continuer_fds[1], &end_ns, sizeof(end_ns)) < 0)
		_exit(1); /* nobody would wake us */
}

void stage__continued(struct stage *stage)
{
	__atomic_store_n(&stage->shared->stop_done, stage->shared->stop_asked, __ATOMIC_RELEASE);
}
