/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A loop with two handlers. Each byte on stdin is the letter of a stall: the function that takes
 * the time is some calls below the handler, and waits within a function of a library.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noipa))

static FILE *slow;

NOINLINE static int load_config(void)
{
	char line[64];

	return !fgets(line, sizeof(line), slow);
}

NOINLINE static int run_hook(void)
{
	return system("sleep 0.15");
}

NOINLINE static int expire_cycle(void)
{
	struct timespec now, end;
	volatile int n = 0;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	do {
		for (int i = 0; i < 100000; i++)
			n++;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((now.tv_sec - end.tv_sec) * 1000 + (now.tv_nsec - end.tv_nsec) / 1000000 < 150);
	return n;
}

NOINLINE static int databases_cron(void)
{
	return expire_cycle() + 1;
}

NOINLINE static int server_cron(void)
{
	return databases_cron() + 1;
}

NOINLINE static int prepare(char letter)
{
	return (letter == 'f' ? load_config() : run_hook()) + 1;
}

NOINLINE static int on_request(char letter)
{
	return prepare(letter) + 1;
}

int main(int argc, char **argv)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0), sum = 0;
	char letter;

	slow = fdopen(argc > 1 ? atoi(argv[1]) : -1, "r");
	if (!slow || epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &event))
		return 1;
	puts("ready");
	fflush(stdout);
	while (epoll_wait(epoll, &event, 1, -1) >= 0 && read(0, &letter, 1) == 1)
		sum += letter == 'c' ? server_cron() : on_request(letter);
	return sum == 1;
}
