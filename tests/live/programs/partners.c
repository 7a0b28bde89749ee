/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An epoll loop on stdin; its handler waits for a partner. Arguments: KIND MS THREADS LINKS.
 * The partner sleeps for MS meanwhile; with two links it waits for another thread, "far", that
 * does. Beside them THREADS others sleep for 1 ms each, again and again.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, far_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int done; /* for the condition, under the mutex */
static int asked[2], held[2], far_asked[2], far_held[2], answer[2];
static long held_us;
static int link_cnt;

static void tell(int fd)
{
	if (write(fd, "x", 1) != 1)
		exit(1);
}

static void hear(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		exit(0);
}

static void begin(const char *name, void *(*fn)(void *arg), void *arg, pthread_t *ret)
{
	pthread_t thread;

	if (pthread_create(ret ?: &thread, NULL, fn, arg))
		exit(1);
	pthread_setname_np(ret ? *ret : thread, name);
}

static void *be_far(void *arg)
{
	for (;;) {
		hear(far_asked[0]);
		pthread_mutex_lock(&far_mutex);
		tell(far_held[1]);
		usleep(held_us);
		pthread_mutex_unlock(&far_mutex);
	}
	return arg;
}

/* What the partner does while the handler waits. */
static void __attribute__((noinline)) work(void)
{
	if (link_cnt < 2) {
		usleep(held_us);
		return;
	}
	tell(far_asked[1]);
	hear(far_held[0]);
	pthread_mutex_lock(&far_mutex);
	pthread_mutex_unlock(&far_mutex);
}

/* --- Kinds of partners: what it takes before its work, and gives back after it; how one waits. */

static void lock(void)
{
	pthread_mutex_lock(&mutex);
}

static void unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

static void wait_mutex(void)
{
	lock();
	unlock();
}

static void signal_condition(void)
{
	lock();
	done = 1;
	pthread_cond_signal(&condition);
	unlock();
}

static void wait_condition(void)
{
	lock();
	while (!done)
		pthread_cond_wait(&condition, &mutex);
	done = 0;
	unlock();
}

static void reply(void)
{
	tell(answer[1]);
}

static void wait_answer(void)
{
	hear(answer[0]);
}

static void make_pipe(void)
{
	if (pipe(answer))
		exit(1);
}

static void make_unix(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, answer))
		exit(1);
}

static void make_tcp(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(sa);

	answer[1] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (void *)&sa, len) || listen(listener, 1) ||
	    getsockname(listener, (void *)&sa, &len) || connect(answer[1], (void *)&sa, len))
		exit(1);
	answer[0] = accept(listener, NULL, NULL);
}

/* Locks of a file belong to its open descriptions, or (POSIX) to processes. */
static int file;

static void open_file(void)
{
	file = open("/proc/self/exe", O_RDONLY);
}

static void lock_file(void)
{
	static int own = -1;

	if (own < 0)
		own = open("/proc/self/exe", O_RDONLY);
	if (flock(own, LOCK_EX))
		exit(1);
	answer[1] = own;
}

static void unlock_file(void)
{
	flock(answer[1], LOCK_UN);
}

static void wait_file(void)
{
	flock(file, LOCK_EX);
	flock(file, LOCK_UN);
}

static void *work_once(void *arg)
{
	work();
	return arg;
}

static void join(void)
{
	pthread_t thread;

	begin("partner", work_once, NULL, &thread);
	pthread_join(thread, NULL);
}

static void wait_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_NAME, "partner");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (link_cnt > 1)
			begin("far", be_far, NULL, NULL);
		work();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void nothing(void)
{
}

static const struct kind {
	const char *name;
	void (*make)(void);
	void (*take)(void), (*give)(void); /* NULL: the wait itself starts the partner */
	void (*wait)(void);
	int is_process;
} kinds[] = {
	{ "mutex", nothing, lock, unlock, wait_mutex, 0 },
	{ "condition", nothing, nothing, signal_condition, wait_condition, 0 },
	{ "join", nothing, NULL, NULL, join, 0 },
	{ "pipe", make_pipe, nothing, reply, wait_answer, 1 },
	{ "unix", make_unix, nothing, reply, wait_answer, 1 },
	{ "tcp", make_tcp, nothing, reply, wait_answer, 1 },
	{ "flock", open_file, lock_file, unlock_file, wait_file, 1 },
	{ "child", nothing, NULL, NULL, wait_child, 1 },
};

static void *be_partner(void *arg)
{
	const struct kind *kind = arg;

	for (;;) {
		hear(asked[0]);
		kind->take();
		tell(held[1]);
		work();
		kind->give();
	}
	return NULL;
}

static void start_partner(const struct kind *kind)
{
	if (kind->is_process && kind->take && !fork()) {
		prctl(PR_SET_NAME, "partner");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (link_cnt > 1)
			begin("far", be_far, NULL, NULL);
		be_partner((void *)kind);
	}
	if (link_cnt > 1 && !kind->is_process)
		begin("far", be_far, NULL, NULL);
	if (kind->take && !kind->is_process)
		begin("partner", be_partner, (void *)kind, NULL);
}

static void __attribute__((noinline)) handle(const struct kind *kind)
{
	hear(STDIN_FILENO);
	if (kind->take) {
		tell(asked[1]);
		hear(held[0]);
	}
	kind->wait();
}

static void *sleep_often(void *arg)
{
	for (;;)
		usleep(1000);
	return arg;
}

int main(int argc, char **argv)
{
	struct epoll_event event = { .events = EPOLLIN };
	const struct kind *kind = kinds, *end = kinds + sizeof(kinds) / sizeof(*kinds);
	int epfd = epoll_create1(0);

	while (argc == 5 && kind < end && strcmp(kind->name, argv[1]))
		kind++;
	if (argc != 5 || kind == end || pipe(asked) || pipe(held) || pipe(far_asked) ||
	    pipe(far_held) || epoll_ctl(epfd, EPOLL_CTL_ADD, STDIN_FILENO, &event))
		return 1;
	held_us = atol(argv[2]) * 1000;
	link_cnt = atoi(argv[4]);
	kind->make();
	start_partner(kind);
	for (int i = 0; i < atoi(argv[3]); i++)
		begin("often", sleep_often, NULL, NULL);
	puts("ready");
	fflush(stdout);
	for (;;)
		if (epoll_wait(epfd, &event, 1, -1) == 1)
			handle(kind);
}
