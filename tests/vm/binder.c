/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Server and client of binder, for tests/vm/binder.t. Each device has a server of its own (its
 * context manager).
 *
 *   binder serve NAME DEVICE   answers each call after as many ms as its code says
 *   binder call COUNT A B      an epoll loop: each handler calls both devices, one of them slow
 *
 * The client prints a line for each handler: device, code.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/android/binder.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define MAP_SZ		  (128 << 10)
#define SLOW_MS		  60
#define HANDLE_OF_MANAGER 0

static void fail(const char *what)
{
	fprintf(stderr, "binder: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_device(const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/%s", name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || mmap(NULL, MAP_SZ, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		fail(path);
	return fd;
}

static void talk(int fd, const void *out, size_t out_sz, void *in, size_t in_sz, size_t *ret)
{
	struct binder_write_read bwr = { .write_buffer = (uintptr_t)out,
					 .write_size = out_sz,
					 .read_buffer = (uintptr_t)in,
					 .read_size = in_sz };

	while (ioctl(fd, BINDER_WRITE_READ, &bwr))
		if (errno != EINTR)
			fail("BINDER_WRITE_READ");
	*ret = bwr.read_consumed;
}

struct transaction {
	uint32_t command;
	struct binder_transaction_data data;
} __attribute__((packed));

struct reply {
	uint32_t free_buffer;
	binder_uintptr_t buffer;
	struct transaction transaction;
} __attribute__((packed));

static void sleep_ms(unsigned ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

/* Finds a command in what was read; its data, or NULL. */
static const struct binder_transaction_data *find(const char *in, size_t len, uint32_t command)
{
	for (size_t at = 0; at + sizeof(uint32_t) <= len;) {
		uint32_t here;

		memcpy(&here, in + at, sizeof(here));
		at += sizeof(here);
		if (here == command)
			return (const void *)(in + at);
		at += _IOC_SIZE(here);
	}
	return NULL;
}

static void serve(int fd)
{
	uint32_t enter = BC_ENTER_LOOPER;
	struct reply reply = { .free_buffer = BC_FREE_BUFFER, .transaction.command = BC_REPLY };
	char in[256];
	size_t len;

	if (ioctl(fd, BINDER_SET_CONTEXT_MGR, 0))
		fail("BINDER_SET_CONTEXT_MGR");
	talk(fd, &enter, sizeof(enter), NULL, 0, &len);
	puts("ready");
	fflush(stdout);
	for (;;) {
		const struct binder_transaction_data *data;
		struct binder_transaction_data call;

		talk(fd, NULL, 0, in, sizeof(in), &len);
		data = find(in, len, BR_TRANSACTION);
		if (!data)
			continue;
		memcpy(&call, data, sizeof(call));
		sleep_ms(call.code);
		reply.buffer = call.data.ptr.buffer;
		talk(fd, &reply,
		     call.flags & TF_ONE_WAY ? offsetof(struct reply, transaction) : sizeof(reply),
		     NULL, 0, &len);
	}
}

static void call(int fd, unsigned code, unsigned flags)
{
	struct transaction out = {
		.command = BC_TRANSACTION,
		.data = { .target.handle = HANDLE_OF_MANAGER, .code = code, .flags = flags }
	};
	uint32_t wanted = flags & TF_ONE_WAY ? BR_TRANSACTION_COMPLETE : BR_REPLY;
	size_t size = sizeof(out), len;
	char in[256];

	do {
		talk(fd, &out, size, in, sizeof(in), &len);
		size = 0;
		if (find(in, len, BR_DEAD_REPLY) || find(in, len, BR_FAILED_REPLY))
			fail("no reply");
	} while (!find(in, len, wanted));
}

/* One of the two is slow, in turn; the last call but it is one that nobody waits for. */
static void handle(unsigned i, const int *fds, const char *const *names)
{
	unsigned slow = i & 1, code = SLOW_MS + i;

	call(fds[!slow], 1, 0);
	call(fds[!slow], 2, TF_ONE_WAY);
	call(fds[slow], code, 0);
	printf("%s %u\n", names[slow], code);
	fflush(stdout);
}

static void run(unsigned count, const char *const *names)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fds[2] = { open_device(names[0]), open_device(names[1]) };
	int loop = epoll_create1(EPOLL_CLOEXEC), wake = eventfd(0, EFD_CLOEXEC);
	uint64_t one = 1;

	epoll_ctl(loop, EPOLL_CTL_ADD, wake, &event);
	for (unsigned i = 0; i < count; i++) {
		epoll_wait(loop, &event, 1, 500); /* so that the trace is there */
		if (write(wake, &one, sizeof(one)) != sizeof(one) ||
		    epoll_wait(loop, &event, 1, -1) != 1 || read(wake, &one, sizeof(one)) < 0)
			fail("the loop");
		handle(i, fds, names);
	}
	epoll_wait(loop, &event, 1, 10);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "serve")) {
		prctl(PR_SET_NAME, argv[2]);
		serve(open_device(argv[3]));
	}
	if (argc != 5 || strcmp(argv[1], "call"))
		return 2;
	run(atoi(argv[2]), (const char *const *)argv + 3);
	return 0;
}
