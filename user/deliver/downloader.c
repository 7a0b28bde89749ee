/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Both sides of the process that downloads: a message has a build id, the answer a descriptor. */
#include "deliver/downloader.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own_process.h"
#include "base/socket.h"
#include "base/thread.h"
#include "deliver/deliver_confine.h"
#include "symbol/elf/elf.h"
#include "symbol/modules/debuginfod.h"

#define SOCKET_FD 0
#define ERRNO_MAX 4095

struct download_request {
	char build_id[BUILD_ID_HEX_SZ];
};

struct result {
	int32_t res; /* 0: the descriptor comes with it; or -errno */
};

/* --- the tracer's side */

struct downloader {
	int sock;
	_Atomic pid_t pid;
	_Atomic bool stops; /* the run ends */
	bool ended;	    /* the process did, by itself */
};

int downloader__start(struct downloader **ret, struct err *err)
{
	struct downloader *d;
	int ends[2], res;
	pid_t pid = 0;

	*ret = NULL;
	if (!debuginfod__is_wanted())
		return 0;
	d = calloc(1, sizeof(*d));
	if (!d)
		return err__set(err, ENOMEM, "out of memory");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		res = -errno;
		free(d);
		return err__set(err, -res, "cannot create a socket: %s", strerror(-res));
	}
	res = own_process__start("jankbpf-fetch", DOWNLOADER_WORD,
				 &(struct own_process_fd){ ends[1], SOCKET_FD }, 1, &pid);
	close(ends[1]);
	d->sock = ends[0];
	d->pid = pid;
	if (!res) {
		*ret = d;
		return 0;
	}
	downloader__free(d);
	return err__set(err, -res, "cannot start the process that downloads debug files: %s",
			strerror(-res));
}

void downloader__free(struct downloader *d)
{
	int status;

	if (!d)
		return;
	own_process__end(&d->pid, &d->sock, false, &status);
	free(d);
}

pid_t downloader__pid(const struct downloader *d)
{
	return d ? d->pid : 0;
}

/* The tracer trusts no answer: 0 with a descriptor of a file, or an error. */
static int receive(struct downloader *d, int *ret_fd)
{
	struct result result;
	const struct iovec part = { &result, sizeof(result) };
	ssize_t n = socket__receive_fd(d->sock, &part, 1, ret_fd);

	if (n < 0)
		return (int)n;
	if (n == sizeof(result) && !result.res)
		return socket__check_file(*ret_fd);
	if (*ret_fd >= 0)
		close(*ret_fd);
	return n == sizeof(result) && result.res < 0 && result.res >= -ERRNO_MAX ? result.res
										 : -EBADMSG;
}

static int get(void *ctx, const char *build_id)
{
	struct downloader *d = ctx;
	struct download_request request = {};
	const struct iovec part = { &request, sizeof(request) };
	int fd = -1, res;

	if (d->ended)
		return -EPIPE;
	memccpy(request.build_id, build_id, '\0', sizeof(request.build_id) - 1);
	res = socket__send_fd(d->sock, &part, 1, -1);
	if (!res)
		res = receive(d, &fd);
	if (res == -EPIPE && !d->stops) {
		d->ended = true;
		log__status(NULL);
		log__warn("the process that downloads debug files ended: no further file is "
			  "downloaded; to try again, end this run and start it again");
	}
	return res ? res : fd;
}

static void stop(void *ctx)
{
	struct downloader *d = ctx;

	d->stops = true;
	shutdown(d->sock, SHUT_RDWR);
}

struct fetch_source downloader__source(struct downloader *d)
{
	return d ? (struct fetch_source){ get, stop, d } : (struct fetch_source){};
}

/* --- the process */

static bool is_gone(void *ctx)
{
	struct pollfd tracer = { .fd = SOCKET_FD };

	(void)ctx;
	return poll(&tracer, 1, 0) > 0 && tracer.revents & (POLLHUP | POLLERR);
}

/* Once: an unreachable server or a cache that cannot be written fails for each file. */
static void report(int res)
{
	static bool reported;
	bool cache = res == -EACCES || res == -EPERM || res == -EROFS || res == -ENOSPC;

	if (reported || res >= 0 || res == -ENOENT || res == -EFBIG || res == -ETIME)
		return;
	reported = true;
	log__warn("no debug file is downloaded: %s; %s", strerror(-res),
		  cache ? "set DEBUGINFOD_CACHE_PATH to a directory that the user of sudo may write"
			: "check DEBUGINFOD_URLS and the network");
}

static int answer(int res)
{
	struct result result = { res == -EPIPE ? -EIO : res < 0 ? res : 0 };
	const struct iovec part = { &result, sizeof(result) };

	report(res);
	return socket__send_fd(SOCKET_FD, &part, 1, res);
}

static int serve(struct debuginfod *d)
{
	struct download_request request;
	const struct iovec part = { &request, sizeof(request) };
	int res = 0, fd;

	while (!res) {
		ssize_t n = socket__receive_fd(SOCKET_FD, &part, 1, &fd);

		if (n != sizeof(request))
			return n < 0 ? (int)n : -EBADMSG;
		request.build_id[sizeof(request.build_id) - 1] = '\0';
		fd = debuginfod__get(d, request.build_id);
		res = answer(fd);
		if (fd >= 0)
			close(fd);
	}
	return res;
}

int downloader__main(void)
{
	struct debuginfod *d;
	struct err err = {};
	int res;

	if (!own_process__begin(SOCKET_FD)) {
		log__error("'" DOWNLOADER_WORD "': only a trace starts this process, for its own "
			   "debug files; see jankbpf --help");
		return JANK_EXIT_USAGE;
	}
	prctl(PR_SET_NAME, "jankbpf-fetch");
	fds__close_from(STDERR_FILENO + 1);
	res = confine__downloader(&err);
	if (res) {
		log__warn("%s", err.msg);
		return JANK_EXIT_FAILED;
	}
	d = debuginfod__new(is_gone, NULL, &err);
	if (!d) {
		log__warn("%s",
			  err.msg[0] ? err.msg : "out of memory: no debug file is downloaded");
		return JANK_EXIT_FAILED;
	}
	res = serve(d);
	debuginfod__free(d);
	return res == -EPIPE ? JANK_EXIT_OK : JANK_EXIT_FAILED;
}
