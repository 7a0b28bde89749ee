/* SPDX-License-Identifier: GPL-2.0 */
/* One round calls the function of each ready descriptor, and none of a removed one. */
#include "session/event_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/tap.h"

static struct {
	struct event_loop *watch;
	int calls;
	uint64_t arg;
	int remove; /* this descriptor, when called; -1: none */
	bool reuse; /* and put another one in its place */
} seen;

static void on_ready(void *ctx, uint64_t arg)
{
	ok(ctx == &seen, "the function gets its context");
	seen.calls++;
	seen.arg = arg;
}

static void on_removing(void *ctx, uint64_t arg)
{
	int fd = seen.remove;

	on_ready(ctx, arg);
	if (fd < 0)
		return;
	seen.remove = -1;
	event_loop__remove(seen.watch, fd);
	if (!seen.reuse)
		return;
	close(fd);
	if (eventfd(1, EFD_CLOEXEC) != fd || event_loop__add(seen.watch, fd, on_ready, &seen, 99))
		ok(false, "another descriptor takes the number");
}

static void begin(void)
{
	memset(&seen, 0, sizeof(seen));
	seen.remove = -1;
	seen.watch = event_loop__new();
}

static void test_ready(void)
{
	int one = eventfd(0, EFD_CLOEXEC), two = eventfd(1, EFD_CLOEXEC);
	eventfd_t value;

	begin();
	is_int(event_loop__add(seen.watch, one, on_ready, &seen, 1), 0, "a descriptor is watched");
	is_int(event_loop__add(seen.watch, two, on_ready, &seen, 2), 0, "so is another one");
	is_int(event_loop__round(seen.watch), 0, "a round");
	ok(seen.calls == 1 && seen.arg == 2, "calls the function of the ready one");
	event_loop__round(seen.watch);
	is_int(seen.calls, 2, "again, while it is ready");
	eventfd_read(two, &value);
	eventfd_write(one, 1);
	event_loop__round(seen.watch);
	ok(seen.calls == 3 && seen.arg == 1, "and of the other one when it is ready");
	event_loop__free(seen.watch);
	ok(fcntl(one, F_GETFD) >= 0, "descriptors still belong to the caller");
	close(one);
	close(two);
}

static void test_refused(void)
{
	int fd = eventfd(1, EFD_CLOEXEC), file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	int reg = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	begin();
	event_loop__add(seen.watch, fd, on_ready, &seen, 1);
	is_int(event_loop__add(seen.watch, fd, on_ready, &seen, 2), -EEXIST,
	       "no descriptor is watched twice");
	is_int(event_loop__add(seen.watch, -1, on_ready, &seen, 2), -EBADF, "nor an invalid one");
	is_int(event_loop__add(seen.watch, reg, on_ready, &seen, 2), -EPERM, "nor a regular file");
	event_loop__round(seen.watch);
	ok(seen.calls == 1 && seen.arg == 1, "the first one is unchanged");
	event_loop__remove(seen.watch, 12345);
	event_loop__remove(seen.watch, fd);
	is_int(event_loop__add(seen.watch, fd, on_ready, &seen, 3), 0,
	       "after its removal it may be added again");
	event_loop__free(seen.watch);
	event_loop__free(NULL);
	close(fd);
	close(file);
	close(reg);
}

/* Of two ready descriptors, the function called first removes the other. */
static void test_removed_in_round(bool reuse)
{
	int one = eventfd(1, EFD_CLOEXEC), two = eventfd(1, EFD_CLOEXEC);

	begin();
	seen.remove = two;
	seen.reuse = reuse;
	event_loop__add(seen.watch, one, on_removing, &seen, 1);
	event_loop__add(seen.watch, two, on_ready, &seen, 2);
	event_loop__round(seen.watch);
	ok(seen.calls == 1 && seen.arg == 1, "one removed in a round is not called in it%s",
	   reuse ? ", even if another one has its number" : "");
	event_loop__remove(seen.watch, one);
	if (reuse) {
		event_loop__round(seen.watch);
		is_uint(seen.arg, 99, "the new one is called from the next round on");
	}
	event_loop__free(seen.watch);
	close(one);
	close(two);
}

static void test_removes_itself(void)
{
	int one = eventfd(1, EFD_CLOEXEC), two = eventfd(1, EFD_CLOEXEC);

	begin();
	seen.remove = one;
	event_loop__add(seen.watch, one, on_removing, &seen, 1);
	event_loop__round(seen.watch);
	event_loop__add(seen.watch, two, on_ready, &seen, 2);
	event_loop__round(seen.watch);
	ok(seen.calls == 2 && seen.arg == 2, "a function may remove its own descriptor");
	event_loop__free(seen.watch);
	close(one);
	close(two);
}

static void test_hangup(void)
{
	int ends[2], reg = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	begin();
	is_int(pipe2(ends, O_CLOEXEC), 0, "a pipe");
	is_int(event_loop__hangup(seen.watch, ends[1], on_ready, &seen, 7), 0,
	       "its other end is watched");
	event_loop__timer(seen.watch, NS_PER_MS, 0, on_ready, &seen);
	event_loop__round(seen.watch);
	ok(seen.calls == 1 && seen.arg == 0, "a writable pipe is no event");
	close(ends[0]);
	event_loop__round(seen.watch);
	ok(seen.calls == 2 && seen.arg == 7, "a pipe without a reader is");
	is_int(event_loop__hangup(seen.watch, reg, on_ready, &seen, 7), -EPERM,
	       "a file has no other end");
	event_loop__free(seen.watch);
	close(ends[1]);
	close(reg);
}

static void test_timer_once(void)
{
	uint64_t start = clock__mono_ns();
	int fd;

	begin();
	fd = event_loop__timer(seen.watch, 5 * NS_PER_MS, 0, on_ready, &seen);
	ok(fd >= 0, "a timer");
	event_loop__round(seen.watch);
	ok(seen.calls == 1 && clock__mono_ns() - start >= 5 * NS_PER_MS, "is called when due");
	event_loop__timer(seen.watch, 30 * NS_PER_MS, 0, on_removing, &seen);
	event_loop__round(seen.watch);
	ok(seen.calls == 2 && clock__mono_ns() - start >= 30 * NS_PER_MS, "and only once");
	event_loop__remove(seen.watch, fd);
	is_int(fcntl(fd, F_GETFD), -1, "removed, it is closed");
	event_loop__free(seen.watch);
}

static void test_timer_period(void)
{
	uint64_t start = clock__mono_ns();
	int fd;

	begin();
	fd = event_loop__timer(seen.watch, 0, 4 * NS_PER_MS, on_ready, &seen);
	while (seen.calls < 4 && clock__mono_ns() - start < 10 * NS_PER_SEC)
		event_loop__round(seen.watch);
	ok(seen.calls == 4 && clock__mono_ns() - start >= 12 * NS_PER_MS,
	   "a timer that is due at once fires again and again");
	event_loop__free(seen.watch);
	is_int(fcntl(fd, F_GETFD), -1, "the end of the loop closes it");
}

static void on_pulse(void *ctx, uint64_t arg)
{
	(void)arg;
	seen.calls++;
	seen.arg = clock__mono_ns();
	event_loop__set_pulse(*(int *)ctx, 10 * NS_PER_MS);
}

static void test_pulse(void)
{
	uint64_t first_ns;
	int fd;

	begin();
	fd = event_loop__pulse(seen.watch, NS_PER_MS, on_pulse, &fd);
	ok(fd >= 0, "a timer at the multiples of a time");
	event_loop__round(seen.watch);
	first_ns = seen.arg;
	event_loop__round(seen.watch);
	ok(seen.calls == 2 && seen.arg / (10 * NS_PER_MS) > first_ns / (10 * NS_PER_MS),
	   "its next time is a multiple of the new one");
	event_loop__free(seen.watch);
}

static void on_alarm(int sig)
{
}

static void test_interrupted(void)
{
	const struct sigaction act = { .sa_handler = on_alarm };
	const struct itimerval soon = { .it_value = { .tv_usec = 20000 },
					.it_interval = { .tv_usec = 20000 } };
	const struct itimerval never = { 0 };

	begin();
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	is_int(event_loop__round(seen.watch), 0, "a signal ends a round, which is no failure");
	setitimer(ITIMER_REAL, &never, NULL);
	is_int(seen.calls, 0, "and calls nothing");
	event_loop__free(seen.watch);
}

int main(void)
{
	test_ready();
	test_refused();
	test_removed_in_round(false);
	test_removed_in_round(true);
	test_removes_itself();
	test_hangup();
	test_timer_once();
	test_timer_period();
	test_pulse();
	test_interrupted();
	return tap__done();
}
