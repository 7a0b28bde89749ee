/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/socket.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int error_of(int code)
{
	return code == ECONNRESET ? -EPIPE : -code;
}

/* --- streams */

/* Sends all parts; changes them. */
static int send_all(int sock, struct iovec *parts, size_t cnt)
{
	while (cnt) {
		struct msghdr msg = { .msg_iov = parts, .msg_iovlen = cnt };
		ssize_t n = sendmsg(sock, &msg, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return error_of(errno);
		for (; cnt && n >= (ssize_t)parts->iov_len; parts++, cnt--)
			n -= (ssize_t)parts->iov_len;
		if (cnt && n > 0) {
			parts->iov_base = (char *)parts->iov_base + n;
			parts->iov_len -= (size_t)n;
		}
	}
	return 0;
}

int socket__send(int sock, const void *head, size_t head_size, const void *data, size_t size)
{
	struct iovec parts[] = { { (void *)(uintptr_t)head, head_size },
				 { (void *)(uintptr_t)data, size } };

	return send_all(sock, parts, size ? 2 : 1);
}

int socket__receive(int sock, void *to, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t n = recv(sock, (char *)to + at, size - at, 0);

		if (!n)
			return -EPIPE;
		if (n < 0 && errno != EINTR)
			return error_of(errno);
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int socket__receive_bytes(int sock, size_t size, struct strbuf *sb)
{
	char chunk[65536];
	int res = 0;

	strbuf__reset(sb);
	while (!res && size) {
		size_t part = size < sizeof(chunk) ? size : sizeof(chunk);

		res = socket__receive(sock, chunk, part);
		if (!res)
			strbuf__add(sb, chunk, part);
		size -= part;
	}
	return res ? res : sb->failed ? -ENOMEM : 0;
}

/* --- messages with a descriptor */

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

int socket__send_fd(int sock, const struct iovec *parts, size_t cnt, int fd)
{
	union control control = {};
	struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = cnt };
	ssize_t n;

	if (fd >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	do {
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? error_of(errno) : 0;
}

ssize_t socket__receive_fd(int sock, const struct iovec *parts, size_t cnt, int *ret_fd)
{
	union control control = {};
	struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)parts,
			      .msg_iovlen = cnt,
			      .msg_control = &control,
			      .msg_controllen = CMSG_LEN(sizeof(int)) };
	ssize_t n;

	do {
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	*ret_fd = -1;
	if (n < 0)
		return error_of(errno);
	if (msg.msg_controllen >= CMSG_LEN(sizeof(int)) && control.head.cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(&control.head), sizeof(*ret_fd));
	if (n && !(msg.msg_flags & MSG_TRUNC))
		return n;
	if (*ret_fd >= 0)
		close(*ret_fd);
	*ret_fd = -1;
	return n ? -EBADMSG : -EPIPE;
}

int socket__check_file(int fd)
{
	struct stat st;

	if (fd < 0)
		return -EBADMSG;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return 0;
	close(fd);
	return -EBADMSG;
}
