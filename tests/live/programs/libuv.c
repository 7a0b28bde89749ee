/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A libuv program that stalls its loop on command: one letter on stdin, which is also the answer
 * when it is done. Blocks must blame the callbacks by name. As in looper.cc, helpers call libc's
 * functions: a walk by frame pointers misses their caller.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define APART	__attribute__((noinline))
#define WORK_MS 60

static uv_timer_t timer;
static uv_work_t work;
static const char *cold_path;
static char letter;

static void done(void)
{
	if (write(STDOUT_FILENO, &letter, 1) != 1)
		_exit(1);
}

static APART void sleep_ms(long ms)
{
	struct timespec ts = { 0, ms * 1000000 };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

static APART void wait_nothing(int ms)
{
	poll(NULL, 0, ms);
}

static APART void spin_ms(uint64_t ms)
{
	uint64_t end_ns = uv_hrtime() + ms * 1000000;

	for (volatile long spins = 0; uv_hrtime() < end_ns;)
		for (int i = 0; i < 10000; i++)
			spins = spins + 1;
}

static APART void on_timer_sleep(uv_timer_t *handle)
{
	sleep_ms(WORK_MS);
	done();
}

static APART void on_timer_busy(uv_timer_t *handle)
{
	spin_ms(WORK_MS);
	done();
}

static void work_apart(uv_work_t *req)
{
	sleep_ms(WORK_MS * 2); /* in a pool thread: no stall of the loop */
}

static APART void on_work_done(uv_work_t *req, int status)
{
	sleep_ms(WORK_MS);
	done();
}

static APART void on_read_poll(void)
{
	wait_nothing(WORK_MS);
	done();
}

/* Without a callback, uv_fs_* waits for the disk in the loop's own thread. */
static APART void on_read_file(void)
{
	static char buffer[1 << 20];
	uv_buf_t buf = uv_buf_init(buffer, sizeof(buffer));
	uv_fs_t req;
	int fd = open(cold_path, O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && uv_fs_read(NULL, &req, fd, &buf, 1, -1, NULL) > 0)
		uv_fs_req_cleanup(&req);
	close(fd);
	done();
}

static void on_stdin(uv_poll_t *handle, int status, int events)
{
	if (read(STDIN_FILENO, &letter, 1) != 1)
		exit(0);
	switch (letter) {
	case 's':
		uv_timer_start(&timer, on_timer_sleep, 10, 0);
		break;
	case 'b':
		uv_timer_start(&timer, on_timer_busy, 10, 0);
		break;
	case 'w':
		uv_queue_work(handle->loop, &work, work_apart, on_work_done);
		break;
	case 'p':
		on_read_poll();
		break;
	case 'f':
		on_read_file();
		break;
	default:
		done();
	}
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	uv_poll_t commands;

	cold_path = argc > 1 ? argv[1] : "/dev/null";
	if (uv_timer_init(loop, &timer) || uv_poll_init(loop, &commands, STDIN_FILENO) ||
	    uv_poll_start(&commands, UV_READABLE, on_stdin))
		return 1;
	letter = 'r';
	done();
	return uv_run(loop, UV_RUN_DEFAULT);
}
