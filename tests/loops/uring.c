/* SPDX-License-Identifier: GPL-2.0 */
/* A loop that waits only in io_uring_enter: timeouts and reads of a pipe. */
#include <liburing.h>
#include <stdint.h>
#include <string.h>

#include "stall.h"

enum { TICK = 1, READ };

static struct io_uring ring;
static int fds[2];
static char byte;

static void arm(int tag)
{
	static struct __kernel_timespec soon = { 0, STALL_TICK_MS * 1000000 };
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	if (tag == TICK)
		io_uring_prep_timeout(sqe, &soon, 0, 0);
	else
		io_uring_prep_read(sqe, fds[0], &byte, 1, 0);
	io_uring_sqe_set_data(sqe, (void *)(uintptr_t)tag);
}

static __attribute__((noinline)) void on_read(void)
{
	STALL("read", "\"fd\":%d,\"fd_target\":\"pipe\"", fds[0]);
}

static int on_tick(void)
{
	int due = stall__due(1);

	if (due >= 0 && write(fds[1], "x", 1) != 1)
		_exit(1);
	return due == STALL_OVER;
}

int main(void)
{
	int failed = io_uring_queue_init(8, &ring, 0), over = 0;
	struct io_uring_cqe *cqe;

	if (failed)
		stall__cannot(strerror(-failed));
	stall__open();
	if (pipe(fds))
		return 1;
	arm(TICK);
	arm(READ);
	while (!over && io_uring_submit_and_wait(&ring, 1) >= 0 &&
	       !io_uring_peek_cqe(&ring, &cqe)) {
		int tag = (uintptr_t)io_uring_cqe_get_data(cqe);

		io_uring_cqe_seen(&ring, cqe);
		if (tag == TICK)
			over = on_tick();
		else
			on_read();
		arm(tag);
	}
	return !over;
}
