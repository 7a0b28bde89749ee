/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whose main threads are watched with -a: as many as there is room for, none for a moment only,
 * each until its end.
 */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "session/main_threads.h"
#include "tests/child.h"
#include "tests/tap.h"

#define LOOK_NS	   10000000000ull
#define NAME	   "jank-mains-test"
#define OTHER_NAME "jank-mains-none"
#define AGE_US	   1100000
#define PIDS	   ((size_t)MAINS_MAX + 2)

static struct {
	uint32_t last;
	unsigned admitted, dropped;
	bool full;
} told;

static bool admit(void *ctx, uint32_t pid)
{
	(void)ctx;
	if (told.full)
		return false;
	told.last = pid;
	told.admitted++;
	return true;
}

static bool drop(void *ctx, uint32_t pid)
{
	(void)ctx;
	told.last = pid;
	told.dropped++;
	return true;
}

static void rename_to(void *name)
{
	prctl(PR_SET_NAME, name);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static struct mains *begin(struct filter *filter)
{
	const struct mains_opts opts = { .filter = filter, .admit = admit, .drop = drop };

	*filter = (struct filter){};
	filter->all = true;
	memset(&told, 0, sizeof(told));
	is_int(filter__add_comm(filter, NAME, NULL), 0, "a filter by name");
	return mains__new(&opts);
}

static void test_life(void)
{
	struct filter filter;
	struct mains *mains = begin(&filter);
	pid_t old = child__start(rename_to, NAME), young;
	pid_t other = child__start(rename_to, OTHER_NAME);

	told.full = true;
	is_int(mains__look(mains, true, LOOK_NS), 0, "a look without room in the queue");
	told.full = false;
	mains__look(mains, true, LOOK_NS);
	ok(told.admitted == 1 && told.last == (uint32_t)old,
	   "at the next one the process of that name is admitted, no other");
	young = child__start(rename_to, NAME);
	mains__look(mains, false, LOOK_NS);
	is_uint(told.admitted, 1, "one that has just begun is not, nor is the first again");
	usleep(AGE_US);
	mains__look(mains, false, LOOK_NS);
	ok(told.admitted == 2 && told.last == (uint32_t)young, "but when it is older");
	mains__renew(mains, old);
	mains__look(mains, false, LOOK_NS);
	ok(told.admitted == 3 && told.last == (uint32_t)old, "a new program is admitted anew");
	end(young);
	mains__look(mains, false, LOOK_NS);
	ok(told.dropped == 1 && told.last == (uint32_t)young, "one that has ended is dropped");
	end(old);
	end(other);
	mains__look(mains, false, LOOK_NS);
	is_uint(told.dropped, 2, "what was not admitted is not");
	mains__free(mains);
	filter__close(&filter);
}

static void test_many(void)
{
	static pid_t pids[PIDS];
	struct filter filter;
	struct mains *mains = begin(&filter);
	unsigned beyond = 0;
	pid_t freed = 0;

	for (size_t i = 0; i < PIDS; i++)
		pids[i] = child__start(rename_to, NAME);
	mains__look(mains, true, LOOK_NS);
	is_uint(told.admitted, MAINS_MAX, "so many are watched and no more");
	for (size_t i = 0; i < PIDS; i++) {
		beyond += mains__is_beyond(mains, pids[i]);
		if (!mains__is_beyond(mains, pids[i]))
			freed = pids[i];
	}
	is_uint(beyond, 2, "the others are known to be beyond");
	end(freed);
	mains__look(mains, false, LOOK_NS); /* sees that it has ended */
	mains__look(mains, true, LOOK_NS);
	is_uint(told.admitted, MAINS_MAX + 1, "one of them takes a place that has become free");
	for (size_t i = 0; i < PIDS; i++)
		if (pids[i] != freed)
			end(pids[i]);
	mains__free(mains);
	filter__close(&filter);
}

int main(void)
{
	test_life();
	test_many();
	return tap__done();
}
