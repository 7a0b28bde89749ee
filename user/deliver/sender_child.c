/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that sends records, and its parent, which starts it again. Both end with the socket.
 */
#include "deliver/sender_process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own_process.h"
#include "base/thread.h"
#include "deliver/confine.h"
#include "send/send.h"

#define AGAIN_MS  1000	/* after the process ended */
#define LOCKED_MS 10000 /* while another process sends the spool */

struct sending {
	struct sender_shared *shared;
	char **words; /* of the command line */
	struct options opts;
	bool reported;
};

/* --- the process */

/* True: the tracer ended, or wants us to. */
static bool wait_for_end(int ms)
{
	struct pollfd tracer = { .fd = SENDER_SOCKET_FD, .events = POLLIN };

	return poll(&tracer, 1, ms) > 0;
}

/* The spool may not be there yet, or another process may send it. */
static int send_all(struct sending *s)
{
	const struct sender_opts opts = { .options = &s->opts, .stop_fd = SENDER_SOCKET_FD };
	bool reported = false;
	int res;

	do {
		struct err err = {};

		res = sender__run(&opts, &err);
		if (res == -EAGAIN && !reported) {
			log__warn("%s", err.msg);
			reported = true;
		} else if (res && res != -EAGAIN && access(s->opts.spool, X_OK) == 0 && !reported) {
			log__warn("no records are sent: %s", err.msg);
			reported = true;
		}
	} while (!wait_for_end(res == -EAGAIN ? LOCKED_MS : AGAIN_MS));
	return 0;
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

static pid_t start(struct sending *s)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(JANK_EXIT_FAILED);
	_exit(send_all(s));
}

static int supervise(struct sending *s)
{
	do {
		int status = 0;
		pid_t pid = start(s);

		s->shared->pid = pid > 0 ? pid : 0;
		while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		s->shared->pid = 0;
		if (wait_for_end(0))
			return JANK_EXIT_OK;
		report_end(s, status);
	} while (!wait_for_end(AGAIN_MS));
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
	return supervise(&s);
}
