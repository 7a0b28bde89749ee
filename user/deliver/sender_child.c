/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that sends records, and its parent. Each watches the other; both end with the
 * socket.
 */
#include "deliver/sender_process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own_process.h"
#include "base/thread.h"
#include "deliver/deliver_confine.h"
#include "send/send.h"

#define AGAIN_MS  1000	/* after the process ended */
#define LOCKED_MS 10000 /* while another process sends the spool */

struct sending {
	struct sender_shared *shared;
	char **words; /* of the command line */
	struct options opts;
	bool reported, orphaned; /* the end of the one or the other was */
};

/* True: the other end is closed, in time. */
static bool wait_for_end(int fd, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, ms) > 0;
}

/* --- the process that sends */

/* The spool may not be there at all yet. */
static void report_failure(const struct sending *s, int res, const struct err *err)
{
	if (res == -EAGAIN)
		log__warn("%s", err->msg);
	else if (!access(s->opts.spool, X_OK))
		log__warn("no records are sent: %s", err->msg);
}

/*
 * Until its parent closes the socket or ends. The first failure is not reported: the process that
 * writes may have only begun the spool, and that of an agent that was killed needs a moment to end.
 */
static void send_all(struct sending *s, int parent_fd)
{
	const struct sender_opts opts = { .options = &s->opts, .stop_fd = parent_fd };
	unsigned failures = 0;
	int res;

	do {
		struct err err = {};

		res = sender__run(&opts, &err);
		failures = res ? failures + 1 : 0;
		if (failures == 2)
			report_failure(s, res, &err);
	} while (!wait_for_end(parent_fd, failures > 1 && res == -EAGAIN ? LOCKED_MS : AGAIN_MS));
}

/* --- its parent */

static void report_end(struct sending *s, int status)
{
	struct strbuf how = STRBUF_INIT;

	if (s->reported)
		return;
	s->reported = true;
	own_process__add_end(&how, status);
	log__warn("the process that sends records ended (%s): it is started again, also later; "
		  "records wait in the spool",
		  strbuf__str(&how));
	strbuf__free(&how);
}

/* Its pid; 0: we are the process that sends; -1: none. *ret_fd: a socket to the other one. */
static pid_t start(int *ret_fd)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -1;
	pid = fork();
	close(ends[pid ? 1 : 0]);
	*ret_fd = ends[pid ? 0 : 1];
	if (pid < 0)
		close(*ret_fd);
	return pid;
}

/* Waits for the end of the run or of the process. *ret_status: how it ended. */
static void watch(pid_t pid, int fd, int *ret_status)
{
	struct pollfd ends[] = { { .fd = SENDER_SOCKET_FD, .events = POLLIN },
				 { .fd = fd, .events = POLLIN } };

	while (poll(ends, 2, -1) < 0 && errno == EINTR)
		;
	close(fd);
	while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
		;
}

/* -1: the run ended. Else we are a new process that sends: the socket to its parent. */
static int supervise(struct sending *s)
{
	s->shared->parent = getpid();
	do {
		int status = 0, fd;
		pid_t pid = start(&fd);

		if (!pid)
			return fd;
		s->shared->pid = pid > 0 ? pid : 0;
		if (pid > 0)
			watch(pid, fd, &status);
		s->shared->pid = 0;
		if (wait_for_end(SENDER_SOCKET_FD, 0))
			return -1;
		report_end(s, status);
	} while (!wait_for_end(SENDER_SOCKET_FD, AGAIN_MS));
	return -1;
}

/* Without its parent, a process that sends takes the place of it. */
static int run(struct sending *s)
{
	int fd;

	while ((fd = supervise(s)) >= 0) {
		send_all(s, fd);
		close(fd);
		if (wait_for_end(SENDER_SOCKET_FD, 0))
			break;
		if (!s->orphaned)
			log__warn("the parent of the process that sends records ended: another one "
				  "takes its place, also later; records wait in the spool");
		s->orphaned = true;
	}
	return JANK_EXIT_OK;
}

/* --- start */

static int read_words(struct sending *s, const char *at, struct options *ret)
{
	uint32_t cnt = s->shared->word_cnt;

	if (s->shared->has_user) {
		ret->records_user = at;
		at += strlen(at) + 1;
	}
	s->words = calloc(cnt + 3, sizeof(*s->words));
	if (!s->words)
		return -ENOMEM;
	s->words[0] = (char *)"jankbpf";
	s->words[1] = (char *)"send";
	for (uint32_t i = 0; i < cnt; i++) {
		s->words[i + 2] = (char *)at;
		at += strlen(at) + 1;
	}
	return 0;
}

static int open_sending(struct sending *s, struct options *confined, struct err *err)
{
	struct stat st;
	int res;

	if (fstat(SENDER_SHARED_FD, &st))
		return -errno;
	s->shared = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			 SENDER_SHARED_FD, 0);
	fds__close_from(SENDER_SHARED_FD);
	if (s->shared == MAP_FAILED)
		return -ENOMEM;
	confined->command = (enum command)s->shared->command;
	res = read_words(s, (const char *)(s->shared + 1), confined);
	if (!res)
		res = options__parse((int)s->shared->word_cnt + 2, s->words, &s->opts, err);
	return res;
}

int sender_process__main(void)
{
	struct options confined = {};
	struct sending s = {};
	struct err err = {};
	int res;

	if (!own_process__begin(SENDER_SOCKET_FD)) {
		log__error("'" SENDER_WORD "': only a trace starts this process, for its own "
			   "records; to send those of a spool: jankbpf send");
		return JANK_EXIT_USAGE;
	}
	prctl(PR_SET_NAME, "jankbpf-send");
	res = open_sending(&s, &confined, &err);
	log__set_level(s.opts.verbosity);
	if (!res)
		res = confine__sender(&confined, &err);
	if (res) {
		log__error("no records are sent: %s", err.msg[0] ? err.msg : strerror(-res));
		return JANK_EXIT_FAILED;
	}
	return run(&s);
}
