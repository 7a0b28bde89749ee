/* SPDX-License-Identifier: GPL-2.0 */
/* The stage: partner threads, and the descriptors and files that the handlers wait on. */
#include "simjank_stage.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "simjank_clock.h"
#include "simjank_scenario.h"

#define PAGE_SZ 4096u

static void holder__act(struct stage *stage, struct partner *partner)
{
	pthread_mutex_lock(&stage->mutex);
	sem_post(&partner->ready);
	clock__sleep_until(partner->end_ns);
	pthread_mutex_unlock(&stage->mutex);
}

static void signaller__act(struct stage *stage, struct partner *partner)
{
	clock__sleep_until(partner->end_ns);
	pthread_mutex_lock(&stage->cond_mutex);
	stage->signalled = true;
	pthread_cond_signal(&stage->cond);
	pthread_mutex_unlock(&stage->cond_mutex);
}

/* The writer's and the answerer's: both write one byte. */
static void writer__act(struct stage *stage, struct partner *partner)
{
	clock__sleep_until(partner->end_ns);
	while (write(partner->fd, "", 1) < 0 && errno == EINTR)
		;
}

static void pager__act(struct stage *stage, struct partner *partner)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)stage->missing, PAGE_SZ } };
	struct uffd_msg msg;

	while (read(partner->fd, &msg, sizeof(msg)) < 0 && errno == EINTR)
		;
	clock__sleep_until(partner->end_ns);
	ioctl(partner->fd, UFFDIO_ZEROPAGE, &zero);
}

/*
 * Keeps the storage busy, so that whoever waits for it meanwhile waits longer than it computes: where
 * a read takes 25 µs, half of the time of a major fault is CPU.
 */
static void reader__act(struct stage *stage, struct partner *partner)
{
	while (clock__mono_ns() < partner->end_ns)
		if (pread(stage->reader_fd, stage->reader_buffer, STAGE_DISK_SZ, 0) < 0)
			return;
}

static const struct {
	const char *name;
	unsigned need;
	void (*act)(struct stage *stage, struct partner *partner);
} partner_table[PARTNER_CNT] = {
	[PARTNER_HOLDER] = { "holder", NEED_HOLDER, holder__act },
	[PARTNER_SIGNALLER] = { "signaller", NEED_SIGNALLER, signaller__act },
	[PARTNER_WRITER] = { "writer", NEED_WRITER, writer__act },
	[PARTNER_ANSWERER] = { "answerer", NEED_ANSWERER, writer__act },
	[PARTNER_PAGER] = { "pager", NEED_PAGER, pager__act },
	[PARTNER_READER] = { "reader", NEED_READER, reader__act },
};

static void sem__wait(sem_t *sem)
{
	while (sem_wait(sem) && errno == EINTR)
		;
}

static void *partner__run(void *arg)
{
	struct partner *partner = arg;

	pthread_setname_np(pthread_self(), partner->name);
	for (;;) {
		sem__wait(&partner->go);
		partner->act(partner->stage, partner);
	}
	return NULL;
}

static int stage__open_partners(struct stage *stage)
{
	for (int i = 0; i < PARTNER_CNT; i++) {
		struct partner *partner = &stage->partners[i];
		pthread_t thread;
		int err;

		if (!(stage->needs & partner_table[i].need))
			continue;
		partner->name = partner_table[i].name;
		partner->act = partner_table[i].act;
		partner->stage = stage;
		sem_init(&partner->go, 0, 0);
		sem_init(&partner->ready, 0, 0);
		err = pthread_create(&thread, NULL, partner__run, partner);
		if (err)
			return -err;
	}
	return 0;
}

void stage__ask(struct stage *stage, int which, uint64_t end_ns, int fd)
{
	struct partner *partner = &stage->partners[which];

	partner->end_ns = end_ns;
	partner->fd = fd;
	sem_post(&partner->go);
	if (which == PARTNER_HOLDER)
		sem__wait(&partner->ready);
}

/* Two ends of a TCP connection over the loopback interface. */
static int tcp__pair(int fds[2])
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1, err = 0;

	fds[0] = fds[1] = -1;
	if (listener < 0)
		return -errno;
	if (bind(listener, (struct sockaddr *)&addr, len) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&addr, &len))
		goto out;
	fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fds[0] < 0 || connect(fds[0], (struct sockaddr *)&addr, len))
		goto out;
	fds[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fds[1] >= 0)
		setsockopt(fds[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
out:
	if (fds[1] < 0)
		err = -errno;
	close(listener);
	return err;
}

static int stage__open_fds(struct stage *stage)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (pipe2(stage->pipe_fds, O_CLOEXEC) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stage->unix_fds))
		return -errno;
	stage->nested_epfd = epoll_create1(EPOLL_CLOEXEC);
	if (stage->nested_epfd < 0 ||
	    epoll_ctl(stage->nested_epfd, EPOLL_CTL_ADD, stage->pipe_fds[0], &event))
		return -errno;
	stage->zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	if (stage->zero_fd < 0)
		return -errno;
	if (!(stage->needs & NEED_ANSWERER))
		return 0;
	return tcp__pair(stage->tcp_fds);
}

/* A file without a name, filled and on its storage. */
static int file__make(const char *dir, int flags, const char *data, size_t size)
{
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);

	if (fd < 0)
		return -errno;
	for (size_t at = 0; at < size; at += STAGE_BUFFER_SZ)
		if (pwrite(fd, data, STAGE_BUFFER_SZ, (off_t)at) != STAGE_BUFFER_SZ)
			goto fail;
	if (fsync(fd))
		goto fail;
	return fd;
fail:
	close(fd);
	return -EIO;
}

static int stage__open_disk(struct stage *stage)
{
	stage->disk_fd = file__make(stage->dir, 0, stage->buffer, STAGE_DISK_SZ);
	if (stage->disk_fd < 0)
		return stage->disk_fd;
	stage->dsync_fd = file__make(stage->dir, O_DSYNC | O_DIRECT, stage->buffer, STAGE_DISK_SZ);
	if (stage->dsync_fd < 0)
		stage->dsync_fd = file__make(stage->dir, O_DSYNC, stage->buffer, STAGE_DISK_SZ);
	return stage->dsync_fd < 0 ? stage->dsync_fd : 0;
}

static int stage__open_reader(struct stage *stage)
{
	void *map = mmap(NULL, STAGE_DISK_SZ, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (map == MAP_FAILED)
		return -errno;
	stage->reader_buffer = map;
	stage->reader_fd = file__make(stage->dir, O_DIRECT, stage->buffer, STAGE_DISK_SZ);
	if (stage->reader_fd < 0)
		stage->reader_fd = file__make(stage->dir, 0, stage->buffer, STAGE_DISK_SZ);
	return stage->reader_fd < 0 ? stage->reader_fd : 0;
}

static int stage__open_cold(struct stage *stage)
{
	void *map;

	stage->cold_fd = file__make(stage->dir, 0, stage->buffer, STAGE_COLD_SZ);
	if (stage->cold_fd < 0)
		return stage->cold_fd;
	map = mmap(NULL, STAGE_COLD_SZ, PROT_READ, MAP_SHARED, stage->cold_fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	stage->cold = map;
	madvise(map, STAGE_COLD_SZ, MADV_RANDOM);
	posix_fadvise(stage->cold_fd, 0, 0, POSIX_FADV_DONTNEED);
	return 0;
}

/* User-mode faults only: that needs no privilege. */
static int stage__open_missing(struct stage *stage)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	void *map = mmap(NULL, PAGE_SZ, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		return -errno;
	stage->missing = map;
	stage->uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	if (stage->uffd < 0 && errno == EINVAL) /* before 37cd0575b849 (5.11) */
		stage->uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (stage->uffd < 0)
		return -errno;
	reg.range.start = (uintptr_t)map;
	reg.range.len = PAGE_SZ;
	if (ioctl(stage->uffd, UFFDIO_API, &api) || ioctl(stage->uffd, UFFDIO_REGISTER, &reg))
		return -errno;
	return 0;
}

static int stage__open_buffer(struct stage *stage)
{
	void *map = mmap(NULL, STAGE_BUFFER_SZ, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (map == MAP_FAILED)
		return -errno;
	stage->buffer = map;
	memset(map, 'j', STAGE_BUFFER_SZ);
	return 0;
}

int stage__open(struct stage *stage, const char **what)
{
	const struct {
		const char *what;
		unsigned need; /* 0: always */
		int (*open)(struct stage *stage);
	} parts[] = {
		{ "a buffer", 0, stage__open_buffer },
		{ "pipes and sockets", 0, stage__open_fds },
		{ "a file to write to (see --dir)", NEED_DISK, stage__open_disk },
		{ "a file to map (see --dir)", NEED_COLD, stage__open_cold },
		{ "a file to read from (see --dir)", NEED_READER, stage__open_reader },
		{ "userfaultfd (scenario `userfault`)", NEED_PAGER, stage__open_missing },
		{ "threads", 0, stage__open_partners },
	};

	pthread_mutex_init(&stage->mutex, NULL);
	pthread_mutex_init(&stage->cond_mutex, NULL);
	pthread_cond_init(&stage->cond, NULL);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int err;

		if (parts[i].need && !(stage->needs & parts[i].need))
			continue;
		*what = parts[i].what;
		err = parts[i].open(stage);
		if (err)
			return err;
	}
	return 0;
}
