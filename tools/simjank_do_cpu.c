/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handlers that compute, stop, or do next to nothing. */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "simjank_handler.h"
#include "simjank_truth.h"

static WHOLE void do_read_zero(struct fixture *stage)
{
	if (read(stage->zero_fd, stage->buffer, STAGE_BUFFER_SZ) < 0)
		errno = 0;
}

/* Sent to this thread, so that it is stopped before it returns to user mode. */
static WHOLE void do_stop(void)
{
	syscall(SYS_tgkill, getpid(), gettid(), SIGSTOP);
}

HANDLER(busy)
{
	clock__burn_until(end_ns);
}

HANDLER(kernel)
{
	while (clock__mono_ns() < end_ns)
		do_read_zero(stage);
}

HANDLER(stopped)
{
	uint64_t begin_ns;

	fixture__ask_continue(stage, end_ns);
	begin_ns = clock__mono_ns();
	do_stop();
	truth__add_stop(begin_ns, clock__mono_ns());
	fixture__continued(stage);
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

	fixture__ask(stage, PARTNER_WRITER, now_ns + left_ns * 3 / 10, stage->pipe_fds[1]);
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

/* These two differ only in how the loop waits for them. */
HANDLER(idle)
{
}

HANDLER(none)
{
}
