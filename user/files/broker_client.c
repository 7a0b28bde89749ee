/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The side of the process that may open nothing. If the tracer is gone, every request fails; the
 * process ends with its other socket.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/socket.h"
#include "files/broker.h"
#include "files/broker_request.h"
#include "files/proc.h"

static int broker_sock = -1;

void broker_client__use(int sock)
{
	broker_sock = sock;
}

bool broker_client__is_on(void)
{
	return broker_sock >= 0;
}

/* Files that were opened ahead; a taken one has no path any more. */
static struct {
	char path[BROKER_AHEAD_PATH];
	struct stat st;
	int64_t res;
	int fd; /* -1: none */
} ahead[BROKER_AHEAD_MAX];
static size_t ahead_cnt;

/* Sends the request and its text, and receives the answer and up to len bytes of data. */
static int64_t ask(const struct broker_request *req, const struct iovec *text, size_t text_cnt,
		   int fd, struct broker_answer *ret, void *data, size_t len, int *ret_fd)
{
	struct iovec out[3] = { { (void *)(uintptr_t)req, sizeof(*req) } };
	const struct iovec in[] = { { ret, sizeof(*ret) }, { data, len } };
	ssize_t n;

	for (size_t i = 0; i < text_cnt; i++)
		out[i + 1] = text[i];
	if (socket__send_fd(broker_sock, out, text_cnt + 1, fd))
		return -EIO;
	n = socket__receive_fd(broker_sock, in, 2, ret_fd);
	return n < (ssize_t)sizeof(*ret) ? -EIO : ret->res;
}

static struct iovec part_of(const char *text)
{
	return (struct iovec){ (void *)(uintptr_t)text, strlen(text) + 1 };
}

void broker_client__open_ahead(enum broker_op op, const char (*paths)[BROKER_AHEAD_PATH],
			       size_t cnt)
{
	const struct broker_request req = { .op = op };
	size_t sent = 0;

	if (!broker_client__is_on())
		return;
	while (ahead_cnt)
		if (ahead[--ahead_cnt].fd >= 0)
			close(ahead[ahead_cnt].fd);
	for (; sent < cnt && sent < BROKER_AHEAD_MAX; sent++) {
		const struct iovec out[] = { { (void *)(uintptr_t)&req, sizeof(req) },
					     part_of(paths[sent]),
					     part_of("") };

		if (socket__send_fd(broker_sock, out, 3, -1))
			break;
	}
	for (; ahead_cnt < sent; ahead_cnt++) {
		struct broker_answer got = {};
		const struct iovec in = { &got, sizeof(got) };
		ssize_t n = socket__receive_fd(broker_sock, &in, 1, &ahead[ahead_cnt].fd);

		ahead[ahead_cnt].res = n < (ssize_t)sizeof(got) ? -EIO : got.res;
		ahead[ahead_cnt].st = got.st;
		memcpy(ahead[ahead_cnt].path, paths[ahead_cnt], BROKER_AHEAD_PATH);
	}
}

/* True if this file was opened ahead; then *ret is a descriptor or -errno. */
static bool take_ahead(const char *path, struct stat *st, int *ret)
{
	for (size_t i = 0; i < ahead_cnt; i++) {
		if (strcmp(ahead[i].path, path))
			continue;
		*ret = ahead[i].res ? (int)ahead[i].res : ahead[i].fd < 0 ? -EIO : ahead[i].fd;
		if (st)
			*st = ahead[i].st;
		ahead[i].path[0] = '\0';
		ahead[i].fd = -1;
		return true;
	}
	return false;
}

int broker_client__open(enum broker_op op, const char *root, const char *path, struct stat *st)
{
	const struct broker_request req = { .op = op };
	const struct iovec text[] = { part_of(path), part_of(root ? root : "") };
	struct broker_answer got;
	int fd = -1;
	int64_t res;

	if ((op == BROKER_LINK || op == BROKER_OWN) && take_ahead(path, st, &fd))
		return fd;
	if (text[0].iov_len + text[1].iov_len > BROKER_TEXT_MAX)
		return -ENAMETOOLONG;
	res = ask(&req, text, 2, -1, &got, NULL, 0, &fd);
	if (res)
		return (int)res;
	if (st)
		*st = got.st;
	return fd < 0 ? -EIO : fd;
}

ssize_t broker_client__read(enum broker_op op, uint32_t pid, int fd, uint64_t at, void *buf,
			    size_t len)
{
	const struct broker_request req = {
		.op = op, .pid = pid, .at = at, .len = len < BROKER_DATA_MAX ? len : BROKER_DATA_MAX
	};
	struct broker_answer got;
	int none;
	int64_t res = ask(&req, NULL, 0, fd, &got, buf, req.len, &none);

	return res;
}

uint32_t broker_client__read_pieces(uint32_t pid, const uint64_t *addrs, size_t cnt, void *buf)
{
	const struct broker_request req = { .op = BROKER_PIECES, .pid = pid, .len = cnt };
	const struct iovec text = { (void *)(uintptr_t)addrs, cnt * sizeof(*addrs) };
	const size_t size = cnt * MEMORY_PIECE;
	struct broker_answer got;
	int none;

	return ask(&req, &text, 1, -1, &got, buf, size, &none) == (int64_t)size ? got.read : 0;
}

int64_t broker_client__ask(enum broker_op op, uint32_t pid, uint64_t at, const char *text)
{
	const struct broker_request req = { .op = op, .pid = pid, .at = at };
	const struct iovec part = part_of(text ? text : "");
	struct broker_answer got;
	int fd;
	int64_t res = ask(&req, &part, 1, -1, &got, NULL, 0, &fd);

	if (res || op != BROKER_FETCH_OPEN)
		return res;
	return fd < 0 ? -EIO : fd;
}
