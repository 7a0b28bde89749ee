/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracer's side of the process that runs commands. */
#include "deliver/react.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own_process.h"
#include "base/socket.h"
#include "export/sink.h"
#include "files/bucket.h"

#define ANSWERS_MAX (4 * REACT_WAITING_MAX) /* that are read at once; honest ones are fewer */

#define OWN_MAX 256 /* commands that were started last, and their processes */

/* A token a command, in parts of 60: the rate is a number a minute. */
#define TOKEN 60u

struct react {
	int sock; /* never waits */
	_Atomic pid_t pid;
	struct react_shared *shared;
	size_t shared_sz;
	bool wanted[REACTION_CNT];
	uint64_t timeout_ns;
	struct bucket_rate rate; /* per_s 0: no limit */
	struct bucket bucket;
	struct strbuf bytes;		   /* the packed record */
	uint64_t sizes[REACT_WAITING_MAX]; /* of the waiting records: a ring */
	unsigned waiting, first;
	uint64_t waiting_bytes;
	pid_t own[OWN_MAX]; /* a ring: with -a their own blocks would start them again and again */
	unsigned own_next;
	struct react_counts counts;
	bool ended; /* the process, by itself */
	bool skip_reported;
	_Atomic bool finishing;
};

_Static_assert(sizeof(((struct options *)NULL)->on_command) == REACTION_CNT * sizeof(char *),
	       "options.on_command");

/* --- start */

static bool is_asked_for(const struct options *opts)
{
	for (int i = 0; i < REACTION_CNT; i++)
		if (opts->on_command[i])
			return true;
	return false;
}

/* Puts the commands into memory of both processes. Returns its descriptor, or -errno. */
static int share(struct react *r, const struct options *opts)
{
	size_t size = sizeof(struct react_shared);
	char *at;
	int fd;

	for (int i = 0; i < REACTION_CNT; i++)
		size += opts->on_command[i] ? strlen(opts->on_command[i]) + 1 : 0;
	fd = own_process__shared("jankbpf-react", size);
	if (fd < 0)
		return fd;
	r->shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (r->shared == MAP_FAILED) {
		r->shared = NULL;
		close(fd);
		return -ENOMEM;
	}
	r->shared_sz = size;
	r->shared->verbosity = opts->verbosity;
	r->shared->timeout_ns = opts->react_timeout_ns;
	at = (char *)(r->shared + 1);
	for (int i = 0; i < REACTION_CNT; i++) {
		r->wanted[i] = opts->on_command[i];
		r->shared->has[i] = r->wanted[i];
		if (r->wanted[i])
			at = stpcpy(at, opts->on_command[i]) + 1;
	}
	return fd;
}

static int spawn(struct react *r, const struct options *opts)
{
	int ends[2], res, shared = share(r, opts);
	pid_t pid = 0;

	if (shared < 0)
		return shared;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		res = -errno;
		close(shared);
		return res;
	}
	res = own_process__start("jankbpf-react", REACT_WORD,
				 (const struct own_process_fd[]){ { ends[1], REACT_SOCKET_FD },
								  { shared, REACT_SHARED_FD } },
				 2, &pid);
	close(ends[1]);
	close(shared);
	r->sock = ends[0];
	r->pid = pid;
	return res;
}

/* The process has said that it is ready. -EPERM: it has said why not. */
static int greet(struct react *r)
{
	struct react_answer answer;
	const struct iovec part = { &answer, sizeof(answer) };
	int fd = -1;
	ssize_t n = socket__receive_fd(r->sock, &part, 1, &fd);

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return (int)n;
	if (n != sizeof(answer) || answer.event != REACT_READY)
		return -EPERM;
	return fcntl(r->sock, F_SETFL, O_RDWR | O_NONBLOCK) ? -errno : 0;
}

int react__start(const struct options *opts, struct react **ret, struct err *err)
{
	const uint64_t burst = opts->react_rate < REACT_BURST ? opts->react_rate : REACT_BURST;
	struct react *r;
	int res;

	*ret = NULL;
	if (!is_asked_for(opts))
		return 0;
	r = calloc(1, sizeof(*r));
	if (!r)
		return err__set(err, ENOMEM, "out of memory");
	r->sock = -1;
	r->timeout_ns = opts->react_timeout_ns;
	r->rate = (struct bucket_rate){ burst * TOKEN, opts->react_rate };
	res = spawn(r, opts);
	if (!res)
		res = greet(r);
	if (!res) {
		*ret = r;
		return 0;
	}
	react__free(r);
	return err__set(err, -res, "cannot start the process that runs commands%s%s",
			res == -EPERM ? "" : ": ", res == -EPERM ? "" : strerror(-res));
}

void react__free(struct react *r)
{
	int status;

	if (!r)
		return;
	if (r->shared)
		r->shared->stops = true;
	own_process__end(&r->pid, &r->sock, false, &status);
	if (r->shared)
		munmap(r->shared, r->shared_sz);
	strbuf__free(&r->bytes);
	free(r);
}

pid_t react__pid(const struct react *r)
{
	return r ? r->pid : 0;
}

bool react__is_finishing(const struct react *r)
{
	return r && r->finishing;
}

/* --- answers, which are not trusted: the process is one of the user's */

static void count_skipped(struct react *r, uint64_t cnt, const char *why)
{
	r->counts.skipped += cnt;
	if (r->skip_reported || !cnt)
		return;
	r->skip_reported = true;
	log__status(NULL);
	log__warn("no command was run for a record: %s; the summary counts further ones", why);
}

static void on_end(struct react *r)
{
	r->ended = true;
	log__status(NULL);
	log__warn("the process that runs commands ended: no further command is run; to run them "
		  "again, end this run and start it again");
	r->skip_reported = true;
	count_skipped(r, r->waiting, "");
	r->waiting = 0;
	r->waiting_bytes = 0;
}

static void on_answer(struct react *r, const struct react_answer *answer)
{
	if (answer->event == REACT_STARTED && answer->pid > 0)
		r->own[r->own_next++ % OWN_MAX] = answer->pid;
	if (answer->event != REACT_DONE || !r->waiting)
		return;
	r->waiting_bytes -= r->sizes[r->first];
	r->first = (r->first + 1) % REACT_WAITING_MAX;
	r->waiting--;
	r->counts.run += answer->outcome != REACT_NOT_RUN;
	r->counts.failed += answer->outcome == REACT_FAILED;
	r->counts.timed_out += answer->outcome == REACT_TIMED_OUT;
	if (answer->outcome == REACT_NOT_RUN)
		count_skipped(r, 1, "it could not be started; is there memory and a /bin/sh?");
}

static void take_answers(struct react *r)
{
	struct react_answer answer;
	const struct iovec part = { &answer, sizeof(answer) };
	ssize_t n = 0;
	int fd = -1;

	for (int i = 0; i < ANSWERS_MAX && !r->ended && n >= 0; i++) {
		n = socket__receive_fd(r->sock, &part, 1, &fd);
		if (fd >= 0)
			close(fd);
		if (n == sizeof(answer) && answer.event < REACT_EVENT_CNT &&
		    answer.outcome < REACT_OUTCOME_CNT)
			on_answer(r, &answer);
		else if (n != -EAGAIN)
			on_end(r);
	}
}

/* --- requests */

static const Jankbpf__Block *block_of(const Jankbpf__Record *record)
{
	return record->type_case == JANKBPF__RECORD__TYPE_BLOCK	 ? record->block
	       : record->type_case == JANKBPF__RECORD__TYPE_HANG ? record->hang
								 : NULL;
}

static bool applies(const struct react *r, enum reaction reaction, const Jankbpf__Record *record)
{
	if (!r->wanted[reaction])
		return false;
	if (reaction == REACTION_HANG)
		return record->type_case == JANKBPF__RECORD__TYPE_HANG;
	if (record->type_case != JANKBPF__RECORD__TYPE_BLOCK)
		return false;
	return reaction == REACTION_BLOCK || record->block->occurrence == 1;
}

static bool is_own(const struct react *r, pid_t pid)
{
	for (unsigned i = 0; i < OWN_MAX; i++)
		if (pid > 0 && r->own[i] == pid)
			return true;
	return false;
}

/* Its session is that of a command, while it lives. */
void react__saw(struct react *r, pid_t pid)
{
	if (!r || r->ended)
		return;
	take_answers(r);
	if (!is_own(r, pid) && is_own(r, getsid(pid)))
		r->own[r->own_next++ % OWN_MAX] = pid;
}

static bool has_token(struct react *r)
{
	if (!r->rate.per_s)
		return true;
	if (bucket__left(&r->bucket, r->rate, clock__mono_ns()) < TOKEN)
		return false;
	bucket__take(&r->bucket, TOKEN);
	return true;
}

/* The record's bytes in a file in memory. Returns a descriptor, or -errno. */
static int make_file(const struct strbuf *bytes)
{
	int fd = own_process__shared("jankbpf-record", bytes->len), res;

	if (fd < 0)
		return fd;
	res = output__write(fd, bytes->data, bytes->len);
	if (!res)
		return fd;
	close(fd);
	return res;
}

/* Why the record is skipped; NULL: it was sent. */
static const char *send_job(struct react *r, enum reaction reaction)
{
	struct react_job job = { .reaction = reaction };
	const struct iovec part = { &job, sizeof(job) };
	int fd, res;

	if (r->waiting == REACT_WAITING_MAX || r->waiting_bytes + r->bytes.len > REACT_BYTES_MAX)
		return "too many wait for an earlier command; make the command shorter, or start "
		       "a long one in the background";
	if (!has_token(r))
		return "there are more than --react-rate allows; raise it, or the threshold";
	fd = make_file(&r->bytes);
	if (fd < 0)
		return "out of memory";
	res = socket__send_fd(r->sock, &part, 1, fd);
	close(fd);
	if (res)
		return "the process that runs commands does not take it";
	r->sizes[(r->first + r->waiting++) % REACT_WAITING_MAX] = r->bytes.len;
	r->waiting_bytes += r->bytes.len;
	return NULL;
}

static void react_to(struct react *r, enum reaction reaction, const Jankbpf__Record *record)
{
	const char *why;

	if (r->ended) {
		r->counts.skipped++;
		return;
	}
	if (!r->bytes.len && stream__pack(&r->bytes, record))
		why = "out of memory";
	else
		why = send_job(r, reaction);
	if (why)
		count_skipped(r, 1, why);
}

void react__record(struct react *r, const Jankbpf__Record *record)
{
	const Jankbpf__Block *block = r ? block_of(record) : NULL;

	if (!block)
		return;
	take_answers(r);
	if (is_own(r, (pid_t)block->pid))
		return;
	strbuf__reset(&r->bytes);
	for (int i = 0; i < REACTION_CNT; i++)
		if (applies(r, i, record))
			react_to(r, i, record);
}

bool react__finish(struct react *r, struct react_counts *ret)
{
	uint64_t end_ns = clock__mono_ns() + (r ? r->timeout_ns : 0), now;

	if (!r)
		return false;
	r->finishing = true;
	take_answers(r);
	while (r->waiting && !r->ended && (now = clock__mono_ns()) < end_ns) {
		struct pollfd end = { .fd = r->sock, .events = POLLIN };

		poll(&end, 1, (int)((end_ns - now) / NS_PER_MS) + 1);
		take_answers(r);
	}
	r->finishing = false;
	count_skipped(r, r->waiting,
		      "the run ended before its turn; --react-timeout is how long the end "
		      "waits");
	*ret = r->counts;
	return true;
}
