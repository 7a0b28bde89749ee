/* SPDX-License-Identifier: GPL-2.0 */
/* Messages on a socket, with any descriptors; and how many descriptors this process has. */
#ifndef JANK_FUZZ_SOCKET_H
#define JANK_FUZZ_SOCKET_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "tests/fuzz/fuzz.h"

#define SOCKET_FDS_MAX 4

/* Half of the streams stay as they are; others are also cut. */
static inline void fuzz__damage_stream(struct fuzz *f, struct strbuf *sb)
{
	if (fuzz__chance(f, 2))
		return;
	for (size_t i = fuzz__below(f, 4); i && sb->len; i--)
		fuzz__damage(f, sb->data, sb->len);
	if (fuzz__chance(f, 4))
		sb->len = fuzz__below(f, sb->len + 1);
}

static inline unsigned fuzz__descriptors(void)
{
	unsigned cnt = 0;

	for (int fd = 0; fd < 64; fd++)
		cnt += fcntl(fd, F_GETFD) >= 0;
	return cnt;
}

static inline void fuzz__socketpair(int type, int ends[2])
{
	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends))
		abort();
}

/* Sends one message with fd_cnt descriptors, at most SOCKET_FDS_MAX. False: it was not sent. */
static inline bool fuzz__send(int sock, const void *data, size_t len, const int *fds,
			      unsigned fd_cnt)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(SOCKET_FDS_MAX * sizeof(int))];
	} control = {};
	struct iovec part = { (void *)(uintptr_t)data, len };
	struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd_cnt) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(fd_cnt * sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(fd_cnt * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fds, fd_cnt * sizeof(int));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len;
}

/* Receives one message; its descriptors become the caller's. Returns its size, -1: none. */
static inline ssize_t fuzz__receive(int sock, struct iovec *parts, size_t cnt,
				    int fds[SOCKET_FDS_MAX], unsigned *ret_cnt)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(SOCKET_FDS_MAX * sizeof(int))];
	} control = {};
	struct msghdr msg = { .msg_iov = parts,
			      .msg_iovlen = cnt,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	*ret_cnt = 0;
	if (n < 0 || !msg.msg_controllen || control.head.cmsg_type != SCM_RIGHTS)
		return n;
	*ret_cnt = (control.head.cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(&control.head), *ret_cnt * sizeof(int));
	return n;
}

#endif
