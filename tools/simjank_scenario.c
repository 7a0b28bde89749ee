/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The handlers. Every handler, and the do_… function under it that waits, is a function of its own
 * with a frame pointer and a stable name: they are what a tracer should blame. Two of them, since a
 * walk by frame pointers from inside libc, which has none, skips libc's caller.
 */
#include "simjank_scenario.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "simjank_clock.h"
#include "simjank_stage.h"
#include "simjank_truth.h"

#if defined(__GNUC__) && !defined(__clang__)
#define WHOLE __attribute__((noipa)) /* no .isra, .constprop or .part of it */
#else
#define WHOLE __attribute__((noinline))
#endif

#define PAGE_SZ	  4096u
#define FSYNC_SZ  (256u << 10)
#define DIRECT_SZ STAGE_BUFFER_SZ

#define HANDLER(name) static WHOLE void handle_##name(struct stage *stage, uint64_t end_ns)

/* --- What waits, faults or works in the kernel */

static WHOLE void do_read_zero(struct stage *stage)
{
	if (read(stage->zero_fd, stage->buffer, STAGE_BUFFER_SZ) < 0)
		errno = 0;
}

static WHOLE void do_sleep(uint64_t end_ns)
{
	clock__sleep_until(end_ns);
}

static WHOLE void do_lock(struct stage *stage)
{
	pthread_mutex_lock(&stage->mutex);
}

static WHOLE void do_cond_wait(struct stage *stage)
{
	while (!stage->signalled)
		pthread_cond_wait(&stage->cond, &stage->cond_mutex);
}

static WHOLE void do_read_pipe(struct stage *stage)
{
	char byte;

	while (read(stage->pipe_fds[0], &byte, 1) < 0 && errno == EINTR)
		;
}

static WHOLE void do_recv(int fd)
{
	char byte;

	while (recv(fd, &byte, 1, 0) < 0 && errno == EINTR)
		;
}

static WHOLE void do_write_fsync(struct stage *stage)
{
	off_t at = (off_t)(stage->disk_at % STAGE_DISK_SZ);

	if (pwrite(stage->disk_fd, stage->buffer, FSYNC_SZ, at) < 0 || fsync(stage->disk_fd))
		errno = 0;
	stage->disk_at += FSYNC_SZ;
}

static WHOLE void do_write_direct(struct stage *stage)
{
	off_t at = (off_t)(stage->disk_at % STAGE_DISK_SZ);

	if (pwrite(stage->dsync_fd, stage->buffer, DIRECT_SZ, at - at % DIRECT_SZ) < 0)
		errno = 0;
	stage->disk_at += DIRECT_SZ;
}

/* Pages are read one by one (MADV_RANDOM) and dropped again when all were. */
static WHOLE void do_touch_cold(struct stage *stage, uint64_t end_ns)
{
	while (clock__mono_ns() < end_ns) {
		if (stage->cold_at >= STAGE_COLD_SZ) {
			madvise((void *)stage->cold, STAGE_COLD_SZ, MADV_DONTNEED);
			posix_fadvise(stage->cold_fd, 0, 0, POSIX_FADV_DONTNEED);
			stage->cold_at = 0;
		}
		(void)stage->cold[stage->cold_at];
		stage->cold_at += PAGE_SZ;
	}
}

/* Calls nothing, so the compiler must be made to give it a frame for as long as it touches. */
static WHOLE void do_touch_missing(struct stage *stage)
{
	char byte = *stage->missing;

	__asm__ volatile("" : : "r"(byte), "r"(__builtin_frame_address(0)));
}

static WHOLE void do_poll(struct stage *stage)
{
	struct pollfd pfd = { .fd = stage->pipe_fds[0], .events = POLLIN };

	while (poll(&pfd, 1, -1) < 0 && errno == EINTR)
		;
}

static WHOLE void do_select(uint64_t end_ns)
{
	uint64_t now_ns = clock__mono_ns();
	uint64_t left_ns = end_ns > now_ns ? end_ns - now_ns : 0;
	struct timeval tv = { .tv_sec = (time_t)(left_ns / NS_PER_S),
			      .tv_usec = (suseconds_t)(left_ns % NS_PER_S / NS_PER_US) };

	while (select(0, NULL, NULL, NULL, &tv) < 0 && errno == EINTR)
		;
}

static WHOLE void do_epoll_wait(struct stage *stage)
{
	struct epoll_event event;

	while (epoll_wait(stage->nested_epfd, &event, 1, -1) < 0 && errno == EINTR)
		;
}

/* To this thread, so that it is stopped before it returns to user mode. */
static WHOLE void do_stop(void)
{
	syscall(SYS_tgkill, getpid(), gettid(), SIGSTOP);
}

/* --- The handlers */

HANDLER(busy)
{
	clock__burn_until(end_ns);
}

HANDLER(kernel)
{
	while (clock__mono_ns() < end_ns)
		do_read_zero(stage);
}

HANDLER(sleep)
{
	do_sleep(end_ns);
}

HANDLER(mutex)
{
	stage__ask(stage, PARTNER_HOLDER, end_ns, -1);
	do_lock(stage);
	pthread_mutex_unlock(&stage->mutex);
}

HANDLER(cond)
{
	pthread_mutex_lock(&stage->cond_mutex);
	stage->signalled = false;
	stage__ask(stage, PARTNER_SIGNALLER, end_ns, -1);
	do_cond_wait(stage);
	pthread_mutex_unlock(&stage->cond_mutex);
}

HANDLER(pipe)
{
	stage__ask(stage, PARTNER_WRITER, end_ns, stage->pipe_fds[1]);
	do_read_pipe(stage);
}

HANDLER(socket)
{
	stage__ask(stage, PARTNER_ANSWERER, end_ns, stage->unix_fds[1]);
	do_recv(stage->unix_fds[0]);
}

HANDLER(tcp)
{
	stage__ask(stage, PARTNER_ANSWERER, end_ns, stage->tcp_fds[1]);
	do_recv(stage->tcp_fds[0]);
}

HANDLER(disk)
{
	stage__ask(stage, PARTNER_READER, end_ns, -1);
	while (clock__mono_ns() < end_ns)
		do_write_fsync(stage);
}

HANDLER(dsync)
{
	stage__ask(stage, PARTNER_READER, end_ns, -1);
	while (clock__mono_ns() < end_ns)
		do_write_direct(stage);
}

HANDLER(page_fault)
{
	stage__ask(stage, PARTNER_READER, end_ns, -1);
	do_touch_cold(stage, end_ns);
}

HANDLER(userfault)
{
	madvise((void *)stage->missing, PAGE_SZ, MADV_DONTNEED);
	stage__ask(stage, PARTNER_PAGER, end_ns, stage->uffd);
	do_touch_missing(stage);
}

/* Where it may run is put back before it ends: a later dispatch must not be starved by this one. */
HANDLER(runnable)
{
	cpu_set_t before, one;
	int cpu = sched_getcpu();

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_getaffinity(0, sizeof(before), &before) ||
	    sched_setaffinity(0, sizeof(one), &one))
		return;
	stage__set_hogs(stage, cpu, end_ns);
	clock__burn_until(end_ns);
	sched_setaffinity(0, sizeof(before), &before);
}

HANDLER(poll)
{
	stage__ask(stage, PARTNER_WRITER, end_ns, stage->pipe_fds[1]);
	do_poll(stage);
	do_read_pipe(stage);
}

HANDLER(select)
{
	do_select(end_ns);
}

HANDLER(epoll)
{
	stage__ask(stage, PARTNER_WRITER, end_ns, stage->pipe_fds[1]);
	do_epoll_wait(stage);
	do_read_pipe(stage);
}

HANDLER(stopped)
{
	uint64_t begin_ns;

	stage__ask_continue(stage, end_ns);
	begin_ns = clock__mono_ns();
	do_stop();
	truth__add_stop(begin_ns, clock__mono_ns());
	stage__continued(stage);
}

HANDLER(mixed)
{
	uint64_t now_ns = clock__mono_ns();

	if (now_ns < end_ns)
		clock__burn_until(now_ns + (end_ns - now_ns) * 2 / 5);
	do_sleep(end_ns);
}

HANDLER(mixed_cpu)
{
	uint64_t now_ns = clock__mono_ns();
	uint64_t left_ns = end_ns > now_ns ? end_ns - now_ns : 0;

	stage__ask(stage, PARTNER_WRITER, now_ns + left_ns * 3 / 10, stage->pipe_fds[1]);
	do_read_pipe(stage);
	clock__burn_until(end_ns);
}

HANDLER(hang)
{
	do_sleep(end_ns);
}

HANDLER(hang_busy)
{
	clock__burn_until(end_ns);
}

HANDLER(short)
{
	clock__burn_until(end_ns);
}

/* What these two are is in how the loop waits for them. */
HANDLER(idle)
{
}

HANDLER(none)
{
}

#define SIMJANK_X_ROW(name_, class_, cpu_, off_, inner_, min_us, max_us, needs_, help_)            \
	{ .name = #name_,                                                                          \
	  .type = CLASS_##class_,                                                                  \
	  .cpu_kind = cpu_,                                                                        \
	  .off_kind = off_,                                                                        \
	  .handler = "handle_" #name_,                                                             \
	  .inner = inner_,                                                                         \
	  .length = { (min_us)*NS_PER_US, (max_us)*NS_PER_US },                                    \
	  .needs = needs_,                                                                         \
	  .help = help_,                                                                           \
	  .handle = handle_##name_ },
const struct scenario scenarios[SCENARIO_CNT] = { SIMJANK_SCENARIOS(SIMJANK_X_ROW) };

const struct scenario *scenario__find(const char *name, size_t len)
{
	for (size_t i = 0; i < SCENARIO_none; i++)
		if (strlen(scenarios[i].name) == len && !memcmp(scenarios[i].name, name, len))
			return &scenarios[i];
	return NULL;
}
