/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracer's side of the delivery. */
#include "deliver/deliver.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own_process.h"
#include "deliver/message.h"
#include "deliver/metrics_access.h"
#include "deliver/metrics_http.h"

#define BYTES_KEPT (4u << 20) /* of a record; a history has more */
#define DEATHS_MAX 5	      /* in a row, without an answer */

struct deliver {
	struct strbuf setup;
	bool has_journal;
	int journal_fd;	 /* -1: none, or taken */
	int progress_fd; /* shared memory of the processes: struct sink_progress */
	int sock;	 /* -1: the process ended */
	bool has_screen;
	int listen_fd;	      /* of the metrics; -1: not by HTTP */
	struct termios modes; /* with a screen: of the terminal, before it was drawn on */
	int control_fds[2];   /* a pipe; -1: it has no screen */
	_Atomic pid_t pid;
	struct greeting greeting; /* of the process that was started first */
	uint64_t nr;		  /* of the record sent last */
	struct strbuf bytes;	  /* that record */
	unsigned death_cnt;	  /* since the last answer */
	int status;		  /* of the process that ended last, as of waitpid */
	uint64_t restart_cnt;
	_Atomic uint64_t taken;	      /* records */
	_Atomic uint64_t given_up_ns; /* 0: it is not given up */
	uint64_t dropped;
	struct err failure; /* msg is empty: none */
};

/* --- the process */

/* The process is fed by its stdin, and ignores signals itself. */
static int spawn(const struct deliver *d, int sock, pid_t *ret)
{
	const struct own_process_fd fds[] = { { sock, DELIVER_SOCKET_FD },
					      { d->progress_fd, DELIVER_PROGRESS_FD },
					      { d->control_fds[1], DELIVER_CONTROL_FD },
					      { STDIN_FILENO, DELIVER_KEYS_FD } };

	const struct own_process_fd http_fds[] = { fds[0],
						   fds[1],
						   { d->listen_fd, DELIVER_LISTEN_FD } };

	if (d->has_screen)
		return own_process__start("jankbpf-deliver", DELIVER_SCREEN_WORD, fds, 4, ret);
	if (d->listen_fd >= 0)
		return own_process__start("jankbpf-deliver", DELIVER_HTTP_WORD, http_fds, 3, ret);
	return own_process__start("jankbpf-deliver", DELIVER_WORD, fds, 2, ret);
}

/* --- the terminal: a process that is killed leaves it as it was drawn on */

static int take_terminal(struct deliver *d, struct err *err)
{
	if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &d->modes))
		return err__set_exit(err, JANK_EXIT_USAGE, ENOTTY,
				     "top needs a terminal as stdin and stdout: give -b for tables "
				     "as text");
	d->has_screen = true;
	log__hold(true);
	return 0;
}

static void restore_terminal(const struct deliver *d)
{
	if (d->has_screen)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &d->modes);
}

/* Starts a process and sends the setup. 0 or -errno; -EPIPE: it ended at once. */
static int start(struct deliver *d)
{
	int ends[2], res;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	res = spawn(d, ends[1], &pid);
	close(ends[1]);
	if (res) {
		close(ends[0]);
		return res;
	}
	d->sock = ends[0];
	d->pid = pid;
	return message__send(d->sock, 0, d->setup.data, d->setup.len);
}

static void end(struct deliver *d, bool at_once)
{
	own_process__end(&d->pid, &d->sock, at_once, &d->status);
}

/* Ends the run: later records are not sent. */
static int fail(struct deliver *d)
{
	struct strbuf how = STRBUF_INIT;

	own_process__add_end(&how, d->status);
	err__set(&d->failure, ECHILD,
		 "the process that writes records ended %u times in a row without writing one "
		 "(last: %s): see the kernel's log (dmesg) for a reason such as lack of memory",
		 d->death_cnt, strbuf__str(&how));
	strbuf__free(&how);
	return -ECHILD;
}

/* The same because nobody reads stdout. */
static int fail_unread(struct deliver *d)
{
	struct strbuf waited = STRBUF_INIT;

	end(d, true);
	clock__add_duration(&waited, d->given_up_ns);
	err__set(&d->failure, ETIMEDOUT,
		 "stdout took no record for %s after the end of the run: the rest is given up; let "
		 "its reader read, or write to a file",
		 strbuf__str(&waited));
	strbuf__free(&waited);
	return -ECHILD;
}

static void report_restart(const struct deliver *d)
{
	struct strbuf how = STRBUF_INIT;

	if (d->restart_cnt)
		return;
	own_process__add_end(&how, d->status);
	log__status(NULL);
	log__warn("the process that writes records ended (%s): it is started again, and the "
		  "summary counts further ends",
		  strbuf__str(&how));
	strbuf__free(&how);
}

/* Starts it again until it greets. 0, or -ECHILD with a failure. */
static int restart(struct deliver *d)
{
	struct greeting greeting;
	int res = -EPIPE;

	while (res == -EPIPE || res == -EBADMSG) {
		end(d, true);
		if (++d->death_cnt == DEATHS_MAX)
			return fail(d);
		report_restart(d);
		d->restart_cnt++;
		restore_terminal(d);
		res = start(d);
		if (!res)
			res = greeting__receive(d->sock, &greeting);
		if (!res && !greeting.err.msg[0] && greeting.sink_cnt != d->greeting.sink_cnt)
			res = -EBADMSG;
	}
	if (!res && !greeting.err.msg[0])
		return 0;
	if (res)
		err__set(&d->failure, -res, "cannot start the process that writes records: %s",
			 strerror(-res));
	else
		d->failure = greeting.err;
	end(d, true);
	return -ECHILD;
}

/* --- for the session */

enum deliver_kind deliver__kind(const struct options *opts)
{
	if (options__has_screen(opts))
		return DELIVER_SCREEN;
	return opts->command == CMD_AGENT && opts->metrics_listen ? DELIVER_HTTP : DELIVER_PLAIN;
}

/* 0 or -errno with a message. */
static int pack_setup(struct deliver *d, const struct options *opts, struct err *err)
{
	struct metrics_access access = {};
	int res = 0;

	if (d->listen_fd >= 0)
		res = metrics_access__read(opts, &access, err);
	if (res)
		return res;
	setup__pack(opts, &access, &d->setup);
	metrics_access__free(&access);
	return 0;
}

int deliver__start(const struct options *opts, struct deliver **ret, struct err *err)
{
	struct deliver *d = calloc(1, sizeof(*d));
	int res;

	if (!d)
		return err__set(err, ENOMEM, "out of memory");
	d->sock = d->journal_fd = d->progress_fd = d->control_fds[0] = d->control_fds[1] = -1;
	d->listen_fd = -1;
	d->has_journal = opts->journal;
	res = options__has_screen(opts) ? take_terminal(d, err) : 0;
	if (deliver__kind(opts) == DELIVER_HTTP)
		res = d->listen_fd = metrics_http__listen(opts->metrics_listen, err);
	if (res >= 0)
		res = pack_setup(d, opts, err);
	if (res < 0) {
		deliver__free(d);
		return res;
	}
	res = d->progress_fd =
		own_process__shared("jankbpf-progress", SINK_MAX * sizeof(struct sink_progress));
	if (res >= 0 && d->has_screen && pipe2(d->control_fds, O_CLOEXEC | O_NONBLOCK))
		res = -errno;
	if (res >= 0)
		res = d->setup.failed ? -ENOMEM : start(d);
	if (!res || res == -EPIPE) { /* deliver__open finds out why */
		*ret = d;
		return 0;
	}
	deliver__free(d);
	return err__set(err, -res, "cannot start the process that writes records: %s",
			strerror(-res));
}

int deliver__open(struct deliver *d, struct err *err)
{
	struct strbuf how = STRBUF_INIT;
	int res = greeting__receive(d->sock, &d->greeting);

	if (!res && d->greeting.err.msg[0]) {
		*err = d->greeting.err;
		return -EINVAL;
	}
	if (!res && d->has_journal)
		res = journal_fd__receive(d->sock, &d->journal_fd);
	setup__forget_journal(&d->setup);
	if (!res)
		return 0;
	end(d, true);
	own_process__add_end(&how, d->status);
	err__set(err, -res,
		 "the process that writes records ended at its start (%s): see the "
		 "kernel's log (dmesg) for a reason such as lack of memory",
		 strbuf__str(&how));
	strbuf__free(&how);
	return res;
}

void deliver__free(struct deliver *d)
{
	if (!d)
		return;
	end(d, false);
	restore_terminal(d);
	if (d->has_screen)
		log__hold(false);
	if (d->progress_fd >= 0)
		close(d->progress_fd);
	if (d->journal_fd >= 0)
		close(d->journal_fd);
	if (d->listen_fd >= 0)
		close(d->listen_fd);
	for (unsigned i = 0; i < 2; i++)
		if (d->control_fds[i] >= 0)
			close(d->control_fds[i]);
	if (d->setup.data) /* it has the password */
		explicit_bzero(d->setup.data, d->setup.cap);
	strbuf__free(&d->setup);
	strbuf__free(&d->bytes);
	free(d);
}

int deliver__take_journal(struct deliver *d)
{
	int fd = d->journal_fd;

	d->journal_fd = -1;
	return fd;
}

unsigned deliver__sink_cnt(const struct deliver *d)
{
	return d->greeting.sink_cnt;
}

const char *deliver__sink_name(const struct deliver *d, unsigned i)
{
	return d->greeting.names[i];
}

static int exchange(struct deliver *d, struct answer *ret)
{
	int res = message__send(d->sock, d->nr, d->bytes.data, d->bytes.len);

	return res ? res : answer__receive(d->sock, d->nr, d->greeting.sink_cnt, ret);
}

int deliver__record(struct deliver *d, const Jankbpf__Record *record, int *results)
{
	struct answer answer;
	int res;

	if (d->failure.msg[0])
		return -ECHILD;
	strbuf__reset(&d->bytes);
	res = stream__pack(&d->bytes, record);
	if (res || d->bytes.len > MESSAGE_MAX)
		return res ? res : -EMSGSIZE;
	d->nr++;
	while (exchange(d, &answer)) {
		res = d->given_up_ns ? fail_unread(d) : restart(d);
		if (res)
			return res;
	}
	if (d->bytes.len > BYTES_KEPT)
		strbuf__free(&d->bytes);
	d->death_cnt = 0;
	d->taken++;
	if (answer.dropped > d->dropped) /* it is not trusted */
		d->dropped = answer.dropped;
	for (unsigned i = 0; i < d->greeting.sink_cnt; i++)
		results[i] = answer.results[i];
	return 0;
}

uint64_t deliver__dropped(const struct deliver *d)
{
	return d->dropped;
}

uint64_t deliver__taken(const struct deliver *d)
{
	return d ? d->taken : 0;
}

void deliver__give_up(struct deliver *d, uint64_t waited_ns)
{
	pid_t pid = d->pid;

	d->given_up_ns = waited_ns;
	if (pid)
		kill(pid, SIGKILL);
}

uint64_t deliver__restart_cnt(const struct deliver *d)
{
	return d->restart_cnt;
}

bool deliver__failure(const struct deliver *d, struct err *ret)
{
	if (!d || !d->failure.msg[0])
		return false;
	*ret = d->failure;
	return true;
}

pid_t deliver__pid(const struct deliver *d)
{
	return d ? d->pid : 0;
}

int deliver__control_fd(const struct deliver *d)
{
	return d ? d->control_fds[0] : -1;
}

int deliver__command(const struct deliver *d, struct top_command *ret)
{
	return command__receive(d->control_fds[0], ret);
}
