/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which main threads -a watches: as many as there is room for, none that has just started, each
 * until its end.
 */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "options/filter.h"
#include "session/main_threads.h"
#include "tests/tap.h"
#include "tests/unit/child.h"

#define LOOK_NS	   10000000000ull
#define NAME	   "jank-mains-test"
#define OTHER_NAME "jank-mains-none"
#define AGE_US	   1100000
#define PIDS	   ((size_t)MAINS_MAX + 2)
#define LOOKS_MAX  16 /* by then an ended process is noticed, even if none was made since */

static struct {
	uint32_t last;
	unsigned admitted, dropped;
	bool full;
} calls;

static bool admit(void *ctx, uint32_t pid)
{
	(void)ctx;
	if (calls.full)
		return false;
	calls.last = pid;
	calls.admitted++;
	return true;
}

static bool drop(void *ctx, uint32_t pid)
{
	(void)ctx;
	calls.last = pid;
	calls.dropped++;
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

static void look_often(struct mains *mains)
{
	for (int i = 0; i < LOOKS_MAX; i++)
		mains__look(mains, false, LOOK_NS);
}

static struct mains *begin(struct filter *filter)
{
	const struct mains_opts opts = { .filter = filter, .admit = admit, .drop = drop };

	*filter = (struct filter){};
	filter->all = true;
	memset(&calls, 0, sizeof(calls));
	is_int(filter__add_comm(filter, NAME, NULL), 0, "a filter by name");
	return mains__new(&opts);
}

static void test_life(void)
{
	struct filter filter;
	struct mains *mains = begin(&filter);
	pid_t old = child__start(rename_to, NAME), young;
	pid_t other = child__start(rename_to, OTHER_NAME);

	calls.full = true;
	is_int(mains__look(mains, true, LOOK_NS), 0, "a check without room in the queue");
	calls.full = false;
	mains__look(mains, true, LOOK_NS);
	ok(calls.admitted == 1 && calls.last == (uint32_t)old,
	   "the next check admits the process of that name, and no other");
	young = child__start(rename_to, NAME);
	mains__look(mains, false, LOOK_NS);
	is_uint(calls.admitted, 1, "not one that has just started, nor the first one again");
	usleep(AGE_US);
	mains__look(mains, false, LOOK_NS);
	ok(calls.admitted == 2 && calls.last == (uint32_t)young, "but when it is older");
	mains__renew(mains, old);
	mains__look(mains, false, LOOK_NS);
	ok(calls.admitted == 3 && calls.last == (uint32_t)old, "a new program is admitted again");
	end(young);
	look_often(mains);
	ok(calls.dropped == 1 && calls.last == (uint32_t)young, "an ended one is dropped");
	end(old);
	end(other);
	look_often(mains);
	is_uint(calls.dropped, 2, "one that was not admitted is not");
	mains__free(mains);
	filter__close(&filter);
}

/* A look of 1 ns reads a process, then the next one: all are found. */
static void test_parts(void)
{
	struct filter filter;
	struct mains *mains;
	pid_t pid = child__start(rename_to, NAME);
	unsigned cnt = 1;

	mains = begin(&filter);
	while (mains__look(mains, true, 1) > 0)
		cnt++;
	ok(cnt > 2 && calls.admitted == 1 && calls.last == (uint32_t)pid,
	   "a look in %u parts finds all", cnt);
	end(pid);
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
	is_uint(calls.admitted, MAINS_MAX, "so many are watched and no more");
	for (size_t i = 0; i < PIDS; i++) {
		beyond += mains__is_beyond(mains, pids[i]);
		if (!mains__is_beyond(mains, pids[i]))
			freed = pids[i];
	}
	is_uint(beyond, 2, "the others are recorded as beyond the limit");
	end(freed);
	look_often(mains); /* notices its end */
	look_often(mains);
	mains__look(mains, true, LOOK_NS);
	is_uint(calls.admitted, MAINS_MAX + 1, "one of them takes a free place");
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
	test_parts();
	return tap__done();
}
