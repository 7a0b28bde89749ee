/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hash table of entries, one per descriptor. Entries removed within a round are freed after it. */
#include "session/event_loop.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"

#define ROUND_MAX 64

struct entry {
	int fd;
	event_fn fn;
	void *ctx;
	uint64_t arg;
	uint32_t events;
	bool timer, removed;
	struct entry *next_removed;
	UT_hash_handle hh;
};

struct event_loop {
	int epfd;
	struct entry *entries;
	struct entry *removed;
};

struct event_loop *event_loop__new(void)
{
	struct event_loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return NULL;
	loop->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epfd < 0) {
		free(loop);
		return NULL;
	}
	return loop;
}

static void free_removed(struct event_loop *loop)
{
	while (loop->removed) {
		struct entry *entry = loop->removed;

		loop->removed = entry->next_removed;
		free(entry);
	}
}

void event_loop__free(struct event_loop *loop)
{
	struct entry *entry, *next;

	if (!loop)
		return;
	HASH_ITER (hh, loop->entries, entry, next)
		event_loop__remove(loop, entry->fd);
	free_removed(loop);
	close(loop->epfd);
	free(loop);
}

static int add(struct event_loop *loop, const struct entry *what)
{
	struct entry *entry = calloc(1, sizeof(*entry));
	struct epoll_event event = { .events = what->events, .data.ptr = entry };
	int res;

	if (!entry)
		return -ENOMEM;
	*entry = *what;
	if (epoll_ctl(loop->epfd, EPOLL_CTL_ADD, entry->fd, &event)) {
		res = -errno;
		free(entry);
		return res;
	}
	HASH_ADD_INT(loop->entries, fd, entry);
	if (entry)
		return 0;
	epoll_ctl(loop->epfd, EPOLL_CTL_DEL, what->fd, NULL);
	return -ENOMEM;
}

int event_loop__add(struct event_loop *loop, int fd, event_fn fn, void *ctx, uint64_t arg)
{
	const struct entry entry = {
		.fd = fd, .events = EPOLLIN, .fn = fn, .ctx = ctx, .arg = arg
	};

	return add(loop, &entry);
}

/* epoll always reports errors and hang-ups. */
int event_loop__hangup(struct event_loop *loop, int fd, event_fn fn, void *ctx, uint64_t arg)
{
	const struct entry entry = { .fd = fd, .fn = fn, .ctx = ctx, .arg = arg };

	return add(loop, &entry);
}

void event_loop__remove(struct event_loop *loop, int fd)
{
	struct entry *entry;

	HASH_FIND_INT(loop->entries, &fd, entry);
	if (!entry)
		return;
	epoll_ctl(loop->epfd, EPOLL_CTL_DEL, fd, NULL);
	HASH_DEL(loop->entries, entry);
	if (entry->timer)
		close(fd);
	entry->removed = true;
	entry->next_removed = loop->removed;
	loop->removed = entry;
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ .tv_sec = ns / NS_PER_SEC, .tv_nsec = ns % NS_PER_SEC };
}

static int add_timer(struct event_loop *loop, const struct itimerspec *spec, int flags, event_fn fn,
		     void *ctx)
{
	struct entry entry = { .events = EPOLLIN, .fn = fn, .ctx = ctx, .timer = true };
	int res;

	entry.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (entry.fd < 0)
		return -errno;
	res = timerfd_settime(entry.fd, flags, spec, NULL) ? -errno : add(loop, &entry);
	if (!res)
		return entry.fd;
	close(entry.fd);
	return res;
}

int event_loop__timer(struct event_loop *loop, uint64_t first_ns, uint64_t period_ns, event_fn fn,
		      void *ctx)
{
	const struct itimerspec spec = { timespec_of(period_ns),
					 timespec_of(first_ns ? first_ns : 1) };

	return add_timer(loop, &spec, 0, fn, ctx);
}

static struct itimerspec next_pulse(uint64_t period_ns)
{
	return (struct itimerspec){
		timespec_of(period_ns),
		timespec_of((clock__mono_ns() / period_ns + 1) * period_ns),
	};
}

int event_loop__pulse(struct event_loop *loop, uint64_t period_ns, event_fn fn, void *ctx)
{
	const struct itimerspec spec = next_pulse(period_ns);

	return add_timer(loop, &spec, TFD_TIMER_ABSTIME, fn, ctx);
}

void event_loop__set_pulse(int fd, uint64_t period_ns)
{
	const struct itimerspec spec = next_pulse(period_ns);

	timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

int event_loop__alarm(struct event_loop *loop, event_fn fn, void *ctx)
{
	const struct itimerspec never = { 0 };

	return add_timer(loop, &never, 0, fn, ctx);
}

void event_loop__set_alarm(int fd, uint64_t at_ns)
{
	const struct itimerspec spec = { .it_value = timespec_of(at_ns) };

	timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

int event_loop__round(struct event_loop *loop)
{
	struct epoll_event events[ROUND_MAX];
	int cnt = epoll_wait(loop->epfd, events, ROUND_MAX, -1);

	if (cnt < 0)
		return errno == EINTR ? 0 : -errno;
	for (int i = 0; i < cnt; i++) {
		struct entry *entry = events[i].data.ptr;
		uint64_t expirations;

		if (entry->removed)
			continue;
		if (entry->timer && read(entry->fd, &expirations, sizeof(expirations)) < 0)
			continue;
		entry->fn(entry->ctx, entry->arg);
	}
	free_removed(loop);
	return 0;
}

/* --- signals: SIGINT, SIGTERM and SIGHUP end a run; SIGPIPE and SIGXFSZ become write errors */

static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
static bool is_agent; /* SIGHUP reloads, SIGUSR1 logs the state */

/*
 * Respect nohup: an ignored SIGHUP stays ignored. An ignored SIGINT comes from a shell's `&`; a
 * user who still sends it with kill wants the summary.
 */
static bool is_wanted(int sig)
{
	struct sigaction action;

	if (is_agent)
		return sig != SIGHUP;
	return sig != SIGHUP || sigaction(sig, NULL, &action) || action.sa_handler != SIG_IGN;
}

static sigset_t ending_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		if (is_wanted(ending[i]))
			sigaddset(&set, ending[i]);
	return set;
}

void signals__write_errors(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error like a full disk */
}

static char parting[96];

/* Everything that we hold ends with the process: probes, the helper process, a waiting COMMAND. */
static void end_at_once(int sig)
{
	(void)sig;
	if (write(STDERR_FILENO, parting, strlen(parting)) < 0) {
		/* nobody reads it */
	}
	_exit(0);
}

static void set_actions(const sigset_t *set, void (*fn)(int))
{
	for (unsigned i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		if (sigismember(set, ending[i]))
			signal(ending[i], fn);
}

static const int requests[] = { SIGHUP, SIGUSR1 };

/* Blocked from now on: an ignored signal would not wait. */
void signals__take_requests(void)
{
	sigset_t set;

	is_agent = true;
	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof(requests) / sizeof(*requests); i++)
		sigaddset(&set, requests[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (unsigned i = 0; i < sizeof(requests) / sizeof(*requests); i++)
		signal(requests[i], SIG_DFL);
}

int signals__open(const char *message)
{
	sigset_t set = ending_set();
	int fd;

	snprintf(parting, sizeof(parting), "%s", message);
	set_actions(&set, end_at_once);
	signal(SIGCHLD, SIG_DFL); /* if ignored, COMMAND's exit status would be lost */
	signals__write_errors();
	for (unsigned i = 0; is_agent && i < sizeof(requests) / sizeof(*requests); i++)
		sigaddset(&set, requests[i]);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

void signals__block(void)
{
	sigset_t set = ending_set();

	sigprocmask(SIG_BLOCK, &set, NULL);
}

static unsigned request_of(int sig)
{
	if (is_agent && sig == SIGHUP)
		return SIGNALS_RELOAD;
	return sig == SIGUSR1 ? SIGNALS_STATE : SIGNALS_END;
}

unsigned signals__take(int fd)
{
	struct signalfd_siginfo info;
	unsigned ret = 0;

	while (read(fd, &info, sizeof(info)) == sizeof(info))
		ret |= request_of((int)info.ssi_signo);
	return ret;
}

void signals__default(int fd)
{
	sigset_t set = ending_set();

	signals__take(fd); /* a repeated pending signal counts once */
	set_actions(&set, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}
