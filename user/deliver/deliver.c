/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracer's side of the delivery. */
#include "deliver/deliver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "deliver/message.h"

#define DEATHS_MAX 5	/* in a row, without an answer */
#define END_MS	   1000 /* for a process that has nothing to do; then it is killed */

/* Since 6.3; some machines refuse others (vm.memfd_noexec=2). */
#define NOEXEC_SEAL 8u

struct deliver {
	struct strbuf setup;
	int progress_fd; /* shared memory of the processes: struct sink_progress */
	int sock;	 /* -1: the process ended */
	_Atomic pid_t pid;
	struct greeting greeting; /* of the process that was started first */
	uint64_t nr;		  /* of the record sent last */
	struct strbuf bytes;	  /* that record */
	unsigned death_cnt;	  /* since the last answer */
	int status;		  /* of the process that ended last, as of waitpid */
	uint64_t restart_cnt;
	struct err failure; /* msg is empty: none */
};

/* --- the process */

/* The process is fed by its stdin; it inherits all signals blocked, and ignores them itself. */
static int spawn(const struct deliver *d, int sock, pid_t *ret)
{
	char *const argv[] = { "jankbpf-deliver", DELIVER_WORD, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t all;
	int res;

	sigfillset(&all);
	if (posix_spawn_file_actions_init(&files))
		return -ENOMEM;
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, &all);
	res = posix_spawn_file_actions_adddup2(&files, sock, DELIVER_SOCKET_FD);
	if (!res)
		res = posix_spawn_file_actions_adddup2(&files, d->progress_fd, DELIVER_PROGRESS_FD);
	if (!res)
		res = posix_spawn(ret, "/proc/self/exe", &files, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return -res;
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

/* Waits for its end. False: the time is up. */
static bool reap(struct deliver *d)
{
	struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, d->pid, 0), .events = POLLIN };
	bool ended;

	if (end.fd >= 0) {
		poll(&end, 1, END_MS);
		close(end.fd);
	}
	ended = waitpid(d->pid, &d->status, WNOHANG) == d->pid;
	if (ended)
		d->pid = 0;
	return ended;
}

/* An unkillable process, in an endless read of its disk, is left behind. */
static void end(struct deliver *d, bool at_once)
{
	if (d->sock >= 0)
		close(d->sock);
	d->sock = -1;
	if (!d->pid)
		return;
	if (at_once)
		kill(d->pid, SIGKILL);
	if (!reap(d) && !at_once && !kill(d->pid, SIGKILL))
		reap(d);
	d->pid = 0;
}

static void add_end(struct strbuf *sb, int status)
{
	if (WIFSIGNALED(status))
		strbuf__addf(sb, "killed by signal %d", WTERMSIG(status));
	else
		strbuf__addf(sb, "exit status %d", WEXITSTATUS(status));
}

/* Ends the run: later records are not sent. */
static int fail(struct deliver *d)
{
	struct strbuf how = STRBUF_INIT;

	add_end(&how, d->status);
	err__set(&d->failure, ECHILD,
		 "the process that writes records ended %u times in a row without writing one "
		 "(last: %s): see the kernel's log (dmesg) for a reason such as lack of memory",
		 d->death_cnt, strbuf__str(&how));
	strbuf__free(&how);
	return -ECHILD;
}

static void report_restart(const struct deliver *d)
{
	struct strbuf how = STRBUF_INIT;

	if (d->restart_cnt)
		return;
	add_end(&how, d->status);
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

static int open_progress(void)
{
	const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create("jankbpf-progress", flags | NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("jankbpf-progress", flags);
	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, SINK_MAX * sizeof(struct sink_progress)) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	close(fd);
	return -EIO;
}

int deliver__start(const struct options *opts, struct deliver **ret, struct err *err)
{
	struct deliver *d = calloc(1, sizeof(*d));
	int res;

	if (!d)
		return err__set(err, ENOMEM, "out of memory");
	d->sock = -1;
	setup__pack(opts, &d->setup);
	res = d->progress_fd = open_progress();
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

	if (!res && !d->greeting.err.msg[0])
		return 0;
	if (!res) {
		*err = d->greeting.err;
		return -EINVAL;
	}
	end(d, true);
	add_end(&how, d->status);
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
	if (d->progress_fd >= 0)
		close(d->progress_fd);
	strbuf__free(&d->setup);
	strbuf__free(&d->bytes);
	free(d);
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
		res = restart(d);
		if (res)
			return res;
	}
	d->death_cnt = 0;
	for (unsigned i = 0; i < d->greeting.sink_cnt; i++)
		results[i] = answer.results[i];
	return 0;
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
