/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A loop over epoll or poll, whose handler runs the loop itself: for a clipboard
 * (gtk_clipboard_wait_for_text), in many turns or in one wait, or for a dialog (gtk_dialog_run).
 * The functions only have these names. argv: clipboard, single or dialog; epoll or poll; how often.
 * Writes the times of each handler in ns, CLOCK_MONOTONIC.
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS	  20000000
#define APART	  20 /* ticks between two handlers */
#define NESTED_MS 500

static int epoll_fd, timer_fd, left;
static struct pollfd *fds;
static const char *job;

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static void set_timer(int64_t ns)
{
	struct itimerspec spec = { .it_interval.tv_nsec = ns, .it_value.tv_nsec = ns };

	timerfd_settime(timer_fd, 0, &spec, NULL);
}

__attribute__((noinline)) static int turn(int ms)
{
	struct epoll_event events[4];
	uint64_t expired;
	int cnt = fds ? poll(fds, 2, ms) : epoll_wait(epoll_fd, events, 4, ms);

	return cnt > 0 && read(timer_fd, &expired, sizeof(expired)) == sizeof(expired);
}

__attribute__((noinline)) static void run_until(int64_t end_ns)
{
	while (now_ns() < end_ns)
		turn(NESTED_MS);
}

__attribute__((noinline)) void gtk_clipboard_wait_for_text(int64_t end_ns)
{
	run_until(end_ns);
	__asm__ volatile("");
}

__attribute__((noinline)) void gtk_dialog_run(int64_t end_ns)
{
	run_until(end_ns);
	__asm__ volatile("");
}

__attribute__((noinline)) static void on_paste(void)
{
	int64_t begin_ns = now_ns(), end_ns = begin_ns + NESTED_MS * 1000000ll;

	if (!strcmp(job, "single"))
		set_timer(0);
	if (!strcmp(job, "dialog"))
		gtk_dialog_run(end_ns);
	else
		gtk_clipboard_wait_for_text(end_ns);
	set_timer(TICK_NS);
	printf("%lld %lld\n", (long long)begin_ns, (long long)now_ns());
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct epoll_event event = { .events = EPOLLIN };
	unsigned tick_cnt = 0;
	char byte;

	if (argc != 4)
		return 2;
	alarm(120);
	job = argv[1];
	left = atoi(argv[3]);
	timer_fd = timerfd_create(CLOCK_MONOTONIC, 0);
	epoll_fd = epoll_create1(0);
	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, timer_fd, &event);
	if (!strcmp(argv[2], "poll")) {
		fds = calloc(2, sizeof(*fds)); /* on the heap, as GLib's */
		fds[0] = (struct pollfd){ .fd = timer_fd, .events = POLLIN };
		fds[1] = (struct pollfd){ .fd = -1 };
	}
	set_timer(TICK_NS);
	printf("ready\n");
	fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) != 1)
		return 1;
	while (left)
		if (turn(-1) && ++tick_cnt % APART == 0) {
			on_paste();
			left--;
		}
	for (int i = 0; i < APART; i++)
		turn(-1);
	printf("done\n");
	fflush(stdout);
	return read(STDIN_FILENO, &byte, 1) < 0;
}
