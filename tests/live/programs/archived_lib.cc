/* SPDX-License-Identifier: GPL-2.0 */
/* A library that needs no relocation, to be mapped by archived.c. */
typedef void busy_fn(unsigned ms);
typedef int wait_fn(int epoll, void *events, int max, int ms);

struct archived_class {
	virtual int get();
};

int archived_class::get()
{
	return 1;
}

static __attribute__((noinline)) void archived_inner(busy_fn *busy, unsigned ms)
{
	volatile char room[200];

	room[0] = 1;
	busy(ms);
	room[1] = room[0];
}

extern "C" void archived_handle(busy_fn *busy, unsigned ms)
{
	archived_inner(busy, ms); /* called */
	__asm__ volatile("");
}

extern "C" int archived_wait(wait_fn *wait, int epoll, void *events)
{
	int ret = wait(epoll, events, 1, 20); /* called */

	__asm__ volatile("");
	return ret;
}
