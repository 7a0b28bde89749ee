/* SPDX-License-Identifier: GPL-2.0 */
/*
 * unloaded A B C: handlers that load a library, work in it, and unload it: A and B in turn, at the
 * same address, C once. Prints the address of each one's work.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define HANDLER __attribute__((noinline, noclone))
#define TURNS	30

static void *work(const char *path, const char *name)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*function)(void) = library ? (void (*)(void))dlsym(library, name) : NULL;

	if (!function) {
		fprintf(stderr, "%s: %s\n", path, dlerror());
		exit(1);
	}
	function();
	dlclose(library);
	return (void *)function;
}

HANDLER void *handle_a(char **argv)
{
	void *at = work(argv[1], "work_in_a");

	return at ?: argv;
}

HANDLER void *handle_b(char **argv)
{
	void *at = work(argv[2], "work_in_b");

	return at ?: argv + 1;
}

HANDLER void *handle_c(char **argv)
{
	void *at = work(argv[3], "work_in_c");

	return at ?: argv + 2;
}

int main(int argc, char **argv)
{
	const struct itimerspec often = { { 0, 40000000 }, { 0, 500000000 } };
	struct epoll_event event = { .events = EPOLLIN };
	int timer = timerfd_create(CLOCK_MONOTONIC, 0), loop = epoll_create1(0);
	unsigned long expired;

	if (argc != 4 || timerfd_settime(timer, 0, &often, NULL) ||
	    epoll_ctl(loop, EPOLL_CTL_ADD, timer, &event))
		return 2;
	for (int turn = 0; turn <= TURNS + 1; turn++) {
		void *at;

		if (epoll_wait(loop, &event, 1, -1) < 1 ||
		    read(timer, &expired, sizeof(expired)) < 1)
			return 3;
		if (turn > TURNS)
			break;
		at = turn == TURNS ? handle_c(argv) : turn % 2 ? handle_b(argv) : handle_a(argv);
		fprintf(stderr, "%p\n", at);
	}
	return 0;
}
