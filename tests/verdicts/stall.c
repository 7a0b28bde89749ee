/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A library to preload into a server. It stalls where the server reads a request for it:
 * "JANK-KIND-MS-ID" anywhere in the bytes that were read. It writes what it did to the file in
 * STALL_LOG: "ID KIND PID TID BEGIN_NS END_NS CULPRIT" on CLOCK_MONOTONIC; CULPRIT is the tid that
 * was waited for, or 0. So the truth about a stall in the handler of any program is known, and the
 * program's own function is the caller. It is built as libmvec-1.so, because jankbpf never blames
 * functions of the C library's files.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MARK "JANK-"

static __thread pid_t culprit; /* of the thread's stall */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void nap(unsigned ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000l };

	nanosleep(&ts, NULL);
}

static void burn(unsigned ms)
{
	volatile unsigned sum = 0;
	uint64_t end = now_ns() + ms * 1000000ull;

	while (now_ns() < end)
		for (int i = 0; i < 20000; i++)
			sum += i * sum;
}

/* --- another thread, which releases after a while */

struct partner {
	unsigned ms;
	pid_t tid;
	pthread_mutex_t mutex;
	pthread_barrier_t ready;
	int fd;
};

static void *hold(void *arg)
{
	struct partner *p = arg;

	p->tid = gettid();
	pthread_mutex_lock(&p->mutex);
	pthread_barrier_wait(&p->ready);
	nap(p->ms);
	pthread_mutex_unlock(&p->mutex);
	return NULL;
}

static void *answer(void *arg)
{
	struct partner *p = arg;

	p->tid = gettid();
	pthread_barrier_wait(&p->ready);
	nap(p->ms);
	(void)!syscall(SYS_write, p->fd, "x", 1);
	return NULL;
}

static pthread_t start(struct partner *p, void *(*fn)(void *arg))
{
	pthread_t thread;

	pthread_mutex_init(&p->mutex, NULL);
	pthread_barrier_init(&p->ready, NULL, 2);
	if (pthread_create(&thread, NULL, fn, p))
		abort();
	pthread_barrier_wait(&p->ready);
	culprit = p->tid;
	return thread;
}

static void wait_for_mutex(unsigned ms)
{
	struct partner p = { .ms = ms };
	pthread_t thread = start(&p, hold);

	pthread_mutex_lock(&p.mutex);
	pthread_mutex_unlock(&p.mutex);
	pthread_join(thread, NULL);
}

static void wait_for_byte(unsigned ms, const int fds[2])
{
	struct partner p = { .ms = ms, .fd = fds[1] };
	pthread_t thread = start(&p, answer);
	char byte;

	(void)!syscall(SYS_read, fds[0], &byte, 1);
	pthread_join(thread, NULL);
	close(fds[0]);
	close(fds[1]);
}

static void wait_for_pipe(unsigned ms)
{
	int fds[2];

	if (!pipe(fds))
		wait_for_byte(ms, fds);
}

static void wait_for_socket(unsigned ms)
{
	int fds[2];

	if (!socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		wait_for_byte(ms, fds);
}

static void wait_for_events(unsigned ms)
{
	int fds[2];
	struct pollfd pfd;

	if (pipe(fds))
		return;
	pfd = (struct pollfd){ .fd = fds[0], .events = POLLIN };
	poll(&pfd, 1, ms);
	close(fds[0]);
	close(fds[1]);
}

static void wait_for_child(unsigned ms)
{
	pid_t pid = fork();

	if (!pid) {
		nap(ms);
		_exit(0);
	}
	culprit = pid;
	waitpid(pid, NULL, 0);
}

/* Any server may open the log. */
static int open_log(void)
{
	return open(getenv("STALL_LOG"), O_WRONLY | O_APPEND | O_CLOEXEC);
}

static void lock_file(unsigned ms, int ready)
{
	int fd = open_log();

	flock(fd, LOCK_EX);
	(void)!syscall(SYS_write, ready, "x", 1);
	nap(ms);
	flock(fd, LOCK_UN);
	_exit(0);
}

static void wait_for_file(unsigned ms)
{
	int fds[2], fd;
	pid_t pid;
	char byte;

	if (pipe(fds))
		return;
	pid = fork();
	if (!pid)
		lock_file(ms, fds[1]);
	culprit = pid;
	(void)!syscall(SYS_read, fds[0], &byte, 1);
	fd = open_log();
	flock(fd, LOCK_EX);
	close(fd);
	close(fds[0]);
	close(fds[1]);
	waitpid(pid, NULL, 0);
}

static const struct {
	const char *name;
	void (*stall)(unsigned ms);
} kinds[] = {
	{ "busy", burn },
	{ "sleep", nap },
	{ "mutex", wait_for_mutex },
	{ "pipe", wait_for_pipe },
	{ "socket", wait_for_socket },
	{ "poll", wait_for_events },
	{ "child", wait_for_child },
	{ "lock", wait_for_file },
};

/* --- requests */

static void report(unsigned id, const char *kind, uint64_t begin, uint64_t end)
{
	static int fd = -1;
	char line[160];
	int len;

	if (fd < 0)
		fd = open_log();
	len = snprintf(line, sizeof(line), "%u %s %d %d %llu %llu %d\n", id, kind, getpid(),
		       gettid(), (unsigned long long)begin, (unsigned long long)end, culprit);
	(void)!syscall(SYS_write, fd, line, len);
}

/* A request may be read in parts or peeked at: each id stalls once. */
static void look(const void *data, ssize_t len)
{
	static _Atomic unsigned last;
	const char *mark = len > 0 ? memmem(data, len, MARK, strlen(MARK)) : NULL;
	char text[64] = "", kind[16];
	unsigned ms, id;
	uint64_t begin;

	if (!mark)
		return;
	len -= mark - (const char *)data;
	memcpy(text, mark, len < 63 ? len : 63);
	if (sscanf(text, MARK "%15[a-z]-%u-%u", kind, &ms, &id) != 3 || id <= last || ms > 5000)
		return;
	last = id;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kinds[i].name, kind))
			continue;
		culprit = 0;
		begin = now_ns();
		kinds[i].stall(ms);
		report(id, kind, begin, now_ns());
	}
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t read(int fd, void *buf, size_t size)
{
	ssize_t len = NEXT(read)(fd, buf, size);

	look(buf, len);
	return len;
}

ssize_t recv(int fd, void *buf, size_t size, int flags)
{
	ssize_t len = NEXT(recv)(fd, buf, size, flags);

	look(buf, len);
	return len;
}

ssize_t recvfrom(int fd, void *buf, size_t size, int flags, struct sockaddr *from,
		 socklen_t *from_len)
{
	ssize_t len = NEXT(recvfrom)(fd, buf, size, flags, from, from_len);

	look(buf, len);
	return len;
}

static void look_at(const struct iovec *iov, size_t cnt, ssize_t len)
{
	for (size_t i = 0; i < cnt && len > 0; i++) {
		look(iov[i].iov_base,
		     len < (ssize_t)iov[i].iov_len ? len : (ssize_t)iov[i].iov_len);
		len -= iov[i].iov_len;
	}
}

ssize_t readv(int fd, const struct iovec *iov, int cnt)
{
	ssize_t len = NEXT(readv)(fd, iov, cnt);

	look_at(iov, cnt, len);
	return len;
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t len = NEXT(recvmsg)(fd, msg, flags);

	look_at(msg->msg_iov, msg->msg_iovlen, len);
	return len;
}

int recvmmsg(int fd, struct mmsghdr *msgs, unsigned cnt, int flags, struct timespec *timeout)
{
	int got = NEXT(recvmmsg)(fd, msgs, cnt, flags, timeout);

	for (int i = 0; i < got; i++)
		look_at(msgs[i].msg_hdr.msg_iov, msgs[i].msg_hdr.msg_iovlen, msgs[i].msg_len);
	return got;
}
